//! What people and programs are told of a run: its summary, or why it ended and how to see that ledger alone.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::json;
use starmill_ledger::Network;
use starmill_pipeline::{FailedLedger, Outcome, Progress, RunError};
use starmill_sources::SourceError;

use super::stop::stand;
use crate::args::RunArgs;
use crate::failure::{Failure, shell_word};
use crate::output::say;
use crate::summary::{self, per_second, thousands};

/// What a run did, beside the counters of the pipeline.
pub(super) struct Report {
    pub(super) outcome: Outcome,
    pub(super) elapsed: Duration,
    pub(super) sink: &'static str,
    pub(super) sink_busy: Option<Duration>,
    pub(super) sink_bytes: Option<u64>,
    /// Partitions dropped because they were too old.
    pub(super) partitions_dropped: u64,
}

/// Adds where the run stands, and for a ledger that cannot be processed the command that replays it alone.
pub(super) fn explain<K: std::error::Error + Send + Sync + 'static>(error: RunError<SourceError, K>, progress: &Progress) -> anyhow::Error {
    let stand = stand(progress);
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

pub(super) fn print(args: &RunArgs, network: &Network, progress: &Progress, report: &Report) -> anyhow::Result<()> {
    let (ledgers, transactions, rows) = (progress.ledgers.load(Relaxed), progress.transactions.load(Relaxed), progress.rows.load(Relaxed));
    let (skipped, batches) = (progress.skipped.load(Relaxed), progress.batches.load(Relaxed));
    let last = progress.last_committed.load(Relaxed);
    let stopped = report.outcome == Outcome::Stopped;
    let share = report.sink_busy.map(|busy| busy.as_secs_f64() / report.elapsed.as_secs_f64().max(1e-9));
    let ([half, most, longest], counted) = progress.read_to_commit().quantiles([0.5, 0.99, 1.0]);
    if args.json {
        let latency = json!({ "p50": half, "p99": most, "max": longest });
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
            "read_to_commit_milliseconds": if counted > 0 { latency } else { serde_json::Value::Null },
            "partitions_dropped": report.partitions_dropped,
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
    if args.source.follow && counted > 0 {
        say!("  to commit     {half:>11} ms  after reading, half of the ledgers; {most} ms or less, 99 of 100")?;
    }
    if let Some(share) = share {
        say!("  database      {:>13.0}%  of the time", share * 100.0)?;
    }
    if report.partitions_dropped > 0 {
        say!("  dropped       {:>14}  partitions older than kept", thousands(report.partitions_dropped))?;
    }
    if let Some(peak) = summary::peak_resident_bytes() {
        say!("  peak memory   {:>14}", summary::bytes(peak))?;
    }
    Ok(())
}
