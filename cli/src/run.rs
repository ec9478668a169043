//! `starmill run`: ledgers from sources into a sink, each exactly once; progress, Ctrl-C, summary.

use std::io::Error as IoError;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use starmill_ledger::Network;
use starmill_ledger::sink::Sink;
use starmill_pipeline::{Engine, FailedLedger, Input, Limits, Outcome, Progress, RunError};
use starmill_sinks::{JsonlSink, NullSink, PostgresSink};
use starmill_sources::{Options, SourceError, Sources};

use crate::args::{RunArgs, SinkChoice, SourceArgs};
use crate::failure::{Failure, shell_word};
use crate::network::{self, NetworkError};
use crate::output::{complain, say};
use crate::processor::AllRows;
use crate::summary::{self, per_second, thousands};
use crate::{database, progress, signals};

/// Ledgers looked at for one with a transaction, to tell the network by.
const NETWORK_LEDGERS_MAX: usize = 512;
/// Exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// What a run did, beside the counters of the pipeline.
struct Report {
    outcome: Outcome,
    elapsed: Duration,
    sink: &'static str,
    sink_busy: Option<Duration>,
    sink_bytes: Option<u64>,
}

/// Between two looks at whether to stop while the first ledger is waited for.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Runs.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let progress = Arc::new(Progress::default());
    stop_on_signals(&progress)?;
    let Some((source, network)) = open(args, &progress)? else {
        complain!("stopped before the first ledger; nothing was written");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let report = match &args.sink {
        SinkChoice::Postgres => {
            let database = database::Database::open(&args.database)?;
            let mut sink = PostgresSink::open(args.bounds.widen(database.config(&network)))?;
            let report = drive(args, &network, source, &mut sink, &progress, "postgres");
            let mut report = report.map_err(|error| database.explain(error))?;
            let metrics = sink.metrics();
            report.sink_busy = Some(metrics.postgres_time());
            report.sink_bytes = Some(metrics.bytes_sent());
            drop(sink);
            database.close()?;
            report
        }
        SinkChoice::Jsonl(folder) => {
            drive(args, &network, source, &mut JsonlSink::open(folder, network.passphrase())?, &progress, "jsonl")?
        }
        SinkChoice::Null => drive(args, &network, source, &mut NullSink::default(), &progress, "null")?,
    };
    print(args, &network, &progress, &report).context("the rows are written; printing the summary")?;
    Ok(if report.outcome == Outcome::Stopped { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// First signal: finish the batch and stop. Second: stop at once.
fn stop_on_signals(progress: &Arc<Progress>) -> anyhow::Result<()> {
    let again = Arc::new(AtomicBool::new(false));
    let ends = signals::that_end_a_run();
    for signal in &ends {
        signal_hook::flag::register_conditional_shutdown(*signal, INTERRUPTED.into(), Arc::clone(&again))?;
        signal_hook::flag::register(*signal, Arc::clone(&again))?;
    }
    let progress = Arc::clone(progress);
    let mut signals = signal_hook::iterator::Signals::new(&ends)?;
    let watch = move || {
        for _ in signals.forever() {
            progress.stop.store(true, Relaxed);
            complain!("finishing the batch; once more to stop at once");
        }
    };
    Builder::new().name("starmill-signals".into()).spawn(watch).map_err(|error| no_thread("signals", &error))?;
    Ok(())
}

/// The error of a thread that the system refuses.
fn no_thread(name: &str, error: &IoError) -> Failure {
    Failure::new("thread", format!("the {name} thread cannot be started: {error}; raise the limit of processes, or end some"))
}

/// Opens the sources and finds the network on a thread of its own, since a stream may keep silent for as long as it likes; `None` when it was asked
/// to stop meanwhile. The thread is not waited for then.
fn open(args: &RunArgs, progress: &Progress) -> anyhow::Result<Option<(Source, Network)>> {
    let (sender, opened) = sync_channel(1);
    let (source, given) = (args.source.clone(), network::given(args.network.network.as_deref()));
    let own = own_folders(args);
    let work = move || {
        let source = Source::open(source, &own).and_then(|mut source| {
            let network = given.map_or_else(|| source.detect_network(), Ok)?;
            Ok((source, network))
        });
        // Nobody waits for it any more when it was asked to stop.
        let _ = sender.send(source);
    };
    Builder::new().name("starmill-open".into()).spawn(work).map_err(|error| no_thread("opening", &error))?;
    while !progress.stop.load(Relaxed) {
        match opened.recv_timeout(STOP_CHECK_INTERVAL) {
            Ok(source) => return source.map(Some),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("thread", "the opening thread ended without a word; please report this").into());
            }
        }
    }
    Ok(None)
}

/// Folders that starmill itself writes to: nothing there is a source.
fn own_folders(args: &RunArgs) -> Vec<PathBuf> {
    let mut own = vec![args.database.data_dir.clone()];
    if let SinkChoice::Jsonl(folder) = &args.sink {
        own.push(folder.clone());
    }
    own
}

/// The sources as the pipeline reads them, and what was read ahead to tell the network.
struct Source {
    args: SourceArgs,
    ahead: Vec<Input>,
    sources: Sources,
    ended: Ended,
}

/// What the sources say when they are at their end.
type Ended = Arc<Mutex<Option<starmill_sources::Outcome>>>;

impl Source {
    fn open(args: SourceArgs, own: &[PathBuf]) -> anyhow::Result<Self> {
        let options = Options { from: args.from, to: args.to, allow_gaps: args.allow_gaps, ..Options::default() };
        let sources = Sources::open_beside(&args.sources, own, options)?;
        Ok(Self { ahead: Vec::new(), sources, ended: Ended::default(), args })
    }

    /// The network of the first ledger that has a transaction.
    fn detect_network(&mut self) -> anyhow::Result<Network> {
        while self.ahead.len() < NETWORK_LEDGERS_MAX {
            let Some(frame) = self.sources.next() else { break };
            let input = input(frame?);
            let found = network::detect(&input.bytes);
            let found = found.with_context(|| format!("{}, item {}", input.path.display(), input.item))?;
            self.ahead.push(input);
            if let Some(network) = found {
                return Ok(network);
            }
        }
        if self.ahead.is_empty() {
            return Err(range_not_reached(&self.args, self.sources.outcome()).into());
        }
        Err(NetworkError::NoTransaction(self.ahead.len()).into())
    }

    fn into_inputs(self) -> impl Iterator<Item = Result<Input, SourceError>> + Send + 'static {
        let Self { ahead, mut sources, ended, .. } = self;
        let rest = std::iter::from_fn(move || {
            let next = sources.next();
            if next.is_none() {
                *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(sources.outcome());
            }
            next.map(|frame| frame.map(input))
        });
        ahead.into_iter().map(Ok).chain(rest)
    }
}

fn input(frame: starmill_sources::Frame) -> Input {
    Input { sequence: frame.head.sequence, bytes: frame.bytes, path: frame.origin.path, item: frame.origin.item }
}

/// Runs the pipeline into a sink and shows how it goes.
fn drive<K: Sink>(
    args: &RunArgs,
    network: &Network,
    source: Source,
    sink: &mut K,
    progress: &Arc<Progress>,
    name: &'static str,
) -> anyhow::Result<Report> {
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let engine: Engine<AllRows, K::Rows> = Engine::new(network.clone(), AllRows, threads).verifying(args.verify).counting(progress);
    let limits = args.bounds.limit(Limits::within(usize::from(args.memory_mib.get()) << 20));
    let read = source.sources.progress();
    let ended = Arc::clone(&source.ended);
    let start = Instant::now();
    let over = AtomicBool::new(false);
    let (outcome, elapsed) = std::thread::scope(|scope| {
        let watch = || progress::watch(progress, &|| (read.read_bytes(), read.total_bytes()), &|| over.load(Relaxed));
        let watcher = Builder::new().name("starmill-progress".into()).spawn_scoped(scope, watch);
        let watcher = watcher.map_err(|error| no_thread("progress", &error))?;
        let outcome = starmill_pipeline::run(source.into_inputs(), &engine, sink, limits, progress);
        let elapsed = start.elapsed();
        over.store(true, Relaxed);
        watcher.thread().unpark();
        Ok::<_, Failure>((outcome, elapsed))
    })?;
    let outcome = outcome.map_err(|error| explain(error, progress))?;
    let ended = ended.lock().unwrap_or_else(PoisonError::into_inner).take();
    if outcome == Outcome::Complete {
        check_range(&args.source, ended)?;
    }
    Ok(Report { outcome, elapsed, sink: name, sink_busy: None, sink_bytes: None })
}

/// A range that was asked for and is not all there is an error, after everything that is there was written.
fn check_range(args: &SourceArgs, ended: Option<starmill_sources::Outcome>) -> anyhow::Result<()> {
    match ended {
        Some(outcome) if !outcome.is_complete() => Err(range_not_reached(args, outcome).into()),
        _ => Ok(()),
    }
}

/// What of the range was not there.
fn range_not_reached(args: &SourceArgs, outcome: starmill_sources::Outcome) -> Failure {
    let (code, nothing) = ("range-not-reached", crate::files::nothing_in_range(args.from, args.to));
    if outcome.ledgers == 0 {
        return Failure { code, ..nothing };
    }
    let missing = [outcome.missing_at_start, outcome.missing_at_end].into_iter().flatten();
    let missing = missing.map(|(low, high)| if low == high { low.to_string() } else { format!("{low} to {high}") });
    let missing = missing.collect::<Vec<_>>().join(" and ");
    Failure::new(code, format!("ledgers {missing} were asked for and are in no source; what is there was written"))
}

/// Adds where the run stands, and for a ledger that cannot be processed the command that replays it alone.
fn explain<K: std::error::Error + Send + Sync + 'static>(error: RunError<SourceError, K>, progress: &Progress) -> anyhow::Error {
    let stand = match progress.last_committed.load(Relaxed) {
        0 => "nothing was written".to_owned(),
        last => format!("everything up to ledger {last} is written"),
    };
    match error {
        RunError::Source(error) => anyhow::Error::from(error).context(stand),
        RunError::Sink(error) => anyhow::Error::from(error).context(stand),
        RunError::Ledger(failed) => {
            let code = failed.error.code();
            let advice = if code == "network-mismatch" { String::new() } else { replay(&failed) };
            Failure::new(code, format!("{stand}: {failed}{advice}")).into()
        }
        RunError::Thread(_) => Failure::new("thread", error.to_string()).into(),
    }
}

/// The command that processes the ledger alone, as a shell takes it.
fn replay(failed: &FailedLedger) -> String {
    let (ledger, network) = (failed.error.ledger, shell_word(failed.network.passphrase()));
    let command = format!("starmill rows --network {network} --from {ledger} --to {ledger}");
    if failed.path.as_os_str() == starmill_sources::STDIN {
        return format!("; keep the stream in a file to replay it: {command} FILE");
    }
    match failed.path.to_str() {
        // What begins with a dash would be taken for a flag.
        Some(path) if path.starts_with('-') => format!("; replay it alone: {command} {}", shell_word(&format!("./{path}"))),
        Some(path) => format!("; replay it alone: {command} {}", shell_word(path)),
        None => format!("; to replay it, give the file a name in UTF-8: {command} FILE"),
    }
}

fn print(args: &RunArgs, network: &Network, progress: &Progress, report: &Report) -> anyhow::Result<()> {
    let (ledgers, transactions, rows) = (progress.ledgers.load(Relaxed), progress.transactions.load(Relaxed), progress.rows.load(Relaxed));
    let (skipped, batches) = (progress.skipped.load(Relaxed), progress.batches.load(Relaxed));
    let last = progress.last_committed.load(Relaxed);
    let stopped = report.outcome == Outcome::Stopped;
    let share = report.sink_busy.map(|busy| busy.as_secs_f64() / report.elapsed.as_secs_f64().max(1e-9));
    if args.json {
        let summary = json!({
            "outcome": if stopped { "stopped" } else { "complete" },
            "network": network.passphrase(),
            "sink": report.sink,
            "ledgers": ledgers,
            "ledgers_skipped": skipped,
            "transactions": transactions,
            "rows": rows,
            "batches": batches,
            "frame_bytes": progress.frame_bytes.load(Relaxed),
            "last_ledger": if last == 0 { None } else { Some(last) },
            "seconds": report.elapsed.as_secs_f64(),
            "ledgers_per_second": per_second(ledgers, report.elapsed),
            "transactions_per_second": per_second(transactions, report.elapsed),
            "rows_per_second": per_second(rows, report.elapsed),
            "sink_busy_seconds": report.sink_busy.map(|busy| busy.as_secs_f64()),
            "sink_busy_share": share,
            "sink_bytes": report.sink_bytes,
            "peak_resident_bytes": summary::peak_resident_bytes(),
        });
        say!("{}", serde_json::to_string(&summary)?)?;
        return Ok(());
    }
    let rate = |n: u64| format!("{:>14}  {:>10}/s", thousands(n), thousands(per_second(n, report.elapsed)));
    say!("{} on {} in {:.2} s", if stopped { "stopped" } else { "done" }, network.name(), report.elapsed.as_secs_f64())?;
    say!("  ledgers       {}", rate(ledgers))?;
    say!("  transactions  {}", rate(transactions))?;
    say!("  rows          {}", rate(rows))?;
    if skipped > 0 {
        say!("  there already {:>14}", thousands(skipped))?;
    }
    if last > 0 {
        say!("  last ledger   {last:>14}")?;
    }
    if let Some(share) = share {
        say!("  database      {:>13.0}%  of the time", share * 100.0)?;
    }
    if let Some(peak) = summary::peak_resident_bytes() {
        say!("  peak memory   {:>14}", summary::bytes(peak))?;
    }
    Ok(())
}
