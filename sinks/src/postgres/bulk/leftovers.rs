//! What is in the database of partitions that were being loaded: kept over a lost connection, dropped when another writer comes.

use starmill_ledger::Coverage;
use starmill_ledger::coverage::LedgerRange;
use tokio_postgres::{Client, Transaction};

use super::super::error::During as _;
use super::super::{HISTORY_TABLES, PostgresError};

/// Drops what an earlier writer has left. What was made under the epoch `keep` is this program's own, and goes over to its new epoch. The caller has
/// fenced off whoever else may write there.
pub(crate) async fn take_over(tx: &Transaction<'_>, keep: Option<i64>, epoch: i64) -> Result<(), PostgresError> {
    let dropping = || "dropping partitions that were not finished".to_owned();
    let names = "SELECT 'starmill_bulk_' || t || '_p' || to_char(date '1970-01-01' + first_day, 'YYYYMMDD') \
                 FROM starmill_bulk, unnest($1::text[]) t WHERE epoch IS DISTINCT FROM $2";
    for row in tx.query(names, &[&HISTORY_TABLES.as_slice(), &keep]).await.during(dropping)? {
        let name: &str = row.try_get(0).during(dropping)?;
        tx.batch_execute(&format!("DROP TABLE IF EXISTS {name}")).await.during(dropping)?;
    }
    tx.execute("DELETE FROM starmill_bulk WHERE epoch IS DISTINCT FROM $1", &[&keep]).await.during(dropping)?;
    tx.execute("UPDATE starmill_bulk SET epoch = $1", &[&epoch]).await.during(dropping)?;
    Ok(())
}

/// The first day of each partition that is being loaded, with its ledgers.
pub(super) async fn recorded(client: &Client) -> Result<Vec<(i64, Coverage)>, PostgresError> {
    let reading = || "reading starmill_bulk_ledgers".to_owned();
    let rows =
        client.query("SELECT first_day::int8, lo, hi FROM starmill_bulk_ledgers ORDER BY first_day, lo", &[]).await.during(reading)?;
    let mut recorded: Vec<(i64, Coverage)> = Vec::new();
    for row in rows {
        let number = |n: usize| row.try_get::<_, i64>(n).during(reading);
        let sequence = |number: i64| {
            let message = || format!("starmill_bulk_ledgers holds {number}, which is no ledger sequence");
            u32::try_from(number).map_err(|_| PostgresError::SchemaForeign { message: message() })
        };
        let (day, range) = (number(0)?, LedgerRange { lo: sequence(number(1)?)?, hi: sequence(number(2)?)? });
        match recorded.last_mut() {
            Some((last, coverage)) if *last == day => coverage.insert(range),
            _ => recorded.push((day, [range].into_iter().collect())),
        }
    }
    Ok(recorded)
}
