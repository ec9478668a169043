//! The CPU part of the route: frames in, rows out.
//!
//! Several ledgers at once go side by side over the threads, each on one; a single ledger with enough in it is split into contiguous
//! chunks of about the same bytes, which whoever is free takes next. Either way rows come out in the order of frames and transactions.
//! Buffers and arenas are kept from ledger to ledger.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use starmill_ledger::rows::{LedgerRow, Rows};
use starmill_ledger::verify::{self, Sealed};
use starmill_ledger::{ChainCheck, CurrentState, LedgerError, Network, PairedLedger, Skim, Transaction, Verify};
use starmill_xdr::{Arena, ArenaPool};

use crate::progress::{Progress, Stage};
use crate::shares::{Shares, Task};
use crate::stage;

/// Turns transactions into rows.
pub trait Process: Sync {
    /// Memory kept from one transaction to the next.
    type Scratch: Default + Send;

    /// Writes all rows of one transaction; changes of current state go to `state`, which is folded when the ledger is whole.
    fn process<'a, R: Rows>(
        &self,
        transaction: &Transaction<'a>,
        arena: &'a Arena,
        scratch: &mut Self::Scratch,
        rows: &mut R,
        state: &mut CurrentState,
    ) -> Result<(), LedgerError>;
}

/// Skims, hashes and processes ledgers of one network.
#[derive(Debug)]
pub struct Engine<P: Process, R> {
    network: Network,
    processor: P,
    pool: Option<ThreadPool>,
    threads: usize,
    arenas: ArenaPool,
    work: Mutex<Vec<Work<P::Scratch>>>,
    spare: Mutex<Vec<R>>,
    progress: Arc<Progress>,
    verify: Verify,
    chain: Mutex<ChainCheck>,
}

/// A ledger whose rows are made, and what the next one must name.
type Made = (LedgerRow, Sealed);

/// The rows of a chunk, and the buffers that it used, with its part of current state.
type Chunk<R, S> = Result<(R, Work<S>), LedgerError>;

/// What is made in any order, each with its place.
type Placed<T> = Mutex<Vec<(usize, T)>>;

/// Chunks of a ledger for each thread: enough that all threads end at about the same time, few enough that joining them costs little.
const CHUNKS_PER_THREAD: usize = 6;

/// What one worker needs for a ledger, or for a chunk of one.
#[derive(Debug, Default)]
struct Work<S> {
    skim: Skim,
    hashes: Vec<[u8; 32]>,
    scratch: S,
    state: CurrentState,
}

impl<P: Process, R: Rows> Engine<P, R> {
    /// An engine on `threads` threads, the caller's among them; on the caller's alone when that is one or less, or when no thread can be started.
    pub fn new(network: Network, processor: P, threads: usize) -> Self {
        let pool = if threads > 1 {
            ThreadPoolBuilder::new().num_threads(threads - 1).thread_name(|i| format!("starmill-process-{i}")).build().ok()
        } else {
            None
        };
        let threads = pool.as_ref().map_or(1, |pool| 1 + pool.current_num_threads());
        Self {
            network,
            processor,
            pool,
            threads,
            arenas: ArenaPool::new(threads),
            work: Mutex::default(),
            spare: Mutex::default(),
            progress: Arc::default(),
            verify: Verify::None,
            chain: Mutex::default(),
        }
    }

    /// Checks the hashes of ledgers; a false one fails its ledger. Without this nothing is checked.
    #[must_use]
    pub fn verifying(mut self, level: Verify) -> Self {
        self.verify = level;
        self
    }

    /// Counts its work where others look.
    #[must_use]
    pub fn counting(mut self, progress: &Arc<Progress>) -> Self {
        self.progress = Arc::clone(progress);
        self
    }

    /// The network whose ledgers it reads.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// How many threads it works on.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Appends the rows of a ledger to `rows`. After an error `rows` may hold a part of the ledger.
    pub fn ledger(&self, frame: &[u8], rows: &mut R) -> Result<LedgerRow, LedgerError> {
        self.follows(self.one(frame, self.pool.as_ref(), rows)?)
    }

    /// Appends the rows of each ledger to `rows`, in the order of the frames, until one fails.
    ///
    /// Returns the lines of the ledgers that went well and the error of the first that did not. Of that one and those after it nothing is in
    /// `rows`.
    pub fn ledgers<F: AsRef<[u8]> + Sync>(&self, frames: &[F], rows: &mut R) -> (Vec<LedgerRow>, Option<LedgerError>) {
        let made = match &self.pool {
            Some(pool) if frames.len() >= self.threads => self.side_by_side(pool, frames),
            pool => frames.iter().map(|frame| self.apart(frame.as_ref(), pool.as_ref())).collect(),
        };
        let mut done = Vec::with_capacity(made.len());
        for ledger in made {
            match ledger.and_then(|(made, chunk)| Ok((self.follows(made)?, chunk))) {
                Ok((line, mut chunk)) => {
                    done.push(line);
                    rows.append(&mut chunk);
                    self.recycle(chunk);
                }
                Err(error) => return (done, Some(error)),
            }
        }
        (done, None)
    }

    /// Whole ledgers, each on one thread.
    fn side_by_side<F: AsRef<[u8]> + Sync>(&self, pool: &ThreadPool, frames: &[F]) -> Vec<Result<(Made, R), LedgerError>> {
        let next = AtomicUsize::new(0);
        let made = Mutex::new(Vec::with_capacity(frames.len()));
        let work = || {
            while let Some((place, frame)) = Some(next.fetch_add(1, Relaxed)).and_then(|place| Some((place, frames.get(place)?))) {
                let ledger = self.apart(frame.as_ref(), None);
                lock(&made).push((place, ledger));
            }
        };
        pool.in_place_scope(|scope| {
            (1..self.threads).for_each(|_| scope.spawn(|_| work()));
            work();
        });
        in_order(made)
    }

    fn apart(&self, frame: &[u8], pool: Option<&ThreadPool>) -> Result<(Made, R), LedgerError> {
        let mut rows = self.spare_rows();
        let made = self.one(frame, pool, &mut rows)?;
        Ok((made, rows))
    }

    /// Whether a ledger follows the one before it; called in the order of the ledgers.
    fn follows(&self, (line, sealed): Made) -> Result<LedgerRow, LedgerError> {
        let linked = lock(&self.chain).link(&sealed);
        linked.inspect_err(|_| self.failed(Stage::Skim))?;
        Ok(line)
    }

    /// One ledger, on the caller's thread and, where there is a pool and enough to do, on the pool's.
    fn one(&self, frame: &[u8], pool: Option<&ThreadPool>, rows: &mut R) -> Result<Made, LedgerError> {
        let mut work = self.take_work();
        let mut at = Stage::Skim;
        let line = self.with_work(frame, pool, &mut work, rows, &mut at);
        if line.is_err() {
            self.failed(at);
        }
        self.keep_work(work);
        line
    }

    fn failed(&self, stage: Stage) {
        self.progress.stage(stage).errors.fetch_add(1, Relaxed);
    }

    /// `at` is the stage that the ledger is in, also when it fails there.
    fn with_work(
        &self,
        frame: &[u8],
        pool: Option<&ThreadPool>,
        work: &mut Work<P::Scratch>,
        rows: &mut R,
        at: &mut Stage,
    ) -> Result<Made, LedgerError> {
        let counters = |stage| self.progress.stage(stage);
        let mut enter = |stage| {
            *at = stage;
            counters(stage).entered(1);
            Instant::now()
        };
        let start = enter(Stage::Skim);
        let Work { skim, hashes, scratch, state } = work;
        let aside = pool.filter(|_| frame.len() >= stage::hash::FRAME_BYTES_MIN);
        let head = if let Some(pool) = aside {
            stage::hash::beside_skim(&self.network, frame, skim, pool, hashes, &self.progress)?
        } else {
            let head = stage::skim::skim(frame, skim)?;
            counters(Stage::Skim).busy(start);
            head
        };
        let start = Instant::now();
        let line = stage::skim::ledger_row(&head, skim);
        let sealed = verify::seal(frame, &head, skim, self.verify)?;
        counters(Stage::Skim).worked(start, 1);
        let start = enter(Stage::Hash);
        if aside.is_none() {
            stage::hash::hash(&self.network, frame, &skim.envelopes, hashes);
        }
        let pairs = stage::hash::pair(&self.network, frame, &head, skim, hashes)?;
        let ledger = PairedLedger { network: &self.network, head: &head, frame, skim, pairs: &pairs };
        counters(Stage::Hash).worked(start, 1);
        let start = enter(Stage::Process);
        rows.ledger(&line);
        state.clear();
        let chunks = self.chunks(&ledger, pool, scratch, rows, state)?;
        counters(Stage::Process).worked(start, 1);
        let start = enter(Stage::Fold);
        for chunk in chunks {
            let (mut chunk, mut part) = chunk?;
            stage::fold::join((&mut *rows, &mut *state), (&mut chunk, &mut part.state));
            self.recycle(chunk);
            self.keep_work(part);
        }
        state.fold(rows);
        counters(Stage::Fold).worked(start, 1);
        Ok((line, sealed))
    }

    /// Writes the rows of a ledger's first transactions, and gives those of the others in chunks apart, in order ([`Shares`]).
    fn chunks(
        &self,
        ledger: &PairedLedger<'_>,
        pool: Option<&ThreadPool>,
        scratch: &mut P::Scratch,
        rows: &mut R,
        state: &mut CurrentState,
    ) -> Result<Vec<Chunk<R, P::Scratch>>, LedgerError> {
        let ranges = stage::process::split(&ledger.skim.transactions, pool.map_or(1, |_| self.threads * CHUNKS_PER_THREAD));
        let workers = pool.map_or(1, |_| self.threads.min(ranges.len()).max(1));
        let shares = Shares::new(ranges.len(), workers);
        let apart = Mutex::new(Vec::new());
        let mut here = || {
            let mut arena = self.arenas.lease();
            while let Some(task) = shares.next(0) {
                match task {
                    Task::Own(next) => {
                        stage::process::process(&self.processor, ledger, ranges[next].clone(), &mut arena, scratch, rows, state)?;
                    }
                    Task::Taken(last) => {
                        let chunk = self.chunk(ledger, ranges[last].clone());
                        lock(&apart).push((last, chunk));
                    }
                }
            }
            Ok::<(), LedgerError>(())
        };
        match pool {
            Some(pool) if workers > 1 => pool.in_place_scope(|scope| {
                for worker in 1..workers {
                    let (shares, ranges, apart) = (&shares, &ranges, &apart);
                    scope.spawn(move |_| self.chunks_of_worker(worker, ledger, ranges, shares, apart));
                }
                here()
            }),
            _ => here(),
        }?;
        Ok(in_order(apart))
    }

    /// The chunks that a worker other than the caller makes: one of all that are its own, and one of each that it takes from another.
    fn chunks_of_worker(
        &self,
        worker: usize,
        ledger: &PairedLedger<'_>,
        ranges: &[Range<usize>],
        shares: &Shares,
        apart: &Placed<Chunk<R, P::Scratch>>,
    ) {
        let mut own = None;
        while let Some(task) = shares.next(worker) {
            match task {
                Task::Own(next) => {
                    let (_, chunk) = own.get_or_insert_with(|| (next, Ok(self.spare_chunk())));
                    self.extend(chunk, ledger, ranges[next].clone());
                }
                Task::Taken(last) => {
                    let chunk = self.chunk(ledger, ranges[last].clone());
                    lock(apart).push((last, chunk));
                }
            }
        }
        lock(apart).extend(own);
    }

    /// The rows of some transactions of a ledger, apart.
    fn chunk(&self, ledger: &PairedLedger<'_>, range: Range<usize>) -> Chunk<R, P::Scratch> {
        let mut chunk = Ok(self.spare_chunk());
        self.extend(&mut chunk, ledger, range);
        chunk
    }

    /// Adds the rows of the transactions that follow, unless one before has failed.
    fn extend(&self, chunk: &mut Chunk<R, P::Scratch>, ledger: &PairedLedger<'_>, range: Range<usize>) {
        let Ok((rows, part)) = chunk else { return };
        let mut arena = self.arenas.lease();
        let made = stage::process::process(&self.processor, ledger, range, &mut arena, &mut part.scratch, rows, &mut part.state);
        if let Err(error) = made {
            *chunk = Err(error);
        }
    }

    fn spare_chunk(&self) -> (R, Work<P::Scratch>) {
        let (rows, mut part) = (self.spare_rows(), self.take_work());
        part.state.clear();
        (rows, part)
    }

    fn take_work(&self) -> Work<P::Scratch> {
        lock(&self.work).pop().unwrap_or_default()
    }

    fn keep_work(&self, work: Work<P::Scratch>) {
        let mut spare = lock(&self.work);
        if spare.len() <= self.threads * CHUNKS_PER_THREAD {
            spare.push(work);
        }
    }

    fn spare_rows(&self) -> R {
        lock(&self.spare).pop().unwrap_or_default()
    }

    fn recycle(&self, mut rows: R) {
        rows.clear();
        let mut spare = lock(&self.spare);
        if spare.len() <= self.threads * CHUNKS_PER_THREAD {
            spare.push(rows);
        }
    }
}

/// What was made at each place, by place.
fn in_order<T>(made: Placed<T>) -> Vec<T> {
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, made)| made).collect()
}

/// Buffers behind these locks are valid whatever the thread before was doing when it panicked: users clear them first.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
