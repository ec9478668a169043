//! Writes a plan inside the transaction of its batch.

use super::super::commit::copy_keeping;
use super::super::error::During as _;
use super::super::session::Session;
use super::super::{PostgresError, commit};
use super::plan::Plan;
use super::tables::{FIRST_BALANCES, STATE_TABLES};
use starmill_ledger::rows::LedgerRow;

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
pub(crate) async fn apply(session: &Session, plan: &mut Plan, stage: Stage, ledgers: &[LedgerRow]) -> Result<(), PostgresError> {
    let tables = STATE_TABLES.iter().zip(&session.state_copies).zip(&mut plan.tables).zip(plan.removes);
    let (skip, take) = match stage {
        Stage::Named => (0, FIRST_BALANCES),
        Stage::Balances => (FIRST_BALANCES, STATE_TABLES.len()),
    };
    for (((table, copy), encoded), removes) in tables.skip(skip).take(take) {
        if encoded.rows == 0 {
            continue;
        }
        let writing = || format!("writing {}, ledgers {}", table.name, commit::span(ledgers));
        let stored = copy_keeping(&session.client, copy, encoded).await.during(writing)?;
        if stored != encoded.rows {
            return Err(PostgresError::RowCount { table: table.name, sent: encoded.rows, stored, ledgers: commit::span(ledgers) });
        }
        session.client.batch_execute(table.upsert).await.during(writing)?;
        if removes {
            session.client.batch_execute(table.delete).await.during(writing)?;
        }
    }
    Ok(())
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
