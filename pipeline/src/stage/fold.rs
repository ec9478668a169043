//! Fold: the rows of chunks, joined in the order of the transactions.
//!
//! The one place where order is restored after parallel work. The first error, in that order, is the ledger's.

use starmill_ledger::LedgerError;
use starmill_ledger::rows::Rows;

/// Appends the chunks' rows to `rows` and hands the emptied buffers to `recycle`.
pub fn fold<R: Rows>(chunks: Vec<Result<R, LedgerError>>, rows: &mut R, mut recycle: impl FnMut(R)) -> Result<(), LedgerError> {
    for chunk in chunks {
        let mut chunk = chunk?;
        rows.append(&mut chunk);
        recycle(chunk);
    }
    Ok(())
}
