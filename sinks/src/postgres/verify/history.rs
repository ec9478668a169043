//! The tables of history, compared and mended by the ledgers of a batch.

use starmill_ledger::rows::LedgerRow;
use tokio_postgres::Client;

use super::super::error::During as _;
use super::super::session::Session;
use super::super::{HISTORY_TABLES, PostgresError, commit};
use super::SCRATCH;
use super::columns::Table;

/// A difference: ledger, expected row, found row.
pub(super) type Row = (Option<i64>, Option<String>, Option<String>);

/// The ledgers of a batch and when they closed, which says where their rows are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    first: u32,
    last: u32,
    /// Unix seconds.
    closed_from: i64,
    closed_to: i64,
}

impl Span {
    pub(super) fn of(ledgers: &[LedgerRow]) -> Self {
        let closed = || ledgers.iter().map(|ledger| ledger.closed_at);
        Self {
            first: ledgers.first().map_or(0, |ledger| ledger.sequence),
            last: ledgers.last().map_or(0, |ledger| ledger.sequence),
            closed_from: closed().min().unwrap_or(0),
            closed_to: closed().max().unwrap_or(0),
        }
    }

    /// Which rows of a table are of these ledgers.
    fn condition(&self, table: &Table) -> String {
        let Self { first, last, closed_from, closed_to } = self;
        let toid = toid_column(&table.name);
        let (from, to) = (i64::from(*first) << 32, (i64::from(*last) + 1) << 32);
        format!(
            "{toid} >= {from} AND {toid} < {to} AND ledger_created_at BETWEEN to_timestamp({closed_from}) AND to_timestamp({closed_to})"
        )
    }
}

/// The column that holds the ledger in its upper half.
fn toid_column(table: &str) -> &'static str {
    match table {
        "transactions_accounts" => "tx_to_id",
        "operations" => "id",
        "operations_accounts" => "operation_id",
        _ => "to_id",
    }
}

/// The rows that differ, in the order of their keys.
pub(super) async fn differences(client: &Client, table: &Table, schema: &str, span: &Span) -> Result<Vec<Row>, PostgresError> {
    let Table { name, columns, key, .. } = table;
    let (condition, toid) = (span.condition(table), toid_column(name));
    let order = key.iter().map(|column| format!("coalesce(e.{column}, f.{column})")).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT coalesce(e.{toid}, f.{toid}) >> 32, to_jsonb(e)::text, to_jsonb(f)::text \
         FROM (SELECT {columns} FROM {SCRATCH}.{name} WHERE {condition}) e \
         FULL JOIN (SELECT {columns} FROM {schema}.{name} WHERE {condition}) f ON {} \
         WHERE e IS DISTINCT FROM f ORDER BY 1, {order}",
        table.same_key("e", "f")
    );
    rows(client, &sql, name).await
}

/// What a query for differences gives.
pub(super) async fn rows(client: &Client, sql: &str, table: &str) -> Result<Vec<Row>, PostgresError> {
    let comparing = || format!("comparing {table}");
    let rows = client.query(sql, &[]).await.during(comparing)?;
    rows.iter()
        .map(|row| Ok((row.try_get(0).during(comparing)?, row.try_get(1).during(comparing)?, row.try_get(2).during(comparing)?)))
        .collect()
}

/// Puts the rows that were made in the place of those that are there.
pub(super) async fn mend(
    session: &mut Session,
    table: &Table,
    schema: &str,
    span: &Span,
    ledgers: &[LedgerRow],
) -> Result<(), PostgresError> {
    let mending = || format!("mending {}, ledgers {}", table.name, commit::span(ledgers));
    let partitions = session.partitions.missing(ledgers);
    session.client.batch_execute(&partitions.sql).await.during(mending)?;
    session.partitions.made(partitions.names);
    let Table { name, columns, .. } = table;
    let condition = span.condition(table);
    let sql = format!(
        "DELETE FROM {schema}.{name} WHERE {condition}; \
         INSERT INTO {schema}.{name} ({columns}) SELECT {columns} FROM {SCRATCH}.{name} WHERE {condition}"
    );
    session.client.batch_execute(&sql).await.during(mending)
}

/// Empties the tables that were compared. While rows are mended their tables are in use, and cannot be emptied at a stroke.
pub(super) async fn forget(client: &Client, in_use: bool) -> Result<(), PostgresError> {
    let sql = if in_use {
        HISTORY_TABLES.map(|table| format!("DELETE FROM {SCRATCH}.{table};")).concat()
    } else {
        format!("TRUNCATE {}", HISTORY_TABLES.map(|table| format!("{SCRATCH}.{table}")).join(", "))
    };
    client.batch_execute(&sql).await.during(|| format!("emptying the schema {SCRATCH}"))
}
