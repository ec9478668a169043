//! Batch: whole ledgers gathered for one commit.
//!
//! In: frames, of which those that the sink has are passed over; the rest go through the engine, some at a time, and their rows to the end of the
//! batch. Out: batches. One is handed over as soon as the sink is free, so that nothing waits when there is no hurry, and grows while it is
//! not, up to its limits; then the stage waits for the sink. A ledger is never split; the last one may go over a limit by its own size. Where the
//! source steps back, a batch ends: the ledgers of one ascend.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Select, Sender, TryRecvError};
use starmill_ledger::Coverage;
use starmill_ledger::rows::Rows;
use starmill_ledger::sink::Batch;

use super::persist::Held;
use super::source::Leased;
use crate::budget::Budget;
use crate::progress::{Progress, Stage};
use crate::{Engine, FailedLedger, Outcome, Process, RunError};

/// How long a wait goes on before the stop request is looked at again.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// When a batch is large enough to commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Rows.
    pub rows_max: u64,
    /// Bytes of rows.
    pub bytes_max: usize,
    /// Ledgers.
    pub ledgers_max: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { rows_max: 200_000, bytes_max: 32 << 20, ledgers_max: 1_000 }
    }
}

impl BatchLimits {
    /// Whether the batch is to be committed before more is added.
    pub fn reached<R: Rows>(&self, batch: &Batch<R>) -> bool {
        batch.ledgers.len() >= self.ledgers_max || batch.rows.rows() >= self.rows_max || batch.rows.bytes() >= self.bytes_max
    }
}

/// The stage, on the thread that calls [`Batcher::work`].
#[allow(missing_debug_implementations)] // What the processor keeps need not have one.
pub struct Batcher<'r, P: Process, R: Rows, S> {
    /// Makes the rows.
    pub engine: &'r Engine<P, R>,
    /// Ledgers that the sink has.
    pub coverage: &'r Coverage,
    /// When a batch is large enough.
    pub limits: BatchLimits,
    /// Bytes of frames handed to the engine at a time.
    pub group_bytes_max: usize,
    /// What is in flight.
    pub budget: &'r Arc<Budget>,
    /// Counters.
    pub progress: &'r Progress,
    /// Frames.
    pub frames: &'r Receiver<Result<Leased, S>>,
    /// Where batches go: a queue that holds none, so that a batch leaves when the sink takes it.
    pub batches: &'r Sender<Held<R>>,
    /// Emptied batches.
    pub empty: &'r Receiver<Batch<R>>,
    /// Set when the persist stage is over, which is noticed also while there is nothing to hand over.
    pub sink_gone: &'r AtomicBool,
}

/// What comes next.
enum Next<S> {
    /// A frame, or why there is none.
    Frame(Result<Leased, S>),
    /// The source is at its end.
    End,
    /// Nothing yet.
    Wait,
    /// The sink has taken the batch.
    Taken,
    /// The sink is gone; the persist stage has its error.
    SinkGone,
}

impl<P: Process, R: Rows, S> Batcher<'_, P, R, S> {
    /// Works until the source ends or fails, a ledger fails, someone asks to stop, or the sink is gone. What was made before that is handed over.
    pub fn work<K>(&self) -> Result<Outcome, RunError<S, K>> {
        let mut held = self.new_batch();
        let mut group = Vec::new();
        // Behind a step back: begins the next batch.
        let mut behind: Option<Leased> = None;
        let mut end = None;
        while end.is_none() && !self.progress.stop.load(Relaxed) {
            if self.sink_gone.load(Relaxed) {
                return Ok(Outcome::Stopped);
            }
            let next = if let Some(frame) = behind.take() {
                if self.hand_over(&mut held).is_err() {
                    return Ok(Outcome::Stopped);
                }
                Next::Frame(Ok(frame))
            } else {
                self.next(&mut held)
            };
            match next {
                Next::Frame(frame) => {
                    let last = held.batch.ledgers.last().map(|ledger| ledger.sequence);
                    end = self.gather(frame, last, &mut group, &mut behind);
                }
                Next::End => end = Some(Ok(self.ended())),
                Next::SinkGone => return Ok(Outcome::Stopped),
                Next::Wait | Next::Taken => {}
            }
            if let Err(error) = self.add(&mut group, &mut held) {
                end = Some(Err(error));
            } else if self.limits.reached(&held.batch) && self.hand_over(&mut held).is_err() {
                return Ok(Outcome::Stopped);
            }
        }
        if !held.batch.ledgers.is_empty() {
            let _ = self.hand_over(&mut held);
        }
        end.unwrap_or(Ok(Outcome::Stopped))
    }

    fn new_batch(&self) -> Held<R> {
        Held { batch: self.empty.try_recv().unwrap_or_default(), lease: self.budget.charge(0), read_at: Vec::new() }
    }

    /// Waits for a frame, or for the sink to take a batch that has something in it.
    fn next(&self, held: &mut Held<R>) -> Next<S> {
        if held.batch.ledgers.is_empty() {
            return match self.frames.recv_timeout(STOP_CHECK_INTERVAL) {
                Ok(frame) => Next::Frame(frame),
                Err(RecvTimeoutError::Timeout) => Next::Wait,
                Err(RecvTimeoutError::Disconnected) => Next::End,
            };
        }
        let mut select = Select::new();
        let handing_over = select.send(self.batches);
        select.recv(self.frames);
        match select.select_timeout(STOP_CHECK_INTERVAL) {
            Err(_) => Next::Wait,
            Ok(operation) if operation.index() == handing_over => {
                match operation.send(self.batches, std::mem::replace(held, self.new_batch())) {
                    Ok(()) => Next::Taken,
                    Err(_) => Next::SinkGone,
                }
            }
            Ok(operation) => operation.recv(self.frames).map_or(Next::End, Next::Frame),
        }
    }

    /// Waits until the sink takes the batch.
    fn hand_over(&self, held: &mut Held<R>) -> Result<(), ()> {
        self.batches.send(std::mem::replace(held, self.new_batch())).map_err(|_| ())
    }

    fn ended(&self) -> Outcome {
        if self.progress.stop.load(Relaxed) { Outcome::Stopped } else { Outcome::Complete }
    }

    /// Takes a frame and those behind it that are there already, up to the group's bounds. Returns the end of the source, if it is there.
    /// A frame that lies before the one it follows, the `last` of the batch to begin with, goes to `behind`.
    fn gather<K>(
        &self,
        first: Result<Leased, S>,
        last: Option<u32>,
        group: &mut Vec<Leased>,
        behind: &mut Option<Leased>,
    ) -> Option<Result<Outcome, RunError<S, K>>> {
        let mut bytes = 0;
        let mut last = last;
        let mut next = first;
        loop {
            match next {
                Err(error) => return Some(Err(RunError::Source(error))),
                Ok(frame) => {
                    if last.is_some_and(|last| frame.input.sequence <= last) {
                        *behind = Some(frame);
                        return None;
                    }
                    self.progress.frames_waiting.remove(1, frame.lease.bytes());
                    if self.coverage.contains(frame.input.sequence) {
                        self.progress.skipped.fetch_add(1, Relaxed);
                    } else {
                        bytes += frame.input.bytes.len();
                        last = Some(frame.input.sequence);
                        group.push(frame);
                    }
                }
            }
            if bytes >= self.group_bytes_max || group.len() >= self.engine.threads() * 4 || self.progress.stop.load(Relaxed) {
                return None;
            }
            match self.frames.try_recv() {
                Ok(frame) => next = frame,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => return Some(Ok(self.ended())),
            }
        }
    }

    /// Adds the rows of a group to the batch. The ledgers before one that fails are added.
    fn add<K>(&self, group: &mut Vec<Leased>, held: &mut Held<R>) -> Result<(), RunError<S, K>> {
        if group.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        self.progress.stage(Stage::Batch).entered(group.len() as u64);
        let before = held.batch.rows.bytes();
        let (lines, error) = self.engine.ledgers(group, &mut held.batch.rows);
        let made = held.batch.rows.bytes().saturating_sub(before);
        held.lease.grow(made);
        self.progress.rows_waiting.add(lines.len(), made);
        let bytes = group.iter().take(lines.len()).map(|frame| frame.input.bytes.len() as u64).sum();
        self.progress.frame_bytes.fetch_add(bytes, Relaxed);
        self.progress.stage(Stage::Batch).worked(start, lines.len() as u64);
        held.read_at.extend(group.iter().take(lines.len()).map(|frame| frame.read_at));
        let failed = group.drain(..).nth(lines.len());
        held.batch.ledgers.extend(lines);
        if let (Some(error), Some(Leased { input, .. })) = (error, failed) {
            let network = self.engine.network().clone();
            return Err(RunError::Ledger(Box::new(FailedLedger { error, path: input.path, item: input.item, network })));
        }
        Ok(())
    }
}
