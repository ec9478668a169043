//! `PostgresSink`: the synchronous face of a writer's session.
//!
//! Promises: `commit` returns `Ok` only after Postgres has committed; after an error nothing of the batch is visible, except that a connection lost
//! during COMMIT leaves open whether it was (`reopen` finds out: `covers` then tells). The batch is left as it was, rows sorted, so that it can
//! be committed again.

use std::sync::Arc;
use std::time::Instant;

use starmill_ledger::rows::Rows as _;
use starmill_ledger::sink::{Batch, Sink};
use tokio::runtime::Runtime;

use super::connect::{self, PostgresConfig};
use super::copy::{AccountSort, TABLES};
use super::session::{self, Session};
use super::state::Plan;
use super::{CopyRows, PostgresError, PostgresMetrics, commit, partitions};
use starmill_ledger::Coverage;

/// The one writer of a database.
#[derive(Debug)]
pub struct PostgresSink {
    config: PostgresConfig,
    /// Absent after the connection was lost.
    session: Option<Session>,
    coverage: Coverage,
    metrics: Arc<PostgresMetrics>,
    sort: AccountSort,
    plan: Plan,
    /// Drives the connection while a commit waits on it. Dropped last.
    runtime: Runtime,
}

impl PostgresSink {
    /// Connects, becomes the writer, brings the schema up to date, compares the network, loads the coverage and what is known of contracts.
    ///
    /// # Errors
    /// `writer-busy`, `network-mismatch`, `schema-newer`, `schema-changed`, `schema-foreign`, and whatever a connection can meet.
    pub fn open(config: PostgresConfig) -> Result<Self, PostgresError> {
        let runtime = connect::runtime()?;
        let (session, coverage) = runtime.block_on(session::open(&config))?;
        Ok(Self {
            config,
            session: Some(session),
            coverage,
            metrics: Arc::default(),
            sort: AccountSort::default(),
            plan: Plan::default(),
            runtime,
        })
    }

    /// Connects again after a lost connection and learns what is covered.
    ///
    /// # Errors
    /// As [`PostgresSink::open`].
    pub fn reopen(&mut self) -> Result<(), PostgresError> {
        // The old session first: it may hold the writer's lock.
        self.session = None;
        let (session, coverage) = self.runtime.block_on(session::open(&self.config))?;
        self.session = Some(session);
        self.coverage = coverage;
        Ok(())
    }

    /// Running totals; the handle stays valid while the sink works elsewhere.
    pub fn metrics(&self) -> Arc<PostgresMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Ends a failed transaction, or the session if it cannot be ended.
    fn roll_back(&mut self) {
        let Some(session) = &self.session else { return };
        let ended = self.runtime.block_on(session.client.batch_execute("ROLLBACK"));
        if ended.is_err() || session.client.is_closed() {
            self.session = None;
        }
    }
}

impl Sink for PostgresSink {
    type Rows = CopyRows;
    type Error = PostgresError;

    fn coverage(&self) -> Coverage {
        self.coverage.clone()
    }

    fn commit(&mut self, batch: &mut Batch<CopyRows>) -> Result<(), PostgresError> {
        if batch.ledgers.is_empty() && batch.rows.rows() == 0 {
            return Ok(());
        }
        partitions::check_ledgers(&batch.ledgers)?;
        let session = self.session.as_mut().ok_or(PostgresError::Closed)?;
        let sorting = Instant::now();
        for (table, encoded) in TABLES.iter().zip(&mut batch.rows.tables) {
            if table.by_account {
                self.sort.sort(&mut encoded.bytes);
            }
        }
        // Current state is that of the highest ledger covered, and never goes back behind it.
        let covered = self.coverage.ranges().last().map_or(0, |range| range.hi);
        let last = batch.ledgers.last().map_or(0, |ledger| ledger.sequence);
        self.plan.make(&session.known, &session.network, &batch.rows.state, covered, last);
        self.metrics.sorted(sorting.elapsed());
        let mut coverage = self.coverage.clone();
        coverage.insert_all(batch.ledgers.iter().map(|ledger| ledger.sequence));
        let sending = Instant::now();
        let result =
            self.runtime.block_on(commit::commit(session, &batch.ledgers, &mut batch.rows, &mut self.plan, (&self.coverage, &coverage)));
        self.metrics.waited(sending.elapsed());
        match result {
            Ok(made) => {
                session.partitions.made(made);
                session.known.learn(std::mem::take(&mut self.plan.learned));
                self.metrics.dropped(self.plan.sac_balances_dropped);
                self.coverage = coverage;
                self.metrics.committed(batch.ledgers.len(), batch.rows.rows(), batch.rows.bytes());
                Ok(())
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }
}
