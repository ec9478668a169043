//! The one list of metrics, ascending by name, and how each is read. What is not known yet has no sample.

use std::sync::atomic::Ordering::Relaxed;

use starmill_pipeline::Stage;
use starmill_sinks::postgres::{Covered, PostgresMetrics, TableTotals};

use super::process;
use super::{Kind, Metric, Sample, Value};
use crate::admin::{Phase, State, seconds};
use Kind::{Counter, Gauge, Histogram};

/// Bounds of the histogram of close-to-commit, in milliseconds. Ledgers close every five seconds, by a clock of whole seconds.
const LATENCY_BOUNDS: [u64; 16] =
    [50, 100, 250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 7_500, 10_000, 20_000, 60_000, 600_000, 3_600_000];

const fn metric(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&State) -> Vec<Sample>,
) -> Metric {
    Metric { name, kind, unit, labels, help, read }
}

/// All metrics.
#[rustfmt::skip] // One line a metric.
pub(crate) static LIST: &[Metric] = &[
    metric("process_cpu_seconds_total", Counter, "seconds", &[], "Processor time, user and system", |_| real(process::cpu_seconds())),
    metric("process_open_fds", Gauge, "files", &[], "Open files", |_| whole(process::open_files())),
    metric("process_resident_memory_bytes", Gauge, "bytes", &[], "Memory that is resident", |_| whole(process::resident_bytes())),
    metric("process_start_time_seconds", Gauge, "seconds", &[], "When the process started, Unix time", |_| real(process::start_seconds())),
    metric("starmill_build_info", Gauge, "-", &["version"], "1, with the version that runs", |_| vec![labelled(env!("CARGO_PKG_VERSION"), Value::Whole(1))]),
    metric("starmill_close_to_commit_seconds", Histogram, "seconds", &[], "From the close of a ledger, by its own clock in whole seconds, to its commit", close_to_commit),
    metric("starmill_committed_batches_total", Counter, "batches", &[], "Batches committed", |s| one(s.progress.batches.load(Relaxed))),
    metric("starmill_committed_bytes_total", Counter, "bytes", &[], "Bytes of rows committed, in the form of the sink", |s| one(s.progress.row_bytes.load(Relaxed))),
    metric("starmill_committed_ledgers_total", Counter, "ledgers", &[], "Ledgers committed", |s| one(s.progress.ledgers.load(Relaxed))),
    metric("starmill_committed_rows_total", Counter, "rows", &[], "Rows committed", |s| one(s.progress.rows.load(Relaxed))),
    metric("starmill_committed_transactions_total", Counter, "transactions", &[], "Transactions committed", |s| one(s.progress.transactions.load(Relaxed))),
    metric("starmill_coverage_gaps", Gauge, "ranges", &[], "Holes between covered ledgers", |s| covered(s, |c| c.gaps as u64)),
    metric("starmill_coverage_highest_ledger", Gauge, "ledger", &[], "Highest covered ledger; 0 while nothing is covered", |s| covered(s, |c| c.highest.into())),
    metric("starmill_coverage_ledgers", Gauge, "ledgers", &[], "Covered ledgers", |s| covered(s, |c| c.ledgers)),
    metric("starmill_coverage_lowest_ledger", Gauge, "ledger", &[], "Lowest covered ledger; 0 while nothing is covered", |s| covered(s, |c| c.lowest.into())),
    metric("starmill_database_busy_seconds_total", Counter, "seconds", &[], "Time spent in sending to Postgres and waiting for it", |s| database(s, |p| Value::Real(p.postgres_time().as_secs_f64()))),
    metric("starmill_database_partitions_dropped_total", Counter, "partitions", &[], "Partitions that retention has dropped", |s| database(s, |p| Value::Whole(p.partitions_dropped()))),
    metric("starmill_database_prepare_seconds_total", Counter, "seconds", &[], "Time of commits spent in sorting rows and netting current state", |s| database(s, |p| Value::Real(p.sort_time().as_secs_f64()))),
    metric("starmill_database_reconnects_total", Counter, "connections", &[], "Connections made anew after one was lost", |s| database(s, |p| Value::Whole(p.reconnects()))),
    metric("starmill_database_retries_total", Counter, "attempts", &[], "Attempts at a batch after its first", |s| database(s, |p| Value::Whole(p.retries()))),
    metric("starmill_database_sac_balances_dropped_total", Counter, "rows", &[], "Balances left out since their contract is not known to be an asset contract", |s| database(s, |p| Value::Whole(p.sac_balances_dropped()))),
    metric("starmill_lag_ledgers", Gauge, "ledgers", &[], "Ledgers that the source has given and that are not committed; absent before the first commit", |s| whole(s.lag_ledgers().map(u64::from))),
    metric("starmill_lag_seconds", Gauge, "seconds", &[], "From the close of the last committed ledger to now; absent before the first commit", |s| whole(s.lag_seconds().map(i64::unsigned_abs))),
    metric("starmill_last_committed_ledger", Gauge, "ledger", &[], "Last ledger committed; 0 before the first", |s| one(s.progress.last_committed.load(Relaxed).into())),
    metric("starmill_last_read_ledger", Gauge, "ledger", &[], "Newest ledger that the source has given; 0 before the first", |s| one(s.progress.last_read.load(Relaxed).into())),
    metric("starmill_memory_budget_bytes", Gauge, "bytes", &[], "Memory that ledgers and rows may take between the source and the commit", |s| whole(s.progress.memory().map(|m| m.bytes_max() as u64))),
    metric("starmill_memory_in_flight_bytes", Gauge, "bytes", &[], "What they take now", |s| whole(s.progress.memory().map(|m| m.used() as u64))),
    metric("starmill_memory_in_flight_peak_bytes", Gauge, "bytes", &[], "The most that they have taken", |s| whole(s.progress.memory().map(|m| m.peak() as u64))),
    metric("starmill_phase", Gauge, "-", &["phase"], "1 for the phase that the run is in: starting, standby, running, stopping", phase),
    metric("starmill_processed_bytes_total", Counter, "bytes", &[], "Bytes of ledgers made into rows", |s| one(s.progress.frame_bytes.load(Relaxed))),
    metric("starmill_queue_bytes", Gauge, "bytes", &["queue"], "What waits: frames that are read, rows that are made", |s| queues(s, |q| q.bytes.load(Relaxed))),
    metric("starmill_queue_ledgers", Gauge, "ledgers", &["queue"], "What waits: frames that are read, rows that are made", |s| queues(s, |q| q.items.load(Relaxed))),
    metric("starmill_skipped_ledgers_total", Counter, "ledgers", &[], "Ledgers passed over since the sink has them", |s| one(s.progress.skipped.load(Relaxed))),
    metric("starmill_source_read_bytes_total", Counter, "bytes", &[], "Bytes read from the sources, packed as they are", |s| whole(s.source.get().map(starmill_sources::Progress::read_bytes))),
    metric("starmill_source_size_bytes", Gauge, "bytes", &[], "Bytes of all sources; absent where one is a stream", |s| whole(s.source.get().and_then(starmill_sources::Progress::total_bytes))),
    metric("starmill_stage_busy_seconds_total", Counter, "seconds", &["stage"], "Time at work, summed over threads", |s| stages(s, |c| Value::Real(seconds(c.busy_nanos.load(Relaxed))))),
    metric("starmill_stage_emitted_ledgers_total", Counter, "ledgers", &["stage"], "Ledgers that went out", |s| stages(s, |c| Value::Whole(c.emitted.load(Relaxed)))),
    metric("starmill_stage_errors_total", Counter, "errors", &["stage"], "Failures", |s| stages(s, |c| Value::Whole(c.errors.load(Relaxed)))),
    metric("starmill_stage_received_ledgers_total", Counter, "ledgers", &["stage"], "Ledgers that came in", |s| stages(s, |c| Value::Whole(c.received.load(Relaxed)))),
    metric("starmill_table_written_bytes_total", Counter, "bytes", &["table"], "Bytes of rows written, in the binary format of Postgres", |s| tables(s, |t| t.bytes)),
    metric("starmill_table_written_rows_total", Counter, "rows", &["table"], "Rows written; of current state those that are new or changed", |s| tables(s, |t| t.rows)),
];

fn labelled(label: &str, value: Value) -> Sample {
    Sample { labels: vec![label.to_owned()], value }
}

fn one(value: u64) -> Vec<Sample> {
    whole(Some(value))
}

fn whole(value: Option<u64>) -> Vec<Sample> {
    value.map(|value| Sample { labels: Vec::new(), value: Value::Whole(value) }).into_iter().collect()
}

fn real(value: Option<f64>) -> Vec<Sample> {
    value.map(|value| Sample { labels: Vec::new(), value: Value::Real(value) }).into_iter().collect()
}

fn database(state: &State, read: fn(&PostgresMetrics) -> Value) -> Vec<Sample> {
    state.postgres.get().map(|postgres| Sample { labels: Vec::new(), value: read(postgres) }).into_iter().collect()
}

fn covered(state: &State, read: fn(&Covered) -> u64) -> Vec<Sample> {
    whole(state.postgres.get().map(|postgres| read(&postgres.covered())))
}

fn tables(state: &State, read: fn(&TableTotals) -> u64) -> Vec<Sample> {
    let tables = state.postgres.get().into_iter().flat_map(|postgres| postgres.tables());
    tables.map(|table| labelled(table.name, Value::Whole(read(&table)))).collect()
}

fn stages(state: &State, read: fn(&starmill_pipeline::StageCounters) -> Value) -> Vec<Sample> {
    Stage::ALL.iter().map(|stage| labelled(stage.name(), read(state.progress.stage(*stage)))).collect()
}

fn queues(state: &State, read: fn(&starmill_pipeline::QueueGauge) -> usize) -> Vec<Sample> {
    let queues = [("frames", &state.progress.frames_waiting), ("rows", &state.progress.rows_waiting)];
    queues.iter().map(|(name, queue)| labelled(name, Value::Whole(read(queue) as u64))).collect()
}

fn phase(state: &State) -> Vec<Sample> {
    let now = state.phase().name();
    Phase::NAMES.iter().map(|name| labelled(name, Value::Whole((*name == now).into()))).collect()
}

#[allow(clippy::cast_precision_loss)] // Bounds are small.
fn close_to_commit(state: &State) -> Vec<Sample> {
    let (counts, count, sum) = state.progress.close_to_commit().cumulative(&LATENCY_BOUNDS);
    let mut buckets = Vec::with_capacity(LATENCY_BOUNDS.len());
    let mut below = 0;
    for (bound, at_most) in LATENCY_BOUNDS.iter().zip(counts) {
        // The library adds them up, and adds what is above the last bound.
        buckets.push((*bound as f64 / 1e3, at_most - below));
        below = at_most;
    }
    vec![Sample { labels: Vec::new(), value: Value::Histogram { sum: sum / 1e3, count, buckets } }]
}
