//! Views of a ledger in, rows out: one file per emitter (docs/rows.md says each row).
//!
//! Emitters read [`starmill_ledger`] views and write through [`starmill_ledger::rows::Rows`]. No clock, no I/O, no threads, no database.

pub mod operations;
pub mod participants;
pub mod result_codes;
pub mod transactions;

use starmill_ledger::rows::Rows;
use starmill_ledger::{LedgerError, OperationView, Transaction};
use starmill_xdr::Arena;

#[cfg(test)]
use starmill_fixtures as _;

/// Everything that keeps memory from one transaction to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    participants: participants::Scratch,
}

/// Writes all rows of one transaction. After an error the rows written so far are of no use.
pub fn process<'a, R: Rows>(
    transaction: &Transaction<'a>,
    arena: &'a Arena,
    scratch: &mut Scratch,
    rows: &mut R,
) -> Result<(), LedgerError> {
    transactions::emit(transaction, rows)?;
    scratch.participants.begin(transaction);
    for operation in OperationView::all(transaction, arena) {
        operations::emit(&operation, rows);
        scratch.participants.operation(&operation, rows)?;
    }
    scratch.participants.finish(transaction, rows);
    Ok(())
}
