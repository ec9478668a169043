//! `PostgresSink`: the synchronous face of a writer's session.
//!
//! Promises: `commit` returns `Ok` only after Postgres has committed. A lost connection, a restarted server, a deadlock or a stopped statement is met
//! by connecting again, asking whether the batch is in, and sending it again if it is not, for as long as the configuration says. After an error
//! nothing of the batch counts as committed, and what had been written ahead is removed, now or when the next writer opens. The batch is left as it was,
//! rows sorted, so that it can be committed again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use starmill_ledger::rows::Rows as _;
use starmill_ledger::sink::{Batch, Sink};
use tokio::runtime::Runtime;

use super::bulk::Bulk;
use super::config::PostgresConfig;
use super::copy::{AccountSort, TABLES};
use super::retry::Retry;
use super::session::{self, Session};
use super::state::Plan;
use super::{CopyRows, PostgresError, PostgresMetrics, Retained, commit, connect, cover, partitions, retain};
use starmill_ledger::Coverage;

/// Seconds of a day.
const DAY: i64 = 86_400;
/// After retention has failed, this long passes before it is tried again.
const RETENTION_PAUSE: Duration = Duration::from_secs(30);

/// The one writer of a role.
#[derive(Debug)]
pub struct PostgresSink {
    pub(super) config: PostgresConfig,
    /// Absent after the connection was lost.
    pub(super) session: Option<Session>,
    pub(super) coverage: Coverage,
    pub(super) metrics: Arc<PostgresMetrics>,
    sort: AccountSort,
    pub(super) plan: Plan,
    /// Partitions that are being loaded.
    pub(super) bulk: Bulk,
    retention: Retention,
    /// Drives the connections while a commit waits on them. Dropped last.
    pub(super) runtime: Runtime,
}

/// How far retention has come.
#[derive(Debug, Default)]
struct Retention {
    /// Unix seconds before which all is dropped.
    done_to: Option<i64>,
    not_before: Option<Instant>,
    error: Option<PostgresError>,
}

impl PostgresSink {
    /// Connects, becomes the writer of its role, brings the schema up to date, compares the network, removes what an earlier writer had not committed,
    /// loads the coverage and what is known of contracts.
    ///
    /// # Errors
    /// `writer-busy` unless told to stand by, `network-mismatch`, `schema-newer`, `schema-changed`, `schema-foreign`, and whatever a connection can meet.
    pub fn open(config: PostgresConfig) -> Result<Self, PostgresError> {
        let runtime = connect::runtime()?;
        let (session, coverage) = runtime.block_on(session::open(&config, config.wait_for_writer, None))?;
        let mut bulk = Bulk::default();
        bulk.opened(session.epoch);
        let metrics = Arc::<PostgresMetrics>::default();
        metrics.covers(&coverage);
        Ok(Self {
            config,
            session: Some(session),
            coverage,
            metrics,
            sort: AccountSort::default(),
            plan: Plan::default(),
            bulk,
            retention: Retention::default(),
            runtime,
        })
    }

    /// Connects again and learns what is covered. Does not stand by: another process of this role that has come meanwhile is `writer-busy`.
    ///
    /// # Errors
    /// As [`PostgresSink::open`].
    pub fn reopen(&mut self) -> Result<(), PostgresError> {
        // The old session first: it may hold the writer's lock.
        self.abandon();
        let (session, coverage) = self.runtime.block_on(session::open(&self.config, false, self.bulk.epoch()))?;
        self.bulk.opened(session.epoch);
        self.session = Some(session);
        self.metrics.reconnected();
        self.metrics.covers(&coverage);
        self.coverage = coverage;
        self.check_loading().inspect_err(|_| self.session = None)
    }

    /// Running totals; the handle stays valid while the sink works elsewhere.
    pub fn metrics(&self) -> Arc<PostgresMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Drops the partitions of history that are wholly older than the close time `before` (Unix seconds), and lowers coverage and cursors with them.
    /// The highest covered ledger stays, as does current state.
    ///
    /// # Errors
    /// `interrupted` where somebody reads the tables for long: try later. `writer-fenced`, and whatever a connection can meet. Nothing is dropped then.
    pub fn retain(&mut self, before: i64) -> Result<Retained, PostgresError> {
        if self.session.is_none() {
            self.reopen()?;
        }
        let session = self.session.as_mut().ok_or(PostgresError::Closed)?;
        let result = self.runtime.block_on(async {
            let retained = retain::retain(session, &self.config, before).await?;
            let coverage = session::load_coverage(&session.client).await?;
            Ok::<_, PostgresError>((retained, coverage))
        });
        match result {
            Ok((retained, coverage)) => {
                self.metrics.covers(&coverage);
                self.coverage = coverage;
                self.metrics.retained(retained.partitions);
                Ok(retained)
            }
            Err(error) => {
                self.roll_back(&error);
                Err(error)
            }
        }
    }

    /// Why retention after the last commits has failed, if it has; it is tried again by itself.
    pub fn retention_error(&self) -> Option<&PostgresError> {
        self.retention.error.as_ref()
    }

    /// After a commit: drops what has become too old, once for each partition that the newest ledger has moved on.
    fn retain_if_due(&mut self, newest: i64) {
        let (Some(days), Some(session)) = (self.config.retention_days, &self.session) else { return };
        let before = newest.saturating_sub(i64::from(days) * DAY);
        let cutoff = session.partitions.cutoff(before);
        let due = self.retention.done_to.is_none_or(|done| done < cutoff);
        if !due || self.retention.not_before.is_some_and(|time| Instant::now() < time) {
            return;
        }
        // The batch is committed: what goes wrong here is no fault of it.
        match self.retain(before) {
            Ok(_) => self.retention = Retention { done_to: Some(cutoff), ..Retention::default() },
            Err(error) => {
                self.retention.not_before = Instant::now().checked_add(RETENTION_PAUSE);
                self.retention.error = Some(error);
            }
        }
    }

    fn abandon(&mut self) {
        if let Some(session) = self.session.take() {
            self.runtime.block_on(session.abandon());
        }
    }

    /// One attempt at a batch.
    fn attempt(&mut self, batch: &mut Batch<CopyRows>, again: bool) -> Result<(), PostgresError> {
        if self.session.is_none() {
            self.reopen()?;
        }
        let session = self.session.as_mut().ok_or(PostgresError::Closed)?;
        if again {
            // Whether the last attempt came to its end is not known when its COMMIT was not answered.
            if self.runtime.block_on(cover::has(&session.client, self.config.role, &batch.ledgers))? {
                self.metrics.committed(batch.ledgers.len(), &batch.rows, &self.plan);
                return Ok(());
            }
            self.runtime.block_on(session.reload_partitions())?;
        }
        let sending = Instant::now();
        let result = self.runtime.block_on(commit::commit(session, &self.config, &batch.ledgers, &mut batch.rows, &mut self.plan));
        let planned = result.as_ref().map_or_else(|_| Duration::ZERO, |done| done.planned);
        self.metrics.waited(sending.elapsed().saturating_sub(planned));
        let done = result?;
        self.metrics.sorted(planned);
        session.known.learn(std::mem::take(&mut self.plan.learned));
        self.metrics.dropped(self.plan.sac_balances_dropped);
        done.covered.ranges().iter().for_each(|range| self.coverage.insert(*range));
        self.metrics.covers(&self.coverage);
        self.metrics.committed(batch.ledgers.len(), &batch.rows, &self.plan);
        Ok(())
    }

    /// Ends a failed transaction, or the session where that does not do: it cannot be ended, or history was written ahead, which the next one removes.
    fn roll_back(&mut self, error: &PostgresError) {
        let Some(session) = &self.session else { return };
        if matches!(error, PostgresError::Died { .. }) {
            self.session = None;
        } else if session.pending || session.client.is_closed() || matches!(error, PostgresError::Closed) {
            self.abandon();
        } else if self.runtime.block_on(session.client.batch_execute("ROLLBACK")).is_err() {
            self.session = None;
        }
    }

    /// After the last attempt: what was written ahead goes now, if it can.
    fn give_up(&mut self, error: &PostgresError) {
        let ours = !matches!(error, PostgresError::Died { .. } | PostgresError::WriterFenced { .. } | PostgresError::WriterBusy { .. });
        if self.session.is_none() && ours && !error.is_transient() {
            // The error of the batch is what counts. The next writer to open cleans if this one cannot.
            let _ = self.reopen();
        }
    }
    /// Commits a batch into the tables with their indexes.
    pub(super) fn commit_indexed(&mut self, batch: &mut Batch<CopyRows>) -> Result<(), PostgresError> {
        let sorting = Instant::now();
        for (table, encoded) in TABLES.iter().zip(&mut batch.rows.tables) {
            if table.by_account {
                self.sort.sort(&mut encoded.bytes);
            }
        }
        self.metrics.sorted(sorting.elapsed());
        self.retrying(|sink, again| sink.attempt(batch, again))?;
        if let Some(newest) = batch.ledgers.iter().map(|ledger| ledger.closed_at).max() {
            self.retain_if_due(newest);
        }
        Ok(())
    }

    /// Does a piece of work again, with a new session where need be, for as long as its errors may pass by themselves. The work is told whether it was
    /// tried before.
    pub(super) fn retrying<T>(&mut self, mut work: impl FnMut(&mut Self, bool) -> Result<T, PostgresError>) -> Result<T, PostgresError> {
        let mut retry = Retry::new(self.config.retry_max);
        let mut first = None;
        loop {
            let error = match work(self, first.is_some()) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            self.roll_back(&error);
            let Some(delay) = retry.after(&error) else {
                self.give_up(&error);
                // That the server is still away tells less than what it was doing when it went.
                return Err(first.filter(|_| error.is_transient()).unwrap_or(error));
            };
            first = first.or(Some(error));
            self.metrics.retried();
            self.runtime.block_on(async { tokio::time::sleep(delay).await });
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
        let partitions = self.bulk_partitions(&batch.ledgers)?;
        if partitions.is_empty() { self.commit_indexed(batch) } else { self.commit_in_parts(batch, &partitions) }
    }

    /// Attaches the partitions that are being loaded.
    fn finish(&mut self) -> Result<(), PostgresError> {
        self.attach_all()
    }

    fn gathering_from(&self) -> Option<u32> {
        self.loading_from()
    }
}
