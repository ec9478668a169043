//! A writer's session: connected, alone in its role, on a checked schema, with its statements prepared.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::{Client, GenericClient, NoTls, Statement};

use super::ahead::{self, Copiers};
use super::config::PostgresConfig;
use super::error::During as _;
use super::partitions::Partitions;
use super::state::{self, Known, StateStatements};
use super::{HISTORY_TABLES, PostgresError, schema, writer};
use starmill_ledger::Network;
use starmill_ledger::coverage::{Coverage, LedgerRange};

/// How long a statement that nobody waits for any more is asked to stop.
const CANCEL_WAIT: Duration = Duration::from_secs(1);

/// What a writer needs for its commits.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    /// In the order of [`super::copy::TABLES`].
    pub(crate) copies: Vec<Statement>,
    /// Of the tables of current state, in the order in which they are written.
    pub(crate) state: Vec<StateStatements>,
    pub(crate) network: Network,
    /// What the database says about contracts.
    pub(crate) known: Known,
    pub(crate) partitions: Partitions,
    pub(crate) partition_days: i32,
    /// This writer's number; each transaction compares it with the database's.
    pub(crate) epoch: i64,
    /// The highest covered ledger when `known` was complete.
    pub(crate) top: u32,
    /// The same of the SEP-41 tokens in it, which is all that ledgers below the top ask for.
    pub(crate) tokens_top: u32,
    /// Connections for copying ahead.
    pub(crate) copiers: Copiers,
    /// Whether history may have been written ahead of a commit that has not happened.
    pub(crate) pending: bool,
}

/// Opens the database for writing and says what it covers. Nothing of what an earlier writer of the role had not committed is left, but for partitions
/// that were being loaded under the epoch `keep`.
pub(crate) async fn open(config: &PostgresConfig, standby: bool, keep: Option<i64>) -> Result<(Session, Coverage), PostgresError> {
    let mut client = writer::become_writer(config, standby).await?;
    let stored = schema::migrate(&mut client, config).await?;
    let epoch = writer::take_over(&mut client, config, keep).await?;
    let coverage = load_coverage(&client).await?;
    let partitions = load_partitions(&client, stored.partition_days).await?;
    let copies = ahead::prepare(&client).await?;
    let network = Network::new(config.network.as_str());
    let known = Known::load(&client, &network).await?;
    let state = state::prepare(&client).await?;
    let top = coverage.ranges().last().map_or(0, |range| range.hi);
    let session = Session {
        client,
        copies,
        state,
        network,
        known,
        partitions,
        partition_days: stored.partition_days,
        epoch,
        top,
        tokens_top: top,
        copiers: Copiers::default(),
        pending: false,
    };
    Ok((session, coverage))
}

impl Session {
    /// Reads anew which partitions there are: another writer may have made or dropped some.
    pub(crate) async fn reload_partitions(&mut self) -> Result<(), PostgresError> {
        self.partitions = load_partitions(&self.client, self.partition_days).await?;
        Ok(())
    }

    /// Learns what another writer has taught the database, which moved the highest covered ledger to `top`, before a batch up to `last` is planned.
    pub(crate) async fn refresh(&mut self, top: u32, last: u32) -> Result<(), PostgresError> {
        if last > top && top != self.top {
            self.known = Known::load(&self.client, &self.network).await?;
            (self.top, self.tokens_top) = (top, top);
        } else if top != self.tokens_top {
            self.known.load_sep41(&self.client).await?;
            self.tokens_top = top;
        }
        Ok(())
    }

    /// Ends a session at whatever place it is: its lock is free once the server has noticed.
    pub(crate) async fn abandon(self) {
        if !self.client.is_closed() {
            // A statement may run on for long, or wait for somebody; that it cannot be stopped shows when the next session opens.
            let _ = tokio::time::timeout(CANCEL_WAIT, self.client.cancel_token().cancel_query(NoTls)).await;
        }
    }
}

/// The ranges of `ledger_coverage`.
pub(crate) async fn load_coverage(client: &impl GenericClient) -> Result<Coverage, PostgresError> {
    let reading = || "reading ledger_coverage".to_owned();
    let rows = client.query("SELECT lo, hi FROM ledger_coverage ORDER BY lo", &[]).await.during(reading)?;
    let sequence = |number: i64| {
        let message = || format!("ledger_coverage holds {number}, which is no ledger sequence");
        u32::try_from(number).map_err(|_| PostgresError::SchemaForeign { message: message() })
    };
    rows.iter()
        .map(|row| Ok(LedgerRange { lo: sequence(row.try_get(0).during(reading)?)?, hi: sequence(row.try_get(1).during(reading)?)? }))
        .collect()
}

/// Whether the tables are partitioned, and the partitions they have.
async fn load_partitions(client: &Client, days: i32) -> Result<Partitions, PostgresError> {
    let reading = || "reading the partitions".to_owned();
    let declarative = client
        .query_one("SELECT relkind::text = 'p' FROM pg_class WHERE oid = 'transactions'::regclass", &[])
        .await
        .and_then(|row| row.try_get(0))
        .during(reading)?;
    let rows = client
        .query(
            "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
             WHERE i.inhparent IN (SELECT to_regclass(t)::oid FROM unnest($1::text[]) t)",
            &[&HISTORY_TABLES.as_slice()],
        )
        .await
        .during(reading)?;
    let existing = rows.iter().map(|row| row.try_get(0).during(reading)).collect::<Result<BTreeSet<String>, _>>()?;
    Ok(Partitions::new(days, declarative, existing))
}
