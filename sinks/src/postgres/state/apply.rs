//! Writes a plan inside the transaction of its batch.

use super::super::error::During as _;
use super::super::session::Session;
use super::super::{PostgresError, commit};
use super::columns::Columns;
use super::plan::Plan;
use super::tables::{FIRST_BALANCES, STATE_TABLES};
use starmill_ledger::rows::LedgerRow;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

/// Expired allowances that a ledger cleans away at most.
const EXPIRED_MAX: u64 = 1000;

/// What is written when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Assets, tokens, code, contracts: before history.
    Named,
    /// Balances and allowances: after it.
    Balances,
}

/// Writes the tables of a stage: upserts, then deletes, table by table.
pub(crate) async fn apply(session: &Session, plan: &Plan, stage: Stage, ledgers: &[LedgerRow]) -> Result<(), PostgresError> {
    let tables = match stage {
        Stage::Named => 0..FIRST_BALANCES,
        Stage::Balances => FIRST_BALANCES..STATE_TABLES.len(),
    };
    for (table, statements) in tables.clone().zip(&session.state[tables]) {
        let writing = || format!("writing {}, ledgers {}", STATE_TABLES[table].name, commit::span(ledgers));
        execute(session, &statements.upsert, &plan.upserts[table]).await.during(writing)?;
        if let Some(delete) = &statements.delete {
            execute(session, delete, &plan.deletes[table]).await.during(writing)?;
        }
    }
    Ok(())
}

/// Runs a statement on rows, if there are any.
async fn execute(session: &Session, statement: &Statement, rows: &Columns) -> Result<(), tokio_postgres::Error> {
    if rows.rows() == 0 {
        return Ok(());
    }
    let arrays = rows.arrays();
    let parameters = arrays.iter().take(statement.params().len()).map(|array| array as &(dyn ToSql + Sync));
    session.client.execute_raw(statement, parameters).await.map(drop)
}

/// Removes allowances that have run out, those first that ran out first, as many as the ledgers of the batch would one by one.
pub(crate) async fn delete_expired(session: &Session, plan: &Plan, ledgers: &[LedgerRow]) -> Result<(), PostgresError> {
    if plan.forward == 0 {
        return Ok(());
    }
    // Numbers only.
    let sql = format!(
        "DELETE FROM sep41_allowances WHERE (owner_id, spender_id, contract_id) IN (SELECT owner_id, spender_id, contract_id \
         FROM sep41_allowances WHERE expiration_ledger < {} ORDER BY expiration_ledger, owner_id, spender_id, contract_id LIMIT {})",
        plan.last_ledger,
        EXPIRED_MAX * u64::from(plan.forward)
    );
    session.client.batch_execute(&sql).await.during(|| format!("cleaning sep41_allowances, ledgers {}", commit::span(ledgers)))
}
