//! `/statusz`: a run as one JSON object. What is not known yet is null.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};
use starmill_pipeline::{QueueGauge, Stage};

use super::State;

/// Shares of ledgers of which the time from close to commit is told, and their names.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

/// The object.
pub(crate) fn statusz(state: &State) -> Value {
    let progress = &state.progress;
    let known = |sequence: u32| (sequence > 0).then_some(sequence);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "phase": state.phase().name(),
        "not_ready": state.not_ready(),
        "uptime_seconds": state.begin.elapsed().as_secs(),
        "network": state.network.get(),
        "sink": state.sink,
        "ledgers": progress.ledgers.load(Relaxed),
        "ledgers_skipped": progress.skipped.load(Relaxed),
        "transactions": progress.transactions.load(Relaxed),
        "rows": progress.rows.load(Relaxed),
        "batches": progress.batches.load(Relaxed),
        "last_ledger": known(progress.last_committed.load(Relaxed)),
        "last_ledger_read": known(progress.last_read.load(Relaxed)),
        "lag_seconds": state.lag_seconds(),
        "lag_ledgers": state.lag_ledgers(),
        "close_to_commit_milliseconds": latency(state),
        "source": state.source.get().map(|source| json!({ "read_bytes": source.read_bytes(), "total_bytes": source.total_bytes() })),
        "memory": progress.memory().map(|memory| json!({
            "budget_bytes": memory.bytes_max(), "in_flight_bytes": memory.used(), "peak_bytes": memory.peak(),
        })),
        "queues": { "frames": queue(&progress.frames_waiting), "rows": queue(&progress.rows_waiting) },
        "stages": Stage::ALL.map(|stage| {
            let counters = progress.stage(stage);
            json!({
                "name": stage.name(),
                "received": counters.received.load(Relaxed),
                "emitted": counters.emitted.load(Relaxed),
                "errors": counters.errors.load(Relaxed),
                "busy_seconds": seconds(counters.busy_nanos.load(Relaxed)),
            })
        }),
        "database": state.postgres.get().map(|postgres| {
            let covered = postgres.covered();
            json!({
                "commits": postgres.commits(),
                "retries": postgres.retries(),
                "reconnects": postgres.reconnects(),
                "busy_seconds": postgres.postgres_time().as_secs_f64(),
                "coverage": {
                    "ledgers": covered.ledgers,
                    "lowest": known(covered.lowest),
                    "highest": known(covered.highest),
                    "gaps": covered.gaps,
                },
                "tables": postgres.tables().map(|table| json!({
                    "name": table.name, "rows_written": table.rows, "bytes_written": table.bytes,
                })).collect::<Vec<_>>(),
            })
        }),
    })
}

fn latency(state: &State) -> Option<Value> {
    let (values, count) = state.progress.close_to_commit().quantiles(QUANTILES.map(|(_, share)| share));
    let named = QUANTILES.iter().zip(values).map(|((name, _), value)| ((*name).to_owned(), json!(value)));
    (count > 0).then(|| Value::Object(named.collect()))
}

fn queue(gauge: &QueueGauge) -> Value {
    json!({ "ledgers": gauge.items.load(Relaxed), "bytes": gauge.bytes.load(Relaxed) })
}

/// Nanoseconds as seconds.
#[allow(clippy::cast_precision_loss)] // A thousand years of nanoseconds lose microseconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
