//! `starmill status`: what the database holds.

use serde_json::json;
use starmill_sinks::postgres::{PostgresStatus, RowCounts, status as ask};

use crate::args::StatusArgs;
use crate::database::Database;
use crate::output::say;
use crate::summary::{bytes, thousands};

/// Gaps and ranges shown before the rest is only counted.
const RANGES_SHOWN: usize = 10;

/// Prints the status.
pub(crate) fn status(args: &StatusArgs) -> anyhow::Result<()> {
    let database = Database::read(&args.database)?;
    let status = ask(&database.url(), RowCounts::Exact)?;
    database.close()?;
    if args.json {
        say!("{}", serde_json::to_string(&as_json(&status))?)?;
    } else {
        show(&status)?;
    }
    Ok(())
}

fn as_json(status: &PostgresStatus) -> serde_json::Value {
    let ranges = |list: &[starmill_ledger::coverage::LedgerRange]| list.iter().map(|r| json!([r.lo, r.hi])).collect::<Vec<_>>();
    json!({
        "network": status.network,
        "server_version": status.server_version,
        "writer_pid": status.writer_pid,
        "ledgers": status.coverage.ledgers(),
        "coverage": ranges(status.coverage.ranges()),
        "gaps": ranges(&status.coverage.gaps()),
        "database_bytes": status.database_bytes,
        "partition_days": status.partition_days,
        "tables": status.tables.iter().map(|table| json!({
            "name": table.name, "rows": table.rows, "bytes": table.bytes, "partitions": table.partitions,
        })).collect::<Vec<_>>(),
    })
}

fn show(status: &PostgresStatus) -> std::io::Result<()> {
    say!("{}", status.network)?;
    say!("  ledgers      {:>14}", thousands(status.coverage.ledgers()))?;
    let ranges = status.coverage.ranges();
    for range in ranges.iter().take(RANGES_SHOWN) {
        say!("    {range}")?;
    }
    if ranges.len() > RANGES_SHOWN {
        say!("    and {} more ranges; all with --json", ranges.len() - RANGES_SHOWN)?;
    }
    let gaps = status.coverage.gaps();
    let missing: u64 = gaps.iter().map(|gap| u64::from(gap.hi - gap.lo) + 1).sum();
    say!("  gaps         {:>14}   {} ledgers missing between the first and the last", gaps.len(), thousands(missing))?;
    say!("  on disk      {:>14}   Postgres {}", bytes(status.database_bytes.unsigned_abs()), status.server_version)?;
    match status.writer_pid {
        Some(_) => say!("  a starmill is writing")?,
        None => say!("  no starmill is writing")?,
    }
    say!("  {:<24} {:>14} {:>12} {:>11}", "table", "rows", "on disk", "partitions")?;
    for table in status.tables.iter().filter(|table| table.rows != 0) {
        let size = bytes(table.bytes.unsigned_abs());
        say!("  {:<24} {:>14} {:>12} {:>11}", table.name, thousands(table.rows.unsigned_abs()), size, table.partitions)?;
    }
    let empty = status.tables.iter().filter(|table| table.rows == 0).count();
    if empty > 0 {
        say!("  {empty} tables are empty")?;
    }
    Ok(())
}
