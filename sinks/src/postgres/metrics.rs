//! What a Postgres sink has done, readable from other threads while it works.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Running totals of one sink.
#[derive(Debug, Default)]
pub struct PostgresMetrics {
    commits: AtomicU64,
    ledgers: AtomicU64,
    rows: AtomicU64,
    bytes_sent: AtomicU64,
    postgres_nanos: AtomicU64,
    sort_nanos: AtomicU64,
    sac_balances_dropped: AtomicU64,
    retries: AtomicU64,
    partitions_dropped: AtomicU64,
    partitions_attached: AtomicU64,
}

impl PostgresMetrics {
    /// Batches committed.
    pub fn commits(&self) -> u64 {
        self.commits.load(Relaxed)
    }

    /// Ledgers in them.
    pub fn ledgers(&self) -> u64 {
        self.ledgers.load(Relaxed)
    }

    /// Rows in them.
    pub fn rows(&self) -> u64 {
        self.rows.load(Relaxed)
    }

    /// COPY bytes in them.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent.load(Relaxed)
    }

    /// Time of commits spent in sending to Postgres and waiting for it, failed ones included.
    pub fn postgres_time(&self) -> Duration {
        Duration::from_nanos(self.postgres_nanos.load(Relaxed))
    }

    /// Balances left out of `sac_balances` since nothing says that their contract is an asset contract: anybody can deploy one whose entries
    /// look alike (docs/rows.md, differences).
    pub fn sac_balances_dropped(&self) -> u64 {
        self.sac_balances_dropped.load(Relaxed)
    }

    /// Time of commits spent in sorting rows by account, and in netting current state.
    pub fn sort_time(&self) -> Duration {
        Duration::from_nanos(self.sort_nanos.load(Relaxed))
    }

    pub(crate) fn committed(&self, ledgers: usize, rows: u64, bytes: usize) {
        self.commits.fetch_add(1, Relaxed);
        self.ledgers.fetch_add(ledgers as u64, Relaxed);
        self.rows.fetch_add(rows, Relaxed);
        self.bytes_sent.fetch_add(bytes as u64, Relaxed);
    }

    /// A partition that was loaded in so many batches.
    pub(crate) fn attached(&self, batches: u64, ledgers: usize, rows: u64, bytes: usize) {
        self.commits.fetch_add(batches, Relaxed);
        self.ledgers.fetch_add(ledgers as u64, Relaxed);
        self.rows.fetch_add(rows, Relaxed);
        self.bytes_sent.fetch_add(bytes as u64, Relaxed);
        self.partitions_attached.fetch_add(1, Relaxed);
    }

    /// Partitions that were loaded without indexes and attached.
    pub fn partitions_attached(&self) -> u64 {
        self.partitions_attached.load(Relaxed)
    }

    /// Attempts at a batch after its first.
    pub fn retries(&self) -> u64 {
        self.retries.load(Relaxed)
    }

    /// Partitions that retention has dropped.
    pub fn partitions_dropped(&self) -> u64 {
        self.partitions_dropped.load(Relaxed)
    }

    pub(crate) fn retained(&self, partitions: usize) {
        self.partitions_dropped.fetch_add(partitions as u64, Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    pub(crate) fn dropped(&self, sac_balances: u64) {
        self.sac_balances_dropped.fetch_add(sac_balances, Relaxed);
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.postgres_nanos.fetch_add(nanos(time), Relaxed);
    }

    pub(crate) fn sorted(&self, time: Duration) {
        self.sort_nanos.fetch_add(nanos(time), Relaxed);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
