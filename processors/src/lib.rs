//! Views of a ledger in, rows out: one file per emitter (docs/rows.md says each row).
//!
//! Emitters read [`starmill_ledger`] views and write through [`starmill_ledger::rows::Rows`]. No clock, no I/O, no threads, no database.

mod asset_text;
pub mod contract_deploys;
pub mod contract_events;
mod contract_values;
pub mod effects;
pub mod entries;
pub mod fees;
mod liquidity_pools;
pub mod memo;
pub mod native_balances;
pub mod operations;
mod out;
pub mod participants;
mod protocol_contracts;
mod protocol_wasms;
pub mod result_codes;
pub mod sac_authorizations;
mod sac_balances;
mod sac_tokens;
pub mod sep41;
pub mod token_transfers;
pub mod transactions;
mod trustline_balances;
pub mod wasm_spec;

pub use out::Out;

use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError, OperationView, Transaction};
use starmill_xdr::Arena;

#[cfg(test)]
use {proptest as _, starmill_fixtures as _};

/// Everything that keeps memory from one transaction to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    participants: participants::Scratch,
    contracts: memo::Contracts,
}

/// Writes all rows of one transaction. After an error what was written so far is of no use.
pub fn process<'a, R: Rows>(
    transaction: &Transaction<'a>,
    arena: &'a Arena,
    scratch: &mut Scratch,
    rows: &mut R,
    state: &mut CurrentState,
) -> Result<(), LedgerError> {
    let Scratch { participants, contracts } = scratch;
    let out = &mut Out { rows, state, participants, contracts };
    transactions::emit(transaction, out.rows)?;
    out.participants.begin(transaction);
    token_transfers::emit_fee(transaction, out)?;
    for view in OperationView::all(transaction, arena) {
        operations::emit(&view, out.rows);
        contract_events::emit(&view, out.rows);
        sep41::emit(&view, out);
        out.participants.begin_operation(&view)?;
        token_transfers::emit(&view, out)?;
        effects::emit(&view, out)?;
        contract_deploys::emit(&view, out);
        sac_authorizations::emit(&view, out)?;
        entries::emit(&view, out)?;
        out.participants.finish_operation(&view, out.rows);
    }
    native_balances::emit(transaction, arena, out.state)?;
    out.participants.finish(transaction, out.rows);
    Ok(())
}
