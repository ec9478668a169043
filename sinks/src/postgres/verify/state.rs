//! Current state, as far as the ledgers that were verified can say what it must be.
//!
//! A row says which ledger changed it last. One that was changed in a verified ledger, and in none after, must be as that ledger left it; one that a
//! verified ledger changed must be there if the newest ledger is among them, and current state was kept when it closed. Balances that are sums of
//! events, and what is known of contracts, can only be told from all ledgers from the first to the newest. Allowances that have run out may be there
//! still or not.

use std::fmt::Write as _;

use starmill_ledger::coverage::LedgerRange;

use super::super::PostgresError;
use super::super::error::During as _;
use super::super::state::STATE_TABLES;
use super::columns::Table;
use super::{SCRATCH, Verifier, history};

/// How far current state was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateCheck {
    /// Not at all: the ledgers are no single run.
    #[default]
    None,
    /// Rows that say which ledger changed them last, where that is one of those verified.
    Range,
    /// All of it.
    Whole,
}

impl Verifier {
    /// Compares current state, and mends it.
    pub(super) fn state(&mut self) -> Result<(), PostgresError> {
        let [LedgerRange { lo, hi }] = *self.verified.ledgers.ranges() else { return Ok(()) };
        let (first, top) =
            (self.covered.ranges().first().map_or(0, |range| range.lo), self.covered.ranges().last().map_or(0, |range| range.hi));
        let schema = self.schema.clone();
        let (begins, is_whole) = self.runtime.block_on(async {
            let asking = || "asking since when current state is kept".to_owned();
            let sql = format!(
                "SELECT m.first, m.first IS NOT DISTINCT FROM s.first FROM (SELECT min(last_modified_ledger) AS first FROM {schema}.native_balances) m, \
                 (SELECT min(last_modified_ledger) AS first FROM {SCRATCH}.native_balances) s"
            );
            let row = self.reader.query_one(&sql, &[]).await.during(asking)?;
            let (begins, same): (Option<i64>, bool) = (row.try_get(0).during(asking)?, row.try_get(1).during(asking)?);
            Ok::<_, PostgresError>((begins.unwrap_or(i64::MAX), same && lo <= first && hi >= top))
        })?;
        self.verified.state = if is_whole { StateCheck::Whole } else { StateCheck::Range };
        for table in STATE_TABLES {
            let table = self.runtime.block_on(Table::of(&self.reader, table.name))?;
            let is_sum = table.name == "sep41_balances";
            if !is_whole && (is_sum || !table.has_last_modified) {
                continue;
            }
            let differs = if is_whole {
                // Other programs may add what they know of a token.
                if table.has_last_modified { "e IS DISTINCT FROM f" } else { "f IS NOT DISTINCT FROM NULL" }.to_owned()
            } else {
                let (one, missing) = (table.key.first().map_or("", String::as_str), hi >= top);
                format!(
                    "e IS DISTINCT FROM f AND (CASE WHEN e.{one} IS NULL THEN f.last_modified_ledger BETWEEN {lo} AND {hi} \
                     WHEN f.{one} IS NULL THEN {missing} AND e.last_modified_ledger >= {begins} ELSE f.last_modified_ledger <= {hi} END)"
                )
            };
            self.compare_state(&table, &differs, top)?;
        }
        Ok(())
    }

    fn compare_state(&mut self, table: &Table, differs: &str, top: u32) -> Result<(), PostgresError> {
        let (schema, Table { name, columns, key, .. }) = (&self.schema, table);
        let alive = if name == "sep41_allowances" { format!("WHERE expiration_ledger >= {top}") } else { String::new() };
        let ledger = if table.has_last_modified { "coalesce(e.last_modified_ledger, f.last_modified_ledger)::int8" } else { "NULL::int8" };
        let order = key.iter().map(|column| format!("coalesce(e.{column}, f.{column})")).collect::<Vec<_>>().join(", ");
        let from = format!(
            "FROM (SELECT {columns} FROM {SCRATCH}.{name} {alive}) e FULL JOIN (SELECT {columns} FROM {schema}.{name} {alive}) f ON {} WHERE {differs}",
            table.same_key("e", "f")
        );
        let sql = format!("SELECT {ledger}, to_jsonb(e)::text, to_jsonb(f)::text {from} ORDER BY {order}");
        let rows = self.runtime.block_on(history::rows(&self.reader, &sql, name))?;
        if !rows.is_empty()
            && let Some(session) = &self.mender
        {
            // Foreign keys are looked at when all is committed.
            let keys = key.iter().map(|column| format!("coalesce(e.{column}, f.{column}) AS {column}")).collect::<Vec<_>>().join(", ");
            let mut mend = format!("CREATE TEMP TABLE starmill_mend ON COMMIT DROP AS SELECT {keys} {from};");
            // Writing to a String cannot fail.
            let _ = write!(
                mend,
                "DELETE FROM {schema}.{name} f USING starmill_mend e WHERE {same}; \
                 INSERT INTO {schema}.{name} ({columns}) SELECT {named} FROM {SCRATCH}.{name} f JOIN starmill_mend e ON {same}; \
                 DROP TABLE starmill_mend;",
                same = table.same_key("e", "f"),
                named = columns.split(", ").map(|column| format!("f.{column}")).collect::<Vec<_>>().join(", ")
            );
            self.runtime.block_on(session.client.batch_execute(&mend)).during(|| format!("mending {name}"))?;
        }
        let name = name.clone();
        self.tell(&name, rows);
        Ok(())
    }
}
