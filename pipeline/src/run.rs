//! The main job: frames from a source, through the engine, into a sink.
//!
//! Three threads joined by bounded channels: one reads frames, one makes rows, one persists; while a batch is being committed the next is
//! made and the one after that is read. Every ledger's rows are committed once and whole, in the order of the source. On a stop request or an
//! error the ledgers before it are committed, and nothing after.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};
use starmill_ledger::rows::Rows;
use starmill_ledger::sink::{Batch, Sink};
use starmill_ledger::{Coverage, LedgerError, Network};
use thiserror::Error;

use crate::stage::batch::BatchLimits;
use crate::{Engine, Process};

/// How long a wait for frames may go on before the stop request is looked at again.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// One frame and where it is from.
#[derive(Clone, Debug)]
pub struct Input {
    /// Ledger sequence.
    pub sequence: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The file, for messages.
    pub path: Arc<Path>,
    /// Which ledger of the file, from 1.
    pub item: u64,
}

impl AsRef<[u8]> for Input {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bounds of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When to commit.
    pub batch: BatchLimits,
    /// Frames read ahead.
    pub frames_ahead_max: usize,
    /// Bytes of frames handed to the engine at a time.
    pub group_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { batch: BatchLimits::default(), frames_ahead_max: 16, group_bytes_max: 32 << 20 }
    }
}

/// Counters that others may read while the run goes on.
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
    /// Bytes of frames processed.
    pub frame_bytes: AtomicU64,
    /// Batches committed.
    pub batches: AtomicU64,
    /// Sequence of the last ledger committed; 0 before the first.
    pub last_committed: AtomicU32,
    /// Set by whoever wants the run to end.
    pub stop: AtomicBool,
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
    let (frames_in, frames) = bounded(limits.frames_ahead_max);
    let (batches_in, batches) = bounded::<Batch<K::Rows>>(1);
    let (empty_in, empty) = bounded(4);
    // The reader is not waited for: it may sit in a read of a pipe that nobody writes to. It ends once nobody takes its frames.
    let reader = std::thread::Builder::new().name("starmill-source".into());
    let stop = Arc::clone(progress);
    reader.spawn(move || read(source, &frames_in, &stop)).map_err(|_| RunError::Thread("source"))?;
    std::thread::scope(|scope| {
        let writer = std::thread::Builder::new().name("starmill-persist".into());
        let writer = writer.spawn_scoped(scope, move || persist(sink, &batches, &empty_in, progress));
        let writer = writer.map_err(|_| RunError::Thread("persist"))?;
        let maker = Maker { engine, coverage: &coverage, limits, progress, empty: &empty };
        let made = maker.make(&frames, &batches_in);
        // Closing the queue lets the persisting thread come to its end.
        drop(batches_in);
        let persisted = writer.join().map_err(|_| RunError::Thread("persist"))?;
        persisted.map_err(RunError::Sink)?;
        made
    })
}

/// The reading thread: frames into the queue until nobody takes them.
fn read<S>(source: impl Iterator<Item = Result<Input, S>>, frames: &Sender<Result<Input, S>>, progress: &Progress) {
    for frame in source {
        let failed = frame.is_err();
        if progress.stop.load(Relaxed) || frames.send(frame).is_err() || failed {
            return;
        }
    }
}

/// The persisting thread: commits batches until the queue is closed or one fails. Emptied batches go back for reuse.
fn persist<K: Sink>(
    sink: &mut K,
    batches: &Receiver<Batch<K::Rows>>,
    empty: &Sender<Batch<K::Rows>>,
    progress: &Progress,
) -> Result<(), K::Error> {
    for mut batch in batches {
        sink.commit(&mut batch)?;
        let transactions = batch.ledgers.iter().map(|ledger| u64::from(ledger.transactions)).sum();
        progress.ledgers.fetch_add(batch.ledgers.len() as u64, Relaxed);
        progress.transactions.fetch_add(transactions, Relaxed);
        progress.rows.fetch_add(batch.rows.rows(), Relaxed);
        progress.batches.fetch_add(1, Relaxed);
        if let Some(last) = batch.ledgers.last() {
            progress.last_committed.store(last.sequence, Relaxed);
        }
        batch.clear();
        // Nobody waits for it when the queue is full or the run is over.
        let _ = empty.try_send(batch);
    }
    Ok(())
}

/// The middle thread: frames to batches of rows.
struct Maker<'r, P: Process, R: Rows> {
    engine: &'r Engine<P, R>,
    coverage: &'r Coverage,
    limits: Limits,
    progress: &'r Progress,
    empty: &'r Receiver<Batch<R>>,
}

/// Why the maker cannot go on with a group.
enum Halt<S, K> {
    Error(RunError<S, K>),
    SinkGone,
}

impl<P: Process, R: Rows> Maker<'_, P, R> {
    /// Makes batches until the source ends or fails, a ledger fails, or the sink is gone.
    fn make<S, K>(&self, frames: &Receiver<Result<Input, S>>, batches: &Sender<Batch<R>>) -> Result<Outcome, RunError<S, K>> {
        let mut batch = Batch::new();
        let mut group = Vec::new();
        let mut end = None;
        while end.is_none() && !self.progress.stop.load(Relaxed) {
            end = self.gather(frames, &mut group);
            if let Err(halt) = self.add(&mut group, &mut batch, batches) {
                end = match halt {
                    Halt::Error(error) => Some(Err(error)),
                    // The persisting thread has the error; it is told in place of this.
                    Halt::SinkGone => return Ok(Outcome::Stopped),
                };
            }
        }
        if !batch.ledgers.is_empty() {
            let _ = batches.send(batch);
        }
        end.unwrap_or(Ok(Outcome::Stopped))
    }

    /// Takes one frame, waiting a while for it, and those already there up to the group's bounds. Returns the end of the source, if it is there.
    fn gather<S, K>(&self, frames: &Receiver<Result<Input, S>>, group: &mut Vec<Input>) -> Option<Result<Outcome, RunError<S, K>>> {
        let mut bytes = 0;
        let mut next = match frames.recv_timeout(STOP_CHECK_INTERVAL) {
            Ok(frame) => Some(frame),
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => None,
        };
        loop {
            match next {
                None if self.progress.stop.load(Relaxed) => return Some(Ok(Outcome::Stopped)),
                None => return Some(Ok(Outcome::Complete)),
                Some(Err(error)) => return Some(Err(RunError::Source(error))),
                Some(Ok(input)) if self.coverage.contains(input.sequence) => {
                    self.progress.skipped.fetch_add(1, Relaxed);
                }
                Some(Ok(input)) => {
                    bytes += input.bytes.len();
                    group.push(input);
                }
            }
            if bytes >= self.limits.group_bytes_max || group.len() >= self.engine.threads() * 4 || self.progress.stop.load(Relaxed) {
                return None;
            }
            match frames.try_recv() {
                Ok(frame) => next = Some(frame),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => next = None,
            }
        }
    }

    /// Adds the rows of a group to the batch and hands it over when it is large enough.
    fn add<S, K>(&self, group: &mut Vec<Input>, batch: &mut Batch<R>, batches: &Sender<Batch<R>>) -> Result<(), Halt<S, K>> {
        if group.is_empty() {
            return Ok(());
        }
        let (lines, error) = self.engine.ledgers(group, &mut batch.rows);
        let bytes = group.iter().take(lines.len()).map(|input| input.bytes.len() as u64).sum();
        self.progress.frame_bytes.fetch_add(bytes, Relaxed);
        let failed = group.drain(..).nth(lines.len());
        batch.ledgers.extend(lines);
        if let (Some(error), Some(input)) = (error, failed) {
            let network = self.engine.network().clone();
            return Err(Halt::Error(RunError::Ledger(Box::new(FailedLedger { error, path: input.path, item: input.item, network }))));
        }
        if self.limits.batch.reached(batch) || (batches.is_empty() && !batch.ledgers.is_empty()) {
            let full = std::mem::replace(batch, self.empty.try_recv().unwrap_or_default());
            batches.send(full).map_err(|_| Halt::SinkGone)?;
        }
        Ok(())
    }
}
