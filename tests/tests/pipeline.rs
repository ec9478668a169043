//! The pipeline between a source and a sink that take their time: what is in flight stays within the budget, nothing waits for what does not
//! come, and a stop or a failure loses nothing that was committed.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use starmill_fixtures::{Chain, ChainConfig, to_xdr};
use starmill_ledger::rows::Rows;
use starmill_ledger::sink::{Batch, Sink};
use starmill_ledger::{Coverage, CurrentState, LedgerError, Network, Transaction};
use starmill_pipeline::{Engine, Input, Limits, Outcome, Process, Progress, RunError, Stage, run};
use starmill_sinks::CopyRows;
use starmill_xdr::Arena;

struct AllRows;

impl Process for AllRows {
    type Scratch = starmill_processors::Scratch;

    fn process<'a, R: Rows>(
        &self,
        transaction: &Transaction<'a>,
        arena: &'a Arena,
        scratch: &mut Self::Scratch,
        rows: &mut R,
        state: &mut CurrentState,
    ) -> Result<(), LedgerError> {
        starmill_processors::process(transaction, arena, scratch, rows, state)
    }
}

/// A sink that takes its time and says what it was given, or refuses.
#[derive(Debug)]
struct Slow {
    takes: Duration,
    refuses_at: Option<u32>,
    coverage: Coverage,
    committed: Arc<Mutex<Vec<Vec<u32>>>>,
}

impl Slow {
    fn new(takes: Duration) -> Self {
        Self { takes, refuses_at: None, coverage: Coverage::default(), committed: Arc::default() }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Refused(u32);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ledger {} is refused", self.0)
    }
}

impl std::error::Error for Refused {}

impl Sink for Slow {
    type Rows = CopyRows;
    type Error = Refused;

    fn coverage(&self) -> Coverage {
        self.coverage.clone()
    }

    fn commit(&mut self, batch: &mut Batch<CopyRows>) -> Result<(), Refused> {
        std::thread::sleep(self.takes);
        let sequences: Vec<u32> = batch.ledgers.iter().map(|ledger| ledger.sequence).collect();
        if let Some(refused) = self.refuses_at.filter(|refused| sequences.contains(refused)) {
            return Err(Refused(refused));
        }
        self.committed.lock().unwrap().push(sequences);
        Ok(())
    }
}

type Frame = Result<Input, std::convert::Infallible>;

fn chain(ledgers: u32, transactions_per_ledger: u32) -> (Network, Vec<Input>) {
    let config = ChainConfig { ledgers, transactions_per_ledger, ..ChainConfig::default() };
    let path: Arc<Path> = Path::new("made").into();
    let frames = Chain::new(config.clone()).unwrap().zip(1..).map(|(ledger, item)| {
        let bytes = to_xdr(&ledger.unwrap()).unwrap();
        Input { sequence: config.first_ledger + item - 1, bytes, path: Arc::clone(&path), item: item.into() }
    });
    let frames = frames.collect();
    (Network::new(config.passphrase), frames)
}

struct Running {
    frames: mpsc::Sender<Frame>,
    progress: Arc<Progress>,
    committed: Arc<Mutex<Vec<Vec<u32>>>>,
    run: std::thread::JoinHandle<Result<Outcome, RunError<std::convert::Infallible, Refused>>>,
}

/// A run over frames that the test sends.
fn start(network: Network, mut sink: Slow, limits: Limits) -> Running {
    let (frames, source) = mpsc::channel();
    let progress = Arc::new(Progress::default());
    let (committed, counters) = (Arc::clone(&sink.committed), Arc::clone(&progress));
    let run = std::thread::spawn(move || {
        let engine: Engine<AllRows, CopyRows> = Engine::new(network, AllRows, 2).counting(&counters);
        run(source.into_iter(), &engine, &mut sink, limits, &counters)
    });
    Running { frames, progress, committed, run }
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_is_in_flight_stays_within_the_budget() {
    let (network, frames) = chain(120, 60);
    let largest = frames.iter().map(|frame| frame.bytes.len()).max().unwrap();
    let total: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
    let bytes_max = 2 << 20;
    assert!(total > 2 * bytes_max, "{total} bytes in all");
    let running = start(network, Slow::new(Duration::from_millis(20)), Limits::within(bytes_max));
    let mut most = 0;
    for frame in frames {
        running.frames.send(Ok(frame)).unwrap();
    }
    drop(running.frames);
    while !running.run.is_finished() {
        let waiting = &running.progress;
        most = most.max(waiting.frames_waiting.bytes.load(Relaxed) + waiting.rows_waiting.bytes.load(Relaxed));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(matches!(running.run.join().unwrap(), Ok(Outcome::Complete)));
    // The rows of the ledgers that go through the engine together come on top.
    assert!(most > bytes_max / 8 && most <= bytes_max + 8 * largest, "{most} bytes in flight");
    let committed = running.committed.lock().unwrap();
    assert_eq!(committed.iter().flatten().count(), 120);
    assert!(committed.len() > 4, "{} batches", committed.len());
    let waiting = [&running.progress.frames_waiting, &running.progress.rows_waiting];
    assert!(waiting.iter().all(|queue| queue.items.load(Relaxed) == 0 && queue.bytes.load(Relaxed) == 0));
    for stage in Stage::ALL {
        let counters = running.progress.stage(stage);
        assert_eq!((counters.received.load(Relaxed), counters.errors.load(Relaxed)), (120, 0), "{}", stage.name());
    }
}

#[test]
fn a_ledger_does_not_wait_for_the_next_one() {
    let (network, frames) = chain(3, 10);
    let running = start(network, Slow::new(Duration::from_millis(200)), Limits::default());
    let mut frames = frames.into_iter().map(Ok);
    running.frames.send(frames.next().unwrap()).unwrap();
    wait_for("the sink is at work", || running.progress.rows_waiting.items.load(Relaxed) == 1);
    // Come while the sink is at work, and nothing after them.
    running.frames.send(frames.next().unwrap()).unwrap();
    running.frames.send(frames.next().unwrap()).unwrap();
    wait_for("all are committed", || running.progress.ledgers.load(Relaxed) == 3);
    assert_eq!(running.committed.lock().unwrap().concat(), [2, 3, 4]);
    assert_eq!(running.progress.close_to_commit().quantiles([0.5]).1, 3);
    drop(running.frames);
    assert!(matches!(running.run.join().unwrap(), Ok(Outcome::Complete)));
}

#[test]
fn a_stop_commits_what_was_made_and_ends_soon() {
    let (network, frames) = chain(30, 10);
    let running = start(network, Slow::new(Duration::from_millis(50)), Limits::default());
    for frame in frames {
        running.frames.send(Ok(frame)).unwrap();
    }
    wait_for("something is committed", || running.progress.ledgers.load(Relaxed) > 0);
    running.progress.stop.store(true, Relaxed);
    let asked = Instant::now();
    // The source stays open, as a pipe would that nobody writes to.
    assert!(matches!(running.run.join().unwrap(), Ok(Outcome::Stopped)));
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    let committed: Vec<u32> = running.committed.lock().unwrap().iter().flatten().copied().collect();
    assert_eq!(committed, (2..).take(committed.len()).collect::<Vec<_>>());
}

#[test]
fn a_failing_sink_ends_the_run_with_its_error() {
    let (network, frames) = chain(40, 10);
    let mut sink = Slow::new(Duration::from_millis(5));
    sink.refuses_at = Some(20);
    let running = start(network, sink, Limits::default());
    for frame in frames {
        let _ = running.frames.send(Ok(frame));
    }
    let ended = running.run.join().unwrap();
    assert!(matches!(ended, Err(RunError::Sink(Refused(20)))), "{ended:?}");
    assert_eq!(running.progress.stage(Stage::Persist).errors.load(Relaxed), 1);
    assert!(running.committed.lock().unwrap().iter().flatten().all(|ledger| *ledger < 20));
}

#[test]
fn ledgers_that_the_sink_has_are_passed_over() {
    let (network, frames) = chain(10, 5);
    let mut sink = Slow::new(Duration::ZERO);
    sink.coverage.insert_all(4..8);
    let running = start(network, sink, Limits::default());
    for frame in frames {
        running.frames.send(Ok(frame)).unwrap();
    }
    drop(running.frames);
    assert!(matches!(running.run.join().unwrap(), Ok(Outcome::Complete)));
    let committed: Vec<u32> = running.committed.lock().unwrap().iter().flatten().copied().collect();
    assert_eq!(committed, [2, 3, 8, 9, 10, 11]);
    assert_eq!(running.progress.skipped.load(Relaxed), 4);
}
