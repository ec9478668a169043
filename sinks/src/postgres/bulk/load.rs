//! A batch of one partition into the tables that nobody sees, in one transaction with the record of its ledgers.

use std::fmt::Write as _;

use starmill_ledger::rows::LedgerRow;
use tokio_postgres::Client;

use super::super::commit::{history, span};
use super::super::config::PostgresConfig;
use super::super::copy::TABLES;
use super::super::error::During as _;
use super::super::partitions::Partition;
use super::super::session::Session;
use super::super::state::Plan;
use super::super::steps::{Step, at};
use super::super::{CopyRows, HISTORY_TABLES, PostgresError, cover, send, writer};
use super::heap;

/// Writes the history of the ledgers; `new` makes the tables. After an error the transaction is open.
pub(super) async fn load(
    session: &mut Session,
    config: &PostgresConfig,
    (partition, new): (Partition, bool),
    ledgers: &[LedgerRow],
    rows: &mut CopyRows,
    plan: &mut Plan,
) -> Result<(), PostgresError> {
    let last = ledgers.last().map_or(0, |ledger| ledger.sequence);
    writer::begin(&session.client, config.role, session.epoch, "").await?;
    let around = cover::look(&session.client, config.role, ledgers, false).await?;
    session.refresh(around.top, last).await?;
    plan.make(&session.known, &session.network, &rows.state, around.top, last);
    if plan.forward > 0 {
        return Err(PostgresError::TopMoved { planned: last, found: around.top });
    }
    if new {
        make(&session.client, partition, session.epoch).await?;
    }
    for (table, encoded) in history(rows, plan).filter(|(_, encoded)| encoded.rows > 0) {
        let table = &TABLES[table];
        let preparing = || format!("preparing COPY {} without indexes", table.name);
        let statement = session.client.prepare(&table.copy_into(&heap(partition, table.name))).await.during(preparing)?;
        let bytes = send::lend(&mut encoded.bytes);
        let stored = send::copy(config, &session.client, (table.name, &statement), &bytes, ledgers).await;
        encoded.bytes = send::take_back(bytes);
        let stored = stored?;
        if stored != encoded.rows {
            return Err(PostgresError::RowCount { table: table.name, sent: encoded.rows, stored, ledgers: span(ledgers) });
        }
    }
    // Under the lock, which is held for a moment only, since the other writer may have begun with the same ledgers.
    cover::look(&session.client, config.role, ledgers, true).await?;
    let recording = || format!("recording ledgers {}", span(ledgers));
    session.client.batch_execute(&record(partition, ledgers)).await.during(recording)?;
    session.client.batch_execute("COMMIT").await.during(|| format!("COMMIT of ledgers {} without indexes", span(ledgers)))?;
    at(config, Step::Loaded)
}

async fn make(client: &Client, partition: Partition, epoch: i64) -> Result<(), PostgresError> {
    let (from, to) = partition.bounds();
    let mut sql = format!("INSERT INTO starmill_bulk (first_day, epoch) VALUES ({}, {epoch});", partition.first_day);
    for table in HISTORY_TABLES {
        // The constraint spares attaching a look at every row. Nobody vacuums what is about to change. Writing to a String cannot fail.
        let _ = write!(
            sql,
            "CREATE TABLE {} (LIKE {table} INCLUDING ALL EXCLUDING INDEXES, CONSTRAINT starmill_bulk_span \
             CHECK (ledger_created_at >= '{from}' AND ledger_created_at < '{to}')) WITH (autovacuum_enabled = false);",
            heap(partition, table)
        );
    }
    client.batch_execute(&sql).await.during(|| "making a partition without indexes".to_owned())
}

/// Adds the ledgers to the record, run by run; a run that follows on a recorded one makes that longer.
fn record(partition: Partition, ledgers: &[LedgerRow]) -> String {
    let (mut sql, day) = (String::new(), partition.first_day);
    for run in ledgers.chunk_by(|a, b| a.sequence.checked_add(1) == Some(b.sequence)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let (lo, hi) = (i64::from(first.sequence), i64::from(last.sequence));
        let from = run.iter().map(|ledger| ledger.closed_at).min().unwrap_or(first.closed_at);
        let to = run.iter().map(|ledger| ledger.closed_at).max().unwrap_or(last.closed_at);
        // Numbers only; writing to a String cannot fail.
        let _ = write!(
            sql,
            "WITH longer AS (UPDATE starmill_bulk_ledgers SET hi = {hi}, closed_from = least(closed_from, to_timestamp({from})), \
             closed_to = greatest(closed_to, to_timestamp({to})) WHERE first_day = {day} AND hi = {} RETURNING 1) \
             INSERT INTO starmill_bulk_ledgers (lo, hi, first_day, closed_from, closed_to) \
             SELECT {lo}, {hi}, {day}, to_timestamp({from}), to_timestamp({to}) WHERE NOT EXISTS (SELECT 1 FROM longer);",
            lo - 1
        );
    }
    sql
}
