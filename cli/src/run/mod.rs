//! `starmill run`: ledgers from sources into a sink, each exactly once; progress, Ctrl-C, summary.

mod report;
mod source;
mod stop;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::thread::Builder;
use std::time::Instant;

use anyhow::Context;
use starmill_ledger::sink::Sink;
use starmill_ledger::{Coverage, Network};
use starmill_pipeline::{Engine, Limits, Outcome, Progress};
use starmill_sinks::{JsonlSink, NullSink, PostgresSink};

use crate::admin::{Phase, State};
use crate::args::{RunArgs, SinkChoice};
use crate::database::Database;
use crate::failure::Failure;
use crate::output::complain;
use crate::processor::AllRows;
use crate::{admin, network, progress};
use report::Report;
use source::Source;
pub(crate) use stop::INTERRUPTED;
use stop::{no_thread, unless_stopped};

/// Runs.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let progress = Arc::<Progress>::default();
    let state = Arc::new(State::new(args.sink.name(), Arc::clone(&progress)));
    admin::start(&args.admin, &state)?;
    let run = Run { args, progress, state, finished: Arc::default() };
    stop::on_signals(&run.progress, &run.finished)?;
    let report = match &args.sink {
        SinkChoice::Postgres => run.write_to_postgres()?,
        SinkChoice::Jsonl(folder) => match run.open(None, None)? {
            Some((source, network)) => {
                let mut sink = JsonlSink::open(folder, network.passphrase())?;
                Some((run.drive(&network, source, &mut sink)?, network))
            }
            None => None,
        },
        SinkChoice::Null => match run.open(None, None)? {
            Some((source, network)) => Some((run.drive(&network, source, &mut NullSink::default())?, network)),
            None => None,
        },
    };
    let Some((report, network)) = report else { return Ok(ExitCode::from(INTERRUPTED)) };
    report::print(args, &network, &run.progress, &report).context("the rows are written; printing the summary")?;
    Ok(if report.outcome == Outcome::Stopped { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Puts the ledgers of the sources through the pipeline into a sink that `open` makes once the network is known; `None` when it was asked to stop before.
pub(crate) fn through<K: Sink>(
    args: &RunArgs,
    open: impl FnOnce(&Network) -> anyhow::Result<K>,
) -> anyhow::Result<Option<(Outcome, Arc<Progress>, K)>> {
    let progress = Arc::<Progress>::default();
    let state = Arc::new(State::new(args.sink.name(), Arc::clone(&progress)));
    let run = Run { args, progress, state, finished: Arc::default() };
    stop::on_signals(&run.progress, &run.finished)?;
    let Some((source, network)) = run.open(None, None)? else { return Ok(None) };
    let mut sink = open(&network)?;
    let report = run.drive(&network, source, &mut sink)?;
    Ok(Some((report.outcome, run.progress, sink)))
}

/// One run.
struct Run<'a> {
    args: &'a RunArgs,
    progress: Arc<Progress>,
    /// What the admin address answers from.
    state: Arc<State>,
    /// Set when nothing is left to commit.
    finished: Arc<AtomicBool>,
}

impl Run<'_> {
    /// The sources and the network; `None` when it was asked to stop meanwhile.
    fn open(&self, known: Option<Network>, after: Option<u32>) -> anyhow::Result<Option<(Source, Network)>> {
        let known = known.or_else(|| network::given(self.args.network.network.as_deref()));
        let opened = source::open(self.args, known, after, &self.progress)?;
        if opened.is_none() {
            complain!("stopped before the first ledger; nothing was written");
        }
        Ok(opened)
    }

    /// Into Postgres; `None` when it was asked to stop before it could begin.
    fn write_to_postgres(&self) -> anyhow::Result<Option<(Report, Network)>> {
        if !self.args.order.follow {
            // The sources first: where they are no good, nothing is made.
            let Some((source, network)) = self.open(None, None)? else { return Ok(None) };
            self.state.enter(Phase::Starting("opening the database"));
            let database = Database::open(&self.args.database)?;
            return self.write_to(database, network, |_, _| Ok(Some(source)));
        }
        // The database first: it says where to go on.
        self.state.enter(Phase::Starting("opening the database"));
        let database = Database::open(&self.args.database)?;
        let recorded = starmill_sinks::postgres::network(&database.url())?.map(Network::new);
        if let Some(network) = network::given(self.args.network.network.as_deref()).or(recorded) {
            return self.write_to(database, network, |network, coverage| {
                let last = coverage.ranges().last().map(|range| range.hi);
                Ok(self.open(Some(network), last)?.map(|(source, _)| source))
            });
        }
        let Some((source, network)) = self.open(None, None)? else {
            database.close()?;
            return Ok(None);
        };
        self.write_to(database, network, |_, _| Ok(Some(source)))
    }

    /// Into this database, from the source that is opened once it is known what is covered.
    fn write_to(
        &self,
        database: Database,
        network: Network,
        source: impl FnOnce(Network, &Coverage) -> anyhow::Result<Option<Source>>,
    ) -> anyhow::Result<Option<(Report, Network)>> {
        let config = self.args.bounds.widen(database.config(&network, &self.args.writer, &self.state));
        let opened = unless_stopped(&self.progress, "postgres", move || Ok(PostgresSink::open(config)?))?;
        let Some(mut sink) = opened else {
            complain!("stopped before this process was the writer; nothing was written");
            database.close()?;
            return Ok(None);
        };
        let _ = self.state.postgres.set(sink.metrics());
        let Some(source) = source(network.clone(), &sink.coverage())? else {
            drop(sink);
            database.close()?;
            return Ok(None);
        };
        let report = self.drive(&network, source, &mut sink);
        let mut report = report.map_err(|error| database.explain(error))?;
        let metrics = sink.metrics();
        report.sink_busy = Some(metrics.postgres_time());
        report.sink_bytes = Some(metrics.bytes_sent());
        report.partitions_dropped = metrics.partitions_dropped();
        if let Some(error) = sink.retention_error() {
            complain!("warning[{}]: old partitions are still there: {error}; the next run drops them", error.code());
        }
        drop(sink);
        database.close()?;
        Ok(Some((report, network)))
    }

    /// Runs the pipeline into a sink and shows how it goes.
    fn drive<K: Sink>(&self, network: &Network, source: Source, sink: &mut K) -> anyhow::Result<Report> {
        let Self { args, progress, state, finished } = self;
        let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let engine: Engine<AllRows, K::Rows> = Engine::new(network.clone(), AllRows, threads).verifying(args.verify).counting(progress);
        let limits = args.bounds.limit(Limits::within(usize::from(args.memory_mib.get()) << 20));
        let read = source.sources.progress();
        let ended = Arc::clone(&source.ended);
        let _ = state.source.set(read.clone());
        state.enter(Phase::Running);
        let start = Instant::now();
        let over = AtomicBool::new(false);
        let (outcome, elapsed) = std::thread::scope(|scope| {
            let watch = || progress::watch(progress, &|| (read.read_bytes(), read.total_bytes()), &|| over.load(Relaxed));
            let watcher = Builder::new().name("starmill-progress".into()).spawn_scoped(scope, watch);
            let watcher = watcher.map_err(|error| no_thread("progress", &error))?;
            let outcome = starmill_pipeline::run(source.into_inputs(), &engine, sink, limits, progress);
            finished.store(true, Relaxed);
            state.enter(Phase::Stopping);
            let elapsed = start.elapsed();
            over.store(true, Relaxed);
            watcher.thread().unpark();
            Ok::<_, Failure>((outcome, elapsed))
        })?;
        let outcome = outcome.map_err(|error| report::explain(error, progress))?;
        let ended = ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        if outcome == Outcome::Complete {
            source::check_range(&args.source, ended)?;
        }
        Ok(Report { outcome, elapsed, sink: state.sink, sink_busy: None, sink_bytes: None, partitions_dropped: 0 })
    }
}
