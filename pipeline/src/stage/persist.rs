//! Persist: batches into the sink, one at a time, in order.
//!
//! In: finished batches. Each is in the sink as a whole before the next is begun; the first failure ends the stage, and nothing after it is tried.
//! When there are no more the sink finishes. Emptied batches go back for reuse, and their memory to the budget.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use starmill_ledger::rows::Rows as _;
use starmill_ledger::sink::{Batch, Sink};

use crate::budget::Lease;
use crate::progress::{Progress, Stage};

/// A batch that has its place in the memory budget.
#[derive(Debug)]
pub struct Held<R> {
    /// The ledgers and their rows.
    pub batch: Batch<R>,
    /// The bytes of its rows.
    pub lease: Lease,
    /// When each of its ledgers was read.
    pub read_at: Vec<Instant>,
}

/// Commits batches until the queue is closed or one fails.
pub fn persist<K: Sink>(
    sink: &mut K,
    batches: &Receiver<Held<K::Rows>>,
    empty: &Sender<Batch<K::Rows>>,
    progress: &Progress,
) -> Result<(), K::Error> {
    let counters = progress.stage(Stage::Persist);
    for Held { mut batch, lease, read_at } in batches {
        let start = Instant::now();
        let (ledgers, rows, bytes) = (batch.ledgers.len(), batch.rows.rows(), batch.rows.bytes());
        counters.entered(ledgers as u64);
        let committed = sink.commit(&mut batch);
        progress.rows_waiting.remove(ledgers, lease.bytes());
        if let Err(error) = committed {
            counters.errors.fetch_add(1, Relaxed);
            return Err(error);
        }
        counters.worked(start, ledgers as u64);
        progress.committed(&batch.ledgers, rows, bytes);
        progress.gathering_from.store(sink.gathering_from().unwrap_or(0), Relaxed);
        for read_at in read_at {
            progress.read_to_commit().record(read_at.elapsed());
        }
        batch.clear();
        drop(lease);
        // Nobody waits for it when the queue is full or the run is over.
        let _ = empty.try_send(batch);
    }
    let start = Instant::now();
    sink.finish().inspect_err(|_| _ = counters.errors.fetch_add(1, Relaxed))?;
    counters.worked(start, 0);
    progress.gathering_from.store(0, Relaxed);
    Ok(())
}
