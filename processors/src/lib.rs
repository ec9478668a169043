//! Views of a ledger in, rows out: one file per emitter (docs/rows.md says each row).
//!
//! Emitters read [`starmill_ledger`] views and write through [`starmill_ledger::rows::Rows`]. No clock, no I/O, no threads, no database.

pub mod effects;
pub mod operations;
mod out;
pub mod participants;
pub mod result_codes;
pub mod transactions;

pub use out::Out;

use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError, OperationView, Transaction};
use starmill_xdr::Arena;

#[cfg(test)]
use starmill_fixtures as _;

/// Everything that keeps memory from one transaction to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    participants: participants::Scratch,
}

/// Writes all rows of one transaction. After an error what was written so far is of no use.
pub fn process<'a, R: Rows>(
    transaction: &Transaction<'a>,
    arena: &'a Arena,
    scratch: &mut Scratch,
    rows: &mut R,
    state: &mut CurrentState,
) -> Result<(), LedgerError> {
    let out = &mut Out { rows, state, participants: &mut scratch.participants };
    transactions::emit(transaction, out.rows)?;
    out.participants.begin(transaction);
    for view in OperationView::all(transaction, arena) {
        operations::emit(&view, out.rows);
        out.participants.begin_operation(&view)?;
        effects::emit(&view, out)?;
        out.participants.finish_operation(&view, out.rows);
    }
    out.participants.finish(transaction, out.rows);
    Ok(())
}
