//! Coverage, from what the database says: two writers share the table, so each reads what lies around its ledgers under a lock and writes that back
//! joined with them. The lock is held for a moment only.

use std::fmt::Write as _;

use starmill_ledger::coverage::{Coverage, LedgerRange};
use starmill_ledger::rows::LedgerRow;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::PostgresError;
use super::config::WriterRole;
use super::error::During as _;

/// The lock under which coverage, pending ledgers and partitions change; ends with the transaction.
pub(crate) const LOCK: &str = "SELECT 1 FROM starmill_network FOR UPDATE;";

/// What the database says around the ledgers of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Around {
    /// Ranges that overlap or touch what lies between the first and the last ledger.
    near: Coverage,
    /// The highest covered ledger, 0 if there is none.
    pub(crate) top: u32,
    /// Ledgers that the other writer is writing.
    others: Coverage,
}

/// Reads what lies around the ledgers, under the lock if `locked`.
///
/// # Errors
/// `ledger-covered-already`, `ledger-pending` if a ledger is another's already.
pub(crate) async fn look(client: &Client, role: WriterRole, ledgers: &[LedgerRow], locked: bool) -> Result<Around, PostgresError> {
    let around = read(client, role, ledgers, locked).await?;
    let first = |set: &Coverage| ledgers.iter().map(|ledger| ledger.sequence).find(|sequence| set.contains(*sequence));
    if let Some(sequence) = first(&around.near) {
        return Err(PostgresError::LedgerCovered { sequence });
    }
    if let Some(sequence) = first(&around.others) {
        return Err(PostgresError::LedgerPending { sequence });
    }
    Ok(around)
}

/// Whether the ledgers are all covered.
pub(crate) async fn has(client: &Client, role: WriterRole, ledgers: &[LedgerRow]) -> Result<bool, PostgresError> {
    let around = read(client, role, ledgers, false).await?;
    Ok(!ledgers.is_empty() && ledgers.iter().all(|ledger| around.near.contains(ledger.sequence)))
}

async fn read(client: &Client, role: WriterRole, ledgers: &[LedgerRow], locked: bool) -> Result<Around, PostgresError> {
    let lo = ledgers.first().map_or(0, |ledger| i64::from(ledger.sequence)) - 1;
    let hi = ledgers.last().map_or(-2, |ledger| i64::from(ledger.sequence)) + 1;
    let sql = format!(
        "{}SELECT 'near', lo, hi FROM ledger_coverage WHERE hi >= {lo} AND lo <= {hi} \
         UNION ALL (SELECT 'top', lo, hi FROM ledger_coverage ORDER BY lo DESC LIMIT 1) \
         UNION ALL SELECT 'others', lo, hi FROM starmill_pending WHERE role <> '{}' AND hi >= {lo} AND lo <= {hi}{}",
        if locked { LOCK } else { "" },
        role.name(),
        match role {
            WriterRole::Tip => format!(" UNION ALL SELECT 'others', lo, hi FROM starmill_bulk_ledgers WHERE hi >= {lo} AND lo <= {hi}"),
            WriterRole::Backfill => String::new(),
        }
    );
    let messages = client.simple_query(&sql).await.during(|| "reading ledger_coverage".to_owned())?;
    let mut around = Around::default();
    for message in &messages {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let number = |n: usize| row.try_get(n).ok().flatten().and_then(|text| text.parse::<u32>().ok());
        let (Some(kind), 3) = (row.get(0), row.len()) else { continue };
        let (Some(lo), Some(hi)) = (number(1), number(2)) else {
            return Err(PostgresError::SchemaForeign { message: "ledger_coverage holds what is no ledger sequence".to_owned() });
        };
        match kind {
            "near" => around.near.insert(LedgerRange { lo, hi }),
            "top" => around.top = hi,
            _ => around.others.insert(LedgerRange { lo, hi }),
        }
    }
    Ok(around)
}

/// Adds the ledgers to the table and writes the text cursors, which are the ends of the highest range. Under the lock, with what was read under it.
/// Returns what is covered now around the ledgers.
pub(crate) async fn write(client: &Client, around: &Around, ledgers: &[LedgerRow], after: &str) -> Result<Coverage, PostgresError> {
    let old = &around.near;
    let mut new = old.clone();
    new.insert_all(ledgers.iter().map(|ledger| ledger.sequence));
    let gone: Vec<_> = old.ranges_not_in(&new).collect();
    let mut sql = String::new();
    // Numbers only; writing to a String cannot fail.
    for (n, range) in gone.iter().enumerate() {
        let _ = write!(sql, "{}({},{})", if n == 0 { "DELETE FROM ledger_coverage WHERE (lo, hi) IN (" } else { "," }, range.lo, range.hi);
    }
    sql.push_str(if gone.is_empty() { "" } else { ");" });
    for range in new.ranges_not_in(old) {
        let _ = write!(sql, "INSERT INTO ledger_coverage (lo, hi) VALUES ({},{});", range.lo, range.hi);
    }
    sql.push_str(CURSORS);
    sql.push_str(after);
    let messages = client.simple_query(&sql).await.during(|| "writing ledger_coverage".to_owned())?;
    let found = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
        _ => None,
    });
    match found {
        Some(found) if !gone.is_empty() && found != gone.len() as u64 => {
            Err(PostgresError::CoverageChanged { expected: gone.len(), found })
        }
        _ => Ok(new),
    }
}

/// Text cursors of the reference's schema, from the highest range.
pub(crate) const CURSORS: &str = "INSERT INTO ingest_store (key, value) SELECT c.key, c.value \
     FROM (SELECT l.lo::text AS first, l.hi::text AS last FROM ledger_coverage l ORDER BY l.lo DESC LIMIT 1) top, \
     LATERAL (VALUES ('oldest_ingest_ledger', top.first), ('latest_ingest_ledger', top.last), \
     ('protocol_SEP41_history_cursor', top.last), ('protocol_SEP41_current_state_cursor', top.last)) AS c (key, value) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE ingest_store.value <> excluded.value;";
