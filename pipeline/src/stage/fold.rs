//! Fold: the rows of chunks, joined in the order of the transactions, and the changes of current state netted.
//!
//! The one place where order is restored after parallel work. The first error, in that order, is the ledger's.

use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError};

/// Appends the chunks' rows to `rows`, hands the emptied buffers to `recycle`, and writes the rows of current state last.
pub fn fold<R: Rows>(
    chunks: Vec<Result<(R, CurrentState), LedgerError>>,
    rows: &mut R,
    state: &mut CurrentState,
    mut recycle: impl FnMut(R),
) -> Result<(), LedgerError> {
    for chunk in chunks {
        let (mut chunk, mut changes) = chunk?;
        rows.append(&mut chunk);
        recycle(chunk);
        state.append(&mut changes);
    }
    state.fold(rows);
    Ok(())
}
