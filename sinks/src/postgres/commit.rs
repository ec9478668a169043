//! One commit: rows, coverage and cursors of a batch in one transaction.
//!
//! Order: the writer's epoch is compared under a row lock, missing partitions are made, assets and contracts are named, each table of history is
//! copied and its count compared, balances are brought up to date, the ranges of coverage that changed are replaced, the text cursors follow from them, COMMIT. Any fault before COMMIT leaves nothing.

use std::fmt::Write as _;
use std::pin::pin;

use bytes::Bytes;
use futures_util::SinkExt as _;
use starmill_ledger::rows::LedgerRow;
use tokio_postgres::{Client, SimpleQueryMessage, Statement};

use super::copy::{Encoded, HEADER, STATE_CHANGES, TABLES, TRAILER};
use super::error::During as _;
use super::session::Session;
use super::state::{Plan, Stage, apply, delete_expired};
use super::{CopyRows, PostgresError};
use starmill_ledger::Coverage;

/// Bytes given to the driver at once: large enough to cost nothing, small enough to overlap with the server.
const CHUNK_BYTES: usize = 1 << 20;

/// Writes a batch and returns the names of partitions made for it.
pub(crate) async fn commit(
    session: &Session,
    ledgers: &[LedgerRow],
    rows: &mut CopyRows,
    plan: &mut Plan,
    (old, new): (&Coverage, &Coverage),
) -> Result<Vec<String>, PostgresError> {
    begin(session).await?;
    let partitions = session.partitions.missing(ledgers);
    if !partitions.sql.is_empty() {
        session.client.batch_execute(&partitions.sql).await.during(|| format!("making partitions for ledgers {}", span(ledgers)))?;
    }
    apply(session, plan, Stage::Named, ledgers).await?;
    let tables = TABLES.iter().zip(&session.copies);
    // State changes of SEP-41 tokens come after the rest.
    let more = tables.clone().skip(STATE_CHANGES).zip([&mut plan.sep41_history]);
    for ((table, statement), encoded) in tables.zip(&mut rows.tables).chain(more) {
        if encoded.rows == 0 {
            continue;
        }
        let stored =
            copy_keeping(&session.client, statement, encoded).await.during(|| format!("COPY {}, ledgers {}", table.name, span(ledgers)))?;
        if stored != encoded.rows {
            return Err(PostgresError::RowCount { table: table.name, sent: encoded.rows, stored, ledgers: span(ledgers) });
        }
    }
    apply(session, plan, Stage::Balances, ledgers).await?;
    delete_expired(session, plan, ledgers).await?;
    cover(&session.client, old, new).await?;
    session.client.batch_execute("COMMIT").await.during(|| format!("COMMIT of ledgers {}", span(ledgers)))?;
    Ok(partitions.names)
}

/// The ledgers of a batch, for messages.
pub(crate) fn span(ledgers: &[LedgerRow]) -> String {
    match (ledgers.first(), ledgers.last()) {
        (Some(first), Some(last)) if first.sequence != last.sequence => format!("{}-{}", first.sequence, last.sequence),
        (Some(first), _) => first.sequence.to_string(),
        _ => "none".to_owned(),
    }
}

/// Opens the transaction and makes sure that no other writer has come since.
async fn begin(session: &Session) -> Result<(), PostgresError> {
    let checking = || "comparing the writer's epoch".to_owned();
    let messages = session.client.simple_query("BEGIN; SELECT writer_epoch FROM starmill_network FOR UPDATE").await.during(checking)?;
    let stored = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).and_then(|epoch| epoch.parse::<i64>().ok()),
        _ => None,
    });
    match stored {
        Some(stored) if stored == session.epoch => Ok(()),
        stored => Err(PostgresError::WriterFenced { stored: stored.unwrap_or(0), ours: session.epoch }),
    }
}

/// Copies a table's rows and puts the buffer back as it was, whatever happened.
async fn copy_keeping(client: &Client, statement: &Statement, encoded: &mut Encoded) -> Result<u64, tokio_postgres::Error> {
    let len = encoded.bytes.len();
    encoded.bytes.extend_from_slice(&TRAILER);
    // A Vec becomes Bytes and back without being copied, once the driver has let go of its slices.
    let bytes = Bytes::from(std::mem::take(&mut encoded.bytes));
    let stored = copy(client, statement, &bytes).await;
    encoded.bytes = match bytes.try_into_mut() {
        Ok(unique) => Vec::from(unique),
        Err(shared) => shared.to_vec(),
    };
    encoded.bytes.truncate(len);
    stored
}

async fn copy(client: &Client, statement: &Statement, bytes: &Bytes) -> Result<u64, tokio_postgres::Error> {
    let mut sink = pin!(client.copy_in::<_, Bytes>(statement).await?);
    sink.feed(Bytes::from_static(HEADER)).await?;
    for from in (0..bytes.len()).step_by(CHUNK_BYTES) {
        sink.feed(bytes.slice(from..bytes.len().min(from + CHUNK_BYTES))).await?;
    }
    sink.finish().await
}

/// Replaces the ranges that changed and writes the text cursors.
async fn cover(client: &Client, old: &Coverage, new: &Coverage) -> Result<(), PostgresError> {
    let covering = || "writing ledger_coverage".to_owned();
    let gone: Vec<_> = old.ranges_not_in(new).collect();
    let mut sql = String::new();
    // Numbers only; writing to a String cannot fail.
    for (n, range) in gone.iter().enumerate() {
        let _ = write!(sql, "{}({},{})", if n == 0 { "DELETE FROM ledger_coverage WHERE (lo, hi) IN (" } else { "," }, range.lo, range.hi);
    }
    sql.push_str(if gone.is_empty() { "" } else { ");" });
    for range in new.ranges_not_in(old) {
        let _ = write!(sql, "INSERT INTO ledger_coverage (lo, hi) VALUES ({},{});", range.lo, range.hi);
    }
    if let Some(top) = new.ranges().last() {
        let _ = write!(
            sql,
            "INSERT INTO ingest_store (key, value) VALUES ('oldest_ingest_ledger', '{}'), ('latest_ingest_ledger', '{hi}'), \
             ('protocol_SEP41_history_cursor', '{hi}'), ('protocol_SEP41_current_state_cursor', '{hi}') \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE ingest_store.value <> excluded.value;",
            top.lo,
            hi = top.hi
        );
    }
    let messages = client.simple_query(&sql).await.during(covering)?;
    let found = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
        _ => None,
    });
    match found {
        Some(found) if !gone.is_empty() && found != gone.len() as u64 => {
            Err(PostgresError::CoverageChanged { expected: gone.len(), found })
        }
        _ => Ok(()),
    }
}
