//! The end of a partition: indexes built over the connections for copying, then attached and covered in one transaction.
//!
//! The indexes are those that the table of history has, whatever migrations have made of them. The other writer may have made the same partition
//! meanwhile; then the rows are inserted into it.

use std::cell::RefCell;
use std::fmt::Write as _;

use futures_util::future::try_join_all;
use starmill_ledger::Coverage;
use starmill_ledger::rows::LedgerRow;
use tokio_postgres::Client;

use super::super::commit::span;
use super::super::config::PostgresConfig;
use super::super::error::During as _;
use super::super::partitions::Partition;
use super::super::session::Session;
use super::super::steps::{Step, at};
use super::super::{HISTORY_TABLES, PostgresError, cover, writer};
use super::heap;

/// The connections share the processors already.
const BESIDE_OTHERS: &str = "SET LOCAL max_parallel_maintenance_workers TO 0; ";

/// An index of a table of history, for the table that is to become its part.
#[derive(Debug)]
struct Index {
    table: String,
    primary: bool,
    unique: bool,
    /// From USING on.
    definition: String,
    /// Its name until it is attached.
    heap_name: String,
    /// What Postgres would have called it.
    name: String,
}

/// The indexes, those of the largest tables first.
async fn indexes(client: &Client, partition: Partition) -> Result<Vec<Index>, PostgresError> {
    let reading = || "reading which indexes a partition needs".to_owned();
    let heaps: Vec<String> = HISTORY_TABLES.iter().map(|table| heap(partition, table)).collect();
    let sql = "SELECT t.name, i.indexrelid::int8, i.indisprimary, i.indisunique, substring(pg_get_indexdef(i.indexrelid) FROM ' USING .*$'), \
               array_to_string(ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indexrelid ORDER BY a.attnum), '_') \
               FROM unnest($1::text[], $2::text[]) t (name, heap) JOIN pg_index i ON i.indrelid = to_regclass(t.name) \
               ORDER BY pg_relation_size(to_regclass(t.heap)) DESC NULLS LAST, i.indexrelid";
    let rows = client.query(sql, &[&HISTORY_TABLES.as_slice(), &heaps]).await.during(reading)?;
    rows.iter()
        .map(|row| {
            let table: String = row.try_get(0).during(reading)?;
            let (oid, primary): (i64, bool) = (row.try_get(1).during(reading)?, row.try_get(2).during(reading)?);
            let columns: &str = row.try_get(5).during(reading)?;
            let part = partition.name(&table);
            Ok(Index {
                heap_name: format!("starmill_bulk_{}_{oid}", partition.name("index")),
                name: if primary { format!("{part}_pkey") } else { format!("{part}_{columns}_idx") },
                table,
                primary,
                unique: row.try_get(3).during(reading)?,
                definition: row.try_get(4).during(reading)?,
            })
        })
        .collect()
}

/// Builds what is missing of the indexes. After an error connections are at any place of their work.
pub(super) async fn build(session: &mut Session, config: &PostgresConfig, partition: Partition) -> Result<(), PostgresError> {
    let indexes = indexes(&session.client, partition).await?;
    let shared = config.copy_connections > 0 && session.copiers.connect(config).await?;
    session.pending = true;
    let clients: Vec<&Client> = if shared { session.copiers.clients().collect() } else { vec![&session.client] };
    let settings = if clients.len() > 1 { BESIDE_OTHERS } else { "" };
    let next = RefCell::new(indexes.iter());
    let (next, epoch) = (&next, session.epoch);
    try_join_all(clients.into_iter().map(|client| async move {
        loop {
            let Some(index) = next.borrow_mut().next() else { return Ok::<_, PostgresError>(()) };
            let Index { table, unique, definition, heap_name, .. } = index;
            let unique = if *unique { "UNIQUE " } else { "" };
            // Those that are there were built before a connection was lost.
            let sql = format!("CREATE {unique}INDEX IF NOT EXISTS {heap_name} ON {}{definition}; COMMIT", heap(partition, table));
            writer::begin(client, config.role, epoch, settings).await?;
            client.batch_execute(&sql).await.during(|| format!("building an index of {}", partition.name(table)))?;
        }
    }))
    .await?;
    session.pending = false;
    at(config, Step::Indexed)
}

/// Makes the partition one of the tables of history, and covers its ledgers, which ascend. Returns what is covered now around them. After an error the
/// transaction is open.
pub(super) async fn attach(
    session: &mut Session,
    config: &PostgresConfig,
    partition: Partition,
    ledgers: &[LedgerRow],
) -> Result<Coverage, PostgresError> {
    let attaching = || format!("attaching ledgers {}", span(ledgers));
    writer::begin(&session.client, config.role, session.epoch, "").await?;
    session.reload_partitions().await?;
    let mut merged = session.partitions.exists(partition);
    if merged {
        // Before the lock: this takes its time.
        session.client.batch_execute(&merge(partition)).await.during(attaching)?;
    }
    let around = cover::look(&session.client, config.role, ledgers, true).await?;
    session.reload_partitions().await?;
    if !merged && session.partitions.exists(partition) {
        session.client.batch_execute(&merge(partition)).await.during(attaching)?;
        merged = true;
    }
    let mut forget = format!("DELETE FROM starmill_bulk WHERE first_day = {}", partition.first_day);
    if merged {
        let heaps: Vec<String> = HISTORY_TABLES.iter().map(|table| heap(partition, table)).collect();
        forget = format!("{forget}; DROP TABLE {}", heaps.join(", "));
    } else {
        let indexes = indexes(&session.client, partition).await?;
        session.client.batch_execute(&become_part(partition, &indexes)).await.during(attaching)?;
    }
    let covered = cover::write(&session.client, &around, ledgers, &forget).await?;
    at(config, Step::Attached)?;
    session.client.batch_execute("COMMIT").await.during(|| format!("COMMIT of ledgers {}", span(ledgers)))?;
    session.partitions.made(HISTORY_TABLES.iter().map(|table| partition.name(table)).collect());
    at(config, Step::Committed)?;
    Ok(covered)
}

fn merge(partition: Partition) -> String {
    HISTORY_TABLES.map(|table| format!("INSERT INTO {table} SELECT * FROM {};", heap(partition, table))).concat()
}

fn become_part(partition: Partition, indexes: &[Index]) -> String {
    let mut sql = String::new();
    let (from, to) = partition.bounds();
    // Writing to a String cannot fail.
    for table in HISTORY_TABLES {
        let name = partition.name(table);
        let _ = write!(sql, "ALTER TABLE {} RENAME TO {name};", heap(partition, table));
        for index in indexes.iter().filter(|index| index.table == table) {
            let _ = if index.primary {
                write!(sql, "ALTER TABLE {name} ADD CONSTRAINT {} PRIMARY KEY USING INDEX {};", index.name, index.heap_name)
            } else {
                write!(sql, "ALTER INDEX {} RENAME TO {};", index.heap_name, index.name)
            };
        }
        let _ = write!(
            sql,
            "ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}'); \
             ALTER TABLE {name} DROP CONSTRAINT starmill_bulk_span, RESET (autovacuum_enabled);"
        );
    }
    sql
}
