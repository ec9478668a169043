//! How wide a run works: sizes of batches and queues, connections for copying. What is not given is chosen; the tables are the same whatever is.

use clap::Args;
use starmill_pipeline::Limits;
use starmill_sinks::PostgresConfig;

/// Sizes of batches and queues, and connections for copying.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Bounds")]
pub(crate) struct BoundsArgs {
    /// Ledgers in one commit at most.
    #[arg(long, value_name = "LEDGERS")]
    pub(crate) batch_ledgers: Option<std::num::NonZeroU32>,
    /// Ledgers read ahead of the one that is worked on, at most.
    #[arg(long, value_name = "LEDGERS")]
    pub(crate) read_ahead_ledgers: Option<std::num::NonZeroU16>,
    /// Connections over which large batches are copied to Postgres, beside the first; 0 writes each batch in one transaction.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) copy_connections: Option<u16>,
    /// Batches of fewer rows are written in one transaction, on one connection.
    #[arg(long, value_name = "ROWS")]
    pub(crate) copy_rows_min: Option<u64>,
}

impl BoundsArgs {
    /// The limits of a pipeline, where any are given.
    pub(crate) fn limit(&self, mut limits: Limits) -> Limits {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(ledgers) = self.batch_ledgers {
            limits.batch.ledgers_max = count(ledgers.get());
        }
        if let Some(ledgers) = self.read_ahead_ledgers {
            limits.frames_ahead_max = usize::from(ledgers.get());
        }
        limits
    }

    /// How a sink copies, where that is given.
    pub(crate) fn widen(&self, mut config: PostgresConfig) -> PostgresConfig {
        config.copy_connections = self.copy_connections.unwrap_or(config.copy_connections);
        config.ahead_rows_min = self.copy_rows_min.unwrap_or(config.ahead_rows_min);
        config
    }
}
