//! Retention: partitions that are wholly older than a close time are dropped, and coverage is lowered with them, in one transaction.
//!
//! Promises: what is covered afterwards has all its rows; the highest covered ledger stays covered, whatever is asked, or old ledgers would move current
//! state forward again; current state is left alone. The space returns to the system at once. Who reads the tables for long is not held up: the
//! transaction gives up after a moment's wait for their locks (`interrupted`), and the next one tries again.

use std::fmt::Write as _;

use tokio_postgres::Client;

use super::config::PostgresConfig;
use super::error::During as _;
use super::session::Session;
use super::steps::{Step, at};
use super::{HISTORY_TABLES, PostgresError, cover, writer};

/// How long to wait for the locks on the tables: while we wait, whoever comes later waits too.
const LOCK_WAIT: &str = "SET LOCAL lock_timeout TO '2s'; ";

/// What retention has dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Partitions (or chunks) dropped, of all tables of history.
    pub partitions: usize,
    /// The last ledger of which rows were dropped.
    pub ledger_to: Option<u32>,
}

/// Drops what closed before the partition of `before` (Unix seconds). After an error the transaction is open.
pub(crate) async fn retain(session: &mut Session, config: &PostgresConfig, before: i64) -> Result<Retained, PostgresError> {
    let dropping = || "dropping old partitions".to_owned();
    // Other writers make partitions too.
    session.reload_partitions().await?;
    let Some(newest) = newest(&session.client).await? else { return Ok(Retained::default()) };
    let cutoff = session.partitions.cutoff(before.min(newest));
    if session.partitions.declarative() && session.partitions.older(cutoff).is_empty() {
        return Ok(Retained::default());
    }
    writer::begin(&session.client, config.role, session.epoch, LOCK_WAIT).await?;
    // The tables before coverage, as commits do. Whoever writes holds them to its COMMIT: what it wrote is covered now, or pending.
    let locks: String = HISTORY_TABLES.map(|table| format!("LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE;")).concat();
    session.client.batch_execute(&locks).await.during(dropping)?;
    session.client.batch_execute(cover::LOCK).await.during(dropping)?;
    session.reload_partitions().await?;
    let old = session.partitions.older(cutoff);
    let cutoff = if session.partitions.declarative() { Some(cutoff) } else { chunks_end(&session.client, cutoff).await? };
    let last = match cutoff {
        Some(cutoff) if !others_below(&session.client, cutoff).await? => droppable_to(&session.client, cutoff).await?,
        _ => None,
    };
    let (Some(cutoff), Some(last)) = (cutoff, last) else {
        session.client.batch_execute("ROLLBACK").await.during(dropping)?;
        return Ok(Retained::default());
    };
    let mut partitions = old.len();
    if session.partitions.declarative() {
        session.client.batch_execute(&format!("DROP TABLE {}", old.join(", "))).await.during(dropping)?;
    } else {
        partitions = drop_chunks(&session.client, cutoff).await?;
    }
    let mut sql = String::new();
    // Numbers only; writing to a String cannot fail.
    let _ = write!(sql, "DELETE FROM ledger_coverage WHERE hi <= {last}; UPDATE ledger_coverage SET lo = {last} + 1 WHERE lo <= {last};");
    sql.push_str(cover::CURSORS);
    session.client.batch_execute(&sql).await.during(|| "lowering ledger_coverage".to_owned())?;
    at(config, Step::Dropped)?;
    session.client.batch_execute("COMMIT").await.during(dropping)?;
    at(config, Step::Retained)?;
    session.partitions.dropped(&old);
    Ok(Retained { partitions, ledger_to: Some(last) })
}

/// When the newest transaction closed: its partition stays, whatever is asked.
async fn newest(client: &Client) -> Result<Option<i64>, PostgresError> {
    let asking = || "looking for the newest transaction".to_owned();
    let sql = "SELECT extract(epoch FROM ledger_created_at)::int8 FROM transactions ORDER BY to_id DESC LIMIT 1";
    let row = client.query_opt(sql, &[]).await.during(asking)?;
    row.map(|row| row.try_get(0).during(asking)).transpose()
}

/// The last ledger with rows before the cutoff, if it is below the highest covered one. Every ledger with rows has transactions, and ledgers close
/// in their order. Ledgers without rows above it stay covered: nothing of them is gone.
async fn droppable_to(client: &Client, cutoff: i64) -> Result<Option<u32>, PostgresError> {
    let asking = || "looking for the last old ledger".to_owned();
    let sql = format!(
        "SELECT (SELECT max(to_id) >> 32 FROM transactions WHERE ledger_created_at < to_timestamp({cutoff})), \
         (SELECT max(hi) FROM ledger_coverage)"
    );
    let row = client.query_one(&sql, &[]).await.during(asking)?;
    let (last, top): (Option<i64>, Option<i64>) = (row.try_get(0).during(asking)?, row.try_get(1).during(asking)?);
    Ok(last.filter(|last| top.is_some_and(|top| *last < top)).and_then(|last| u32::try_from(last).ok()))
}

/// Whether ledgers older than the cutoff are being written ahead of their commit.
async fn others_below(client: &Client, cutoff: i64) -> Result<bool, PostgresError> {
    let asking = || "reading starmill_pending".to_owned();
    let of = |table| format!("EXISTS (SELECT 1 FROM {table} WHERE closed_from < to_timestamp({cutoff}))");
    let sql = format!("SELECT {} OR {}", of("starmill_pending"), of("starmill_bulk_ledgers"));
    client.query_one(&sql, &[]).await.and_then(|row| row.try_get(0)).during(asking)
}

/// Where the last whole chunk below the cutoff ends: chunks need not begin where partitions would.
async fn chunks_end(client: &Client, cutoff: i64) -> Result<Option<i64>, PostgresError> {
    let sql = format!(
        "SELECT extract(epoch FROM max(range_end))::int8 FROM timescaledb_information.chunks \
         WHERE hypertable_schema = current_schema() AND hypertable_name = 'transactions' AND range_end <= to_timestamp({cutoff})"
    );
    client.query_one(&sql, &[]).await.and_then(|row| row.try_get(0)).during(|| "reading the chunks".to_owned())
}

async fn drop_chunks(client: &Client, cutoff: i64) -> Result<usize, PostgresError> {
    let mut dropped = 0;
    for table in HISTORY_TABLES {
        let sql = format!("SELECT drop_chunks('{table}', older_than => to_timestamp({cutoff}))");
        dropped += client.query(&sql, &[]).await.during(|| format!("dropping chunks of {table}"))?.len();
    }
    Ok(dropped)
}
