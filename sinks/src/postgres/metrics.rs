//! What a Postgres sink has done and what it covers, readable from other threads while it works. Counters only grow.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use starmill_ledger::Coverage;

use super::copy::{CopyRows, Encoded, STATE_CHANGES, TABLES};
use super::state::{Plan, STATE_TABLES};

/// Tables that commits write.
const TABLE_COUNT: usize = TABLES.len() + STATE_TABLES.len();

/// What commits have written into one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableTotals {
    /// Name.
    pub name: &'static str,
    /// Rows; of current state those written anew or changed.
    pub rows: u64,
    /// Their bytes in Postgres' binary format.
    pub bytes: u64,
}

/// What is covered, as far as a sink knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    /// Ledgers.
    pub ledgers: u64,
    /// The lowest.
    pub lowest: u32,
    /// The highest.
    pub highest: u32,
    /// Holes between them.
    pub gaps: usize,
}

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
    reconnects: AtomicU64,
    retrying: AtomicBool,
    tables: [TableCounters; TABLE_COUNT],
    covered: CoveredGauges,
}

#[derive(Debug, Default)]
struct TableCounters {
    rows: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct CoveredGauges {
    ledgers: AtomicU64,
    lowest: AtomicU32,
    highest: AtomicU32,
    gaps: AtomicUsize,
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

    /// What was written into each table, history first.
    pub fn tables(&self) -> impl Iterator<Item = TableTotals> + '_ {
        let names = TABLES.iter().map(|table| table.name).chain(STATE_TABLES.iter().map(|table| table.name));
        names.zip(&self.tables).map(|(name, counters)| TableTotals {
            name,
            rows: counters.rows.load(Relaxed),
            bytes: counters.bytes.load(Relaxed),
        })
    }

    /// What is covered: as read when the sink was opened, and with its own commits since. Of another writer's, only what is next to them.
    pub fn covered(&self) -> Covered {
        let gauges = &self.covered;
        Covered {
            ledgers: gauges.ledgers.load(Relaxed),
            lowest: gauges.lowest.load(Relaxed),
            highest: gauges.highest.load(Relaxed),
            gaps: gauges.gaps.load(Relaxed),
        }
    }

    pub(crate) fn committed(&self, ledgers: usize, rows: &CopyRows, plan: &Plan) {
        self.commits.fetch_add(1, Relaxed);
        self.ledgers.fetch_add(ledgers as u64, Relaxed);
        self.wrote(rows, plan);
    }

    /// Rows that are in the database, whether they are covered yet or not.
    pub(crate) fn wrote(&self, rows: &CopyRows, plan: &Plan) {
        use starmill_ledger::rows::Rows as _;
        self.retrying.store(false, Relaxed);
        self.rows.fetch_add(rows.rows(), Relaxed);
        self.bytes_sent.fetch_add(rows.bytes() as u64, Relaxed);
        let add = |table: usize, rows: u64, bytes: usize| {
            self.tables[table].rows.fetch_add(rows, Relaxed);
            self.tables[table].bytes.fetch_add(bytes as u64, Relaxed);
        };
        let history = rows.tables.iter().enumerate().chain([(STATE_CHANGES, &plan.sep41_history)]);
        for (table, Encoded { bytes, rows }) in history {
            add(table, *rows, bytes.len());
        }
        for (table, columns) in (TABLES.len()..).zip(&plan.upserts) {
            add(table, columns.rows() as u64, columns.bytes());
        }
    }

    pub(crate) fn covers(&self, coverage: &Coverage) {
        let ranges = coverage.ranges();
        self.covered.ledgers.store(coverage.ledgers(), Relaxed);
        self.covered.lowest.store(ranges.first().map_or(0, |range| range.lo), Relaxed);
        self.covered.highest.store(ranges.last().map_or(0, |range| range.hi), Relaxed);
        self.covered.gaps.store(ranges.len().saturating_sub(1), Relaxed);
    }

    /// A partition that was loaded in so many batches is covered.
    pub(crate) fn attached(&self, batches: u64, ledgers: usize) {
        self.retrying.store(false, Relaxed);
        self.commits.fetch_add(batches, Relaxed);
        self.ledgers.fetch_add(ledgers as u64, Relaxed);
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

    /// Connections made anew after one was lost.
    pub fn reconnects(&self) -> u64 {
        self.reconnects.load(Relaxed)
    }

    /// Whether a batch has failed and is being tried again.
    pub fn retrying(&self) -> bool {
        self.retrying.load(Relaxed)
    }

    /// Partitions that retention has dropped.
    pub fn partitions_dropped(&self) -> u64 {
        self.partitions_dropped.load(Relaxed)
    }

    pub(crate) fn retained(&self, partitions: usize) {
        self.partitions_dropped.fetch_add(partitions as u64, Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retrying.store(true, Relaxed);
        self.retries.fetch_add(1, Relaxed);
    }

    pub(crate) fn reconnected(&self) {
        self.reconnects.fetch_add(1, Relaxed);
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
