//! Ledgers whose history is written ahead of their commit: recorded before, taken out by the commit, cleaned away after a death.

use std::fmt::Write as _;

use starmill_ledger::rows::LedgerRow;
use tokio_postgres::{Client, Transaction};

use super::PostgresError;
use super::config::{PostgresConfig, WriterRole};
use super::error::During as _;
use super::session::load_coverage;
use super::steps::{Step, at};
use starmill_ledger::coverage::{Coverage, LedgerRange};

/// The history tables, each with its column of ids.
const IDS: [(&str, &str); 5] = [
    ("transactions", "to_id"),
    ("transactions_accounts", "tx_to_id"),
    ("operations", "id"),
    ("operations_accounts", "operation_id"),
    ("state_changes", "to_id"),
];

/// Records the ledgers of a batch, run by run, each with the span of its close times.
pub(crate) async fn record(client: &Client, role: WriterRole, ledgers: &[LedgerRow]) -> Result<(), PostgresError> {
    let mut sql = String::new();
    for run in ledgers.chunk_by(|a, b| a.sequence.checked_add(1) == Some(b.sequence)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let from = run.iter().map(|ledger| ledger.closed_at).min().unwrap_or(first.closed_at);
        let to = run.iter().map(|ledger| ledger.closed_at).max().unwrap_or(last.closed_at);
        // Numbers and a name only; writing to a String cannot fail.
        let _ = write!(
            sql,
            "INSERT INTO starmill_pending (role, lo, hi, closed_from, closed_to) \
             VALUES ('{}', {}, {}, to_timestamp({from}), to_timestamp({to}));",
            role.name(),
            first.sequence,
            last.sequence
        );
    }
    client.batch_execute(&sql).await.during(|| "writing starmill_pending".to_owned())
}

/// The statement that takes a role's ledgers out: it has one batch at a time.
pub(crate) fn forget(role: WriterRole) -> String {
    format!("DELETE FROM starmill_pending WHERE role = '{}'", role.name())
}

/// Deletes the history of a role's pending ledgers that were not committed, and forgets them.
pub(crate) async fn clean(tx: &Transaction<'_>, config: &PostgresConfig) -> Result<(), PostgresError> {
    let role = config.role;
    let cleaning = || "removing what an earlier writer left".to_owned();
    let sql =
        "SELECT lo, hi, extract(epoch FROM closed_from)::int8, extract(epoch FROM closed_to)::int8 FROM starmill_pending WHERE role = $1";
    let rows = tx.query(sql, &[&role.name()]).await.during(cleaning)?;
    if rows.is_empty() {
        return Ok(());
    }
    let covered = load_coverage(tx).await?;
    for row in rows {
        let bound = |n: usize| row.try_get::<_, i64>(n).during(cleaning);
        let pending = LedgerRange { lo: clamp(bound(0)?), hi: clamp(bound(1)?) };
        for LedgerRange { lo, hi } in uncovered(pending, &covered) {
            // Ids begin with the ledger; close times spare the other partitions.
            let (lo, hi) = (i64::from(lo) << 32, i64::from(hi) << 32 | i64::from(u32::MAX));
            let (from, to) = (bound(2)?, bound(3)?);
            for (table, id) in IDS {
                let sql = format!(
                    "DELETE FROM {table} WHERE {id} BETWEEN {lo} AND {hi} AND ledger_created_at BETWEEN to_timestamp({from}) AND to_timestamp({to})"
                );
                tx.batch_execute(&sql).await.during(|| format!("removing uncommitted rows of {table}"))?;
                at(config, Step::Cleaned(table))?;
            }
        }
    }
    tx.batch_execute(&forget(role)).await.during(cleaning)
}

/// A sequence that the tables can hold.
fn clamp(sequence: i64) -> u32 {
    u32::try_from(sequence.clamp(0, i64::from(i32::MAX))).unwrap_or(0)
}

/// What of a range is not covered.
fn uncovered(range: LedgerRange, covered: &Coverage) -> Vec<LedgerRange> {
    let mut rest = Vec::new();
    let mut from = range.lo;
    for old in covered.ranges().iter().filter(|old| old.hi >= range.lo && old.lo <= range.hi) {
        if old.lo > from {
            rest.push(LedgerRange { lo: from, hi: old.lo - 1 });
        }
        let Some(next) = old.hi.checked_add(1) else { return rest };
        from = next;
    }
    if from <= range.hi {
        rest.push(LedgerRange { lo: from, hi: range.hi });
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_out_what_is_covered() {
        let covered: Coverage = [(3, 4), (8, 8), (20, u32::MAX)].map(|(lo, hi)| LedgerRange { lo, hi }).into_iter().collect();
        let rest = |lo, hi| uncovered(LedgerRange { lo, hi }, &covered).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(rest(1, 10), "1-2 5-7 9-10");
        assert_eq!(rest(3, 8), "5-7");
        assert_eq!(rest(3, 4), "");
        assert_eq!(rest(10, 30), "10-19");
        assert_eq!(rest(21, u32::MAX), "");
    }
}
