//! `starmill run`: ledgers from sources into a sink, each exactly once; progress, Ctrl-C, summary.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use starmill_ledger::Network;
use starmill_ledger::sink::Sink;
use starmill_pipeline::{Engine, Input, Limits, Outcome, Progress, RunError};
use starmill_sinks::{JsonlSink, NullSink, PostgresSink};
use starmill_sources::{Options, SourceError, Sources};

use crate::args::{RunArgs, SinkChoice, SourceArgs};
use crate::failure::Failure;
use crate::network::{self, NetworkError};
use crate::output::{complain, say};
use crate::processor::AllRows;
use crate::summary::{self, per_second, thousands};
use crate::{database, progress};

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

/// Runs.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let progress = Arc::new(Progress::default());
    stop_on_signals(&progress)?;
    let mut source = Source::open(&args.source)?;
    let network = match network::given(args.network.network.as_deref()) {
        Some(network) => network,
        None => source.detect_network()?,
    };
    let report = match &args.sink {
        SinkChoice::Postgres => {
            let database = database::Database::open(&args.database)?;
            let mut sink = PostgresSink::open(database.config(&network))?;
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
    let ends = signal_hook::consts::TERM_SIGNALS;
    for signal in ends {
        signal_hook::flag::register_conditional_shutdown(*signal, INTERRUPTED.into(), Arc::clone(&again))?;
        signal_hook::flag::register(*signal, Arc::clone(&again))?;
    }
    let progress = Arc::clone(progress);
    let mut signals = signal_hook::iterator::Signals::new(ends)?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            progress.stop.store(true, Relaxed);
            complain!("finishing the batch; once more to stop at once");
        }
    });
    Ok(())
}

/// The sources as the pipeline reads them, and what was read ahead to tell the network.
struct Source {
    ahead: Vec<Input>,
    sources: Sources,
    ended: Ended,
}

/// What the sources say when they are at their end.
type Ended = Arc<Mutex<Option<starmill_sources::Outcome>>>;

impl Source {
    fn open(args: &SourceArgs) -> anyhow::Result<Self> {
        let options = Options { from: args.from, to: args.to, allow_gaps: args.allow_gaps, ..Options::default() };
        Ok(Self { ahead: Vec::new(), sources: Sources::open(&args.sources, options)?, ended: Ended::default() })
    }

    /// The network of the first ledger that has a transaction.
    fn detect_network(&mut self) -> anyhow::Result<Network> {
        while self.ahead.len() < NETWORK_LEDGERS_MAX {
            let Some(frame) = self.sources.next() else { break };
            let input = input(frame?);
            let found = network::detect(&input.bytes);
            let place = || format!("{}, item {}", input.path.display(), input.item);
            let found = found.map_err(|error| anyhow::Error::from(error).context(place()))?;
            self.ahead.push(input);
            if let Some(network) = found {
                return Ok(network);
            }
        }
        if self.ahead.is_empty() {
            return Err(crate::files::nothing_in_range(None, None).into());
        }
        Err(NetworkError::NoTransaction(self.ahead.len()).into())
    }

    fn into_inputs(self) -> impl Iterator<Item = Result<Input, SourceError>> + Send + 'static {
        let Self { ahead, mut sources, ended } = self;
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
    let engine: Engine<AllRows, K::Rows> = Engine::new(network.clone(), AllRows, threads).counting(progress);
    let read = source.sources.progress();
    let ended = Arc::clone(&source.ended);
    let start = Instant::now();
    let over = AtomicBool::new(false);
    let (outcome, elapsed) = std::thread::scope(|scope| {
        let watch = || progress::watch(progress, &|| (read.read_bytes(), read.total_bytes()), &|| over.load(Relaxed));
        let watcher = scope.spawn(watch);
        let outcome = starmill_pipeline::run(source.into_inputs(), &engine, sink, Limits::default(), progress);
        let elapsed = start.elapsed();
        over.store(true, Relaxed);
        watcher.thread().unpark();
        (outcome, elapsed)
    });
    let outcome = outcome.map_err(|error| explain(error, progress))?;
    let ended = ended.lock().unwrap_or_else(PoisonError::into_inner).take();
    if outcome == Outcome::Complete {
        check_range(ended)?;
    }
    Ok(Report { outcome, elapsed, sink: name, sink_busy: None, sink_bytes: None })
}

/// A range that was asked for and is not all there is an error, after everything that is there was written.
fn check_range(ended: Option<starmill_sources::Outcome>) -> anyhow::Result<()> {
    let Some(outcome) = ended else { return Ok(()) };
    if let Some((low, high)) = outcome.missing_at_start.or(outcome.missing_at_end) {
        let message = format!("ledgers {low} to {high} were asked for and are in no source; what is there was written");
        return Err(Failure::new("range-not-reached", message).into());
    }
    Ok(())
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
            let ledger = failed.error.ledger;
            let (network, path) = (failed.network.passphrase(), failed.path.display());
            let code = failed.error.code();
            let advice = if code == "network-mismatch" {
                None
            } else if failed.path.as_os_str() == starmill_sources::STDIN {
                Some(format!(
                    "keep the stream in a file to replay it: starmill rows --network '{network}' --from {ledger} --to {ledger} FILE"
                ))
            } else {
                Some(format!("replay it alone: starmill rows --network '{network}' --from {ledger} --to {ledger} '{path}'"))
            };
            Failure { code, message: format!("{stand}: {failed}"), advice }.into()
        }
        RunError::Thread(_) => Failure::new("thread", error.to_string()).into(),
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
