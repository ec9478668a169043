//! What a run has done so far, for whoever watches it: progress bars, metrics, status pages.
//!
//! Counters only grow; gauges say what is now. All may be read at any time from any thread, and reading costs the run nothing.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use starmill_ledger::rows::LedgerRow;

use crate::budget::Budget;

/// The stages of a run, in the order in which a ledger passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Frames from where they are.
    Source,
    /// Where the parts of a frame are; also checks of the chain.
    Skim,
    /// Hashes of envelopes, and to which results they belong.
    Hash,
    /// Transactions into rows.
    Process,
    /// Chunks joined in order, current state netted.
    Fold,
    /// Whole ledgers gathered for one commit.
    Batch,
    /// Batches into the sink.
    Persist,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; 7] = [Self::Source, Self::Skim, Self::Hash, Self::Process, Self::Fold, Self::Batch, Self::Persist];

    /// Its name, as in the names of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Skim => "skim",
            Self::Hash => "hash",
            Self::Process => "process",
            Self::Fold => "fold",
            Self::Batch => "batch",
            Self::Persist => "persist",
        }
    }
}

/// What one stage has done. Items are ledgers.
#[derive(Debug, Default)]
pub struct StageCounters {
    /// Ledgers that came in.
    pub received: AtomicU64,
    /// Ledgers that went out.
    pub emitted: AtomicU64,
    /// Failures.
    pub errors: AtomicU64,
    /// Time spent at work, in nanoseconds, summed over threads.
    pub busy_nanos: AtomicU64,
}

impl StageCounters {
    /// Counts ledgers that came in.
    pub(crate) fn entered(&self, ledgers: u64) {
        self.received.fetch_add(ledgers, Relaxed);
    }

    /// Counts ledgers that go out, after work on them since `start`.
    pub(crate) fn worked(&self, start: Instant, ledgers: u64) {
        self.emitted.fetch_add(ledgers, Relaxed);
        self.busy(start);
    }

    pub(crate) fn busy(&self, start: Instant) {
        self.busy_nanos.fetch_add(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

/// How much waits between two stages.
#[derive(Debug, Default)]
pub struct QueueGauge {
    /// Ledgers.
    pub items: AtomicUsize,
    /// Bytes.
    pub bytes: AtomicUsize,
}

impl QueueGauge {
    pub(crate) fn add(&self, items: usize, bytes: usize) {
        self.items.fetch_add(items, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn remove(&self, items: usize, bytes: usize) {
        self.items.fetch_sub(items, Relaxed);
        self.bytes.fetch_sub(bytes, Relaxed);
    }
}

/// Counters of a run, and the request to stop it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Ledgers committed.
    pub ledgers: AtomicU64,
    /// Ledgers passed over because the sink has them.
    pub skipped: AtomicU64,
    /// Transactions committed.
    pub transactions: AtomicU64,
    /// Rows committed.
    pub rows: AtomicU64,
    /// Bytes of rows committed, in the sink's own form.
    pub row_bytes: AtomicU64,
    /// Bytes of frames processed.
    pub frame_bytes: AtomicU64,
    /// Batches committed.
    pub batches: AtomicU64,
    /// Sequence of the last ledger committed; 0 before the first.
    pub last_committed: AtomicU32,
    /// The lowest ledger that the sink has gathered and not made durable yet; 0 if there is none.
    pub gathering_from: AtomicU32,
    /// When the last ledger committed was closed, Unix seconds.
    pub last_closed_at: AtomicI64,
    /// Sequence of the newest ledger that the source has given; 0 before the first.
    pub last_read: AtomicU32,
    /// Frames read and not yet processed.
    pub frames_waiting: QueueGauge,
    /// Ledgers whose rows are made and not yet committed.
    pub rows_waiting: QueueGauge,
    /// Set by whoever wants the run to end.
    pub stop: AtomicBool,
    stages: [StageCounters; 7],
    close_to_commit: Latency,
    read_to_commit: Latency,
    memory: Mutex<Option<Arc<Budget>>>,
}

impl Progress {
    /// The counters of a stage.
    pub fn stage(&self, stage: Stage) -> &StageCounters {
        &self.stages[stage as usize]
    }

    /// From a ledger's close, by its own clock in whole seconds, to its commit.
    pub fn close_to_commit(&self) -> &Latency {
        &self.close_to_commit
    }

    /// From the moment at which the source had given a ledger to its commit.
    pub fn read_to_commit(&self) -> &Latency {
        &self.read_to_commit
    }

    /// The memory of the run that goes on; of the last one, when none does; `None` before the first.
    pub fn memory(&self) -> Option<Arc<Budget>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn within(&self, memory: &Arc<Budget>) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(memory));
    }

    pub(crate) fn committed(&self, ledgers: &[LedgerRow], rows: u64, bytes: usize) {
        self.ledgers.fetch_add(ledgers.len() as u64, Relaxed);
        self.transactions.fetch_add(ledgers.iter().map(|ledger| u64::from(ledger.transactions)).sum(), Relaxed);
        self.rows.fetch_add(rows, Relaxed);
        self.row_bytes.fetch_add(bytes as u64, Relaxed);
        self.batches.fetch_add(1, Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for ledger in ledgers {
            let closed = Duration::from_secs(u64::try_from(ledger.closed_at).unwrap_or(0));
            self.close_to_commit.record(now.saturating_sub(closed));
        }
        if let Some(last) = ledgers.last() {
            self.last_committed.store(last.sequence, Relaxed);
            self.last_closed_at.store(last.closed_at, Relaxed);
        }
    }
}

/// A distribution of durations, in milliseconds to three digits, up to a day; longer ones count as a day.
#[derive(Debug)]
pub struct Latency(Mutex<Histogram<u64>>);

impl Default for Latency {
    fn default() -> Self {
        const DAY_MILLIS: u64 = 24 * 60 * 60 * 1_000;
        Self(Mutex::new(Histogram::new_with_bounds(1, DAY_MILLIS, 3).expect("constants within what the library takes")))
    }
}

impl Latency {
    /// Adds one.
    pub fn record(&self, duration: Duration) {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(millis);
    }

    /// The durations that the given shares of all are at most, in milliseconds, and how many there are.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> ([u64; N], u64) {
        let histogram = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (shares.map(|share| histogram.value_at_quantile(share)), histogram.len())
    }

    /// How many are at most each bound, in milliseconds; then how many there are, and their sum in milliseconds.
    pub fn cumulative(&self, bounds: &[u64]) -> (Vec<u64>, u64, f64) {
        let histogram = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = bounds.iter().map(|bound| histogram.count_between(0, *bound)).collect();
        #[allow(clippy::cast_precision_loss)] // Of milliseconds, far below 2^53.
        let sum = histogram.mean() * histogram.len() as f64;
        (counts, histogram.len(), sum)
    }
}
