//! The main job: frames from a source, through the engine, into a sink.
//!
//! Three threads joined by bounded queues: one reads frames, one makes rows with the engine's threads, one persists; while a batch is being
//! committed the next is made and the one after that is read. What is in flight has one budget of bytes. Every ledger's rows are committed once and whole, in the order of the source. On a stop request or an
//! error the ledgers before it are committed, and nothing after.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crossbeam_channel::bounded;
use starmill_ledger::sink::Sink;
use starmill_ledger::{LedgerError, Network};
use thiserror::Error;

use crate::budget::Budget;
use crate::stage::batch::{BatchLimits, Batcher};
use crate::stage::persist::Held;
use crate::stage::source::Input;
use crate::{Engine, Process, Progress, stage};

/// Bounds of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When to commit.
    pub batch: BatchLimits,
    /// Frames read ahead.
    pub frames_ahead_max: usize,
    /// Bytes of frames handed to the engine at a time.
    pub group_bytes_max: usize,
    /// Bytes of frames and rows between the source and the commit. One ledger alone may be larger.
    pub bytes_in_flight_max: usize,
}

impl Limits {
    /// Bounds that keep to a memory budget: a batch being made, one being committed, and what is read ahead.
    pub fn within(bytes_in_flight_max: usize) -> Self {
        let share = (bytes_in_flight_max / 6).clamp(64 << 10, 32 << 20);
        let batch = BatchLimits { bytes_max: share, ..BatchLimits::default() };
        Self { batch, frames_ahead_max: 256, group_bytes_max: share, bytes_in_flight_max }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::within(256 << 20)
    }
}

/// How a run ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The source has no more.
    Complete,
    /// It was asked to stop.
    Stopped,
}

/// Why a run ended.
#[derive(Debug, Error)]
pub enum RunError<S, K> {
    /// The source failed.
    #[error(transparent)]
    Source(S),
    /// A ledger cannot be processed.
    #[error("{0}")]
    Ledger(Box<FailedLedger>),
    /// The sink failed.
    #[error(transparent)]
    Sink(K),
    /// A thread of the run is gone; only a defect does that.
    #[error("the {0} thread could not be started or ended without a word")]
    Thread(&'static str),
}

/// A ledger that cannot be processed.
#[derive(Clone, Debug, Error)]
#[error("{error}, read from {path}, item {item}", path = path.display())]
pub struct FailedLedger {
    /// Why, and where in the ledger.
    #[source]
    pub error: LedgerError,
    /// The file that the ledger is from.
    pub path: Arc<Path>,
    /// Which ledger of the file, from 1.
    pub item: u64,
    /// The network as which it was read.
    pub network: Network,
}

/// Runs until the source ends, someone asks to stop, or something fails. Everything before that point is committed.
pub fn run<P, K, S>(
    source: impl Iterator<Item = Result<Input, S>> + Send + 'static,
    engine: &Engine<P, K::Rows>,
    sink: &mut K,
    limits: Limits,
    progress: &Arc<Progress>,
) -> Result<Outcome, RunError<S, K::Error>>
where
    P: Process,
    K: Sink,
    S: Send + 'static,
{
    let coverage = sink.coverage();
    let budget = Budget::new(limits.bytes_in_flight_max);
    progress.within(&budget);
    let (frames_in, frames) = bounded(limits.frames_ahead_max);
    // Holds none: a batch leaves the batch stage at the moment at which the sink takes it, and grows until then.
    let (batches_in, batches) = bounded::<Held<K::Rows>>(0);
    let (empty_in, empty) = bounded(2);
    // The reader is not waited for: it may sit in a read of a pipe that nobody writes to. It ends once nobody takes its frames.
    let reader = std::thread::Builder::new().name("starmill-source".into());
    let (counters, room) = (Arc::clone(progress), Arc::clone(&budget));
    reader.spawn(move || stage::source::read(source, &frames_in, &room, &counters)).map_err(|_| RunError::Thread("source"))?;
    let sink_gone = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = std::thread::Builder::new().name("starmill-persist".into());
        let gone = &sink_gone;
        let writer = writer.spawn_scoped(scope, move || {
            let persisted = stage::persist::persist(sink, &batches, &empty_in, progress);
            gone.store(true, Relaxed);
            persisted
        });
        let writer = writer.map_err(|_| RunError::Thread("persist"))?;
        let batcher = Batcher {
            engine,
            coverage: &coverage,
            limits: limits.batch,
            group_bytes_max: limits.group_bytes_max,
            budget: &budget,
            progress,
            frames: &frames,
            batches: &batches_in,
            empty: &empty,
            sink_gone: &sink_gone,
        };
        let made = batcher.work();
        // Closing the queue lets the persisting thread come to its end.
        drop(batches_in);
        let persisted = writer.join().map_err(|_| RunError::Thread("persist"))?;
        persisted.map_err(RunError::Sink)?;
        made
    })
}
