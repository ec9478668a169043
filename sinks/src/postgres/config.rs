//! What a sink is told: where to write, as which writer, how patiently, how wide.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::steps::Steps;

/// Which of the two writers of a database this is. Each role has one process at a time; the two work side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterRole {
    /// Follows the chain. Ledgers above all that is covered move current state forward.
    Tip,
    /// Fills what lies behind. Never writes current state of ledgers below what is covered; while it is itself above everything, since no tip has been
    /// written yet, its ledgers move current state forward like any other's.
    Backfill,
}

impl WriterRole {
    /// The one beside it.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Tip => Self::Backfill,
            Self::Backfill => Self::Tip,
        }
    }

    /// Name in `starmill_writers`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tip => "tip",
            Self::Backfill => "backfill",
        }
    }
}

/// Where to write and what the database must hold.
#[derive(Clone, Debug)]
pub struct PostgresConfig {
    /// `postgresql://user:password@host:port/database`, or libpq's key=value pairs. No TLS yet: use a tunnel for a server elsewhere.
    pub url: String,
    /// Schema to work in, which must be there, instead of the first one of the role's search path.
    pub schema: Option<String>,
    /// Passphrase of the network. Recorded in an empty database, compared in any other.
    pub network: String,
    /// Width of a partition in days, for a new database; an existing one keeps its own.
    pub partition_days: u16,
    /// Which writer this is.
    pub role: WriterRole,
    /// How long to wait for a writer that is going away (a killed process leaves its lock until the server notices).
    pub writer_wait: Duration,
    /// Whether to stand by, for as long as it takes, while another process of this role writes; `writer-busy` if not.
    pub wait_for_writer: bool,
    /// Told once when standing by begins.
    pub standby: Option<Standby>,
    /// Connections beside the first over which large batches are copied; 0 writes each batch in one transaction on one connection.
    pub copy_connections: u16,
    /// Batches of fewer rows are written in one transaction on one connection (measured; docs/performance.md).
    pub ahead_rows_min: u64,
    /// Whether a backfill loads partitions that are not there yet without indexes, and attaches them when they are whole, at the latest when
    /// the sink finishes.
    pub bulk: bool,
    /// History is kept for so many days, counted back from the newest ledger of a batch, in whole partitions: those that are wholly older are dropped after
    /// a commit, and their ledgers no longer covered. `None` keeps everything.
    pub retention_days: Option<u32>,
    /// How long a commit tries again after faults that may pass by themselves, counted from the first.
    pub retry_max: Duration,
    /// For tests: called at each step of opening and of a commit.
    #[doc(hidden)]
    pub steps: Option<Steps>,
}

impl PostgresConfig {
    /// The tip's writer; one day per partition; three seconds of patience with another writer, a minute with the server; as many connections for
    /// copying as there are processors, up to four.
    pub fn new(url: impl Into<String>, network: impl Into<String>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            url: url.into(),
            schema: None,
            network: network.into(),
            partition_days: 1,
            role: WriterRole::Tip,
            writer_wait: Duration::from_secs(3),
            wait_for_writer: false,
            standby: None,
            copy_connections: u16::try_from(processors.min(4)).unwrap_or(4),
            ahead_rows_min: 10_000,
            bulk: true,
            retention_days: None,
            retry_max: Duration::from_mins(1),
            steps: None,
        }
    }
}

/// Called with a line that says who writes.
#[derive(Clone)]
pub struct Standby(pub Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Standby {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Standby(..)")
    }
}
