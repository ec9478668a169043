//! Operations: one row for each operation of each transaction, in order, also of failed transactions.
//!
//! The row carries the operation's XDR as it stands in the frame, and the name of its own result code: an operation that succeeded inside a
//! failed transaction keeps `op_success` (docs/rows.md, operations).

use starmill_ledger::OperationView;
use starmill_ledger::rows::{OperationRow, Rows};

use crate::result_codes;

/// Writes the row of an operation.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, rows: &mut R) {
    let result_code = view.result().map_or(result_codes::UNKNOWN, result_codes::operation);
    rows.operation(&OperationRow {
        id: view.id(),
        operation_type: view.body().discriminant().name(),
        operation_xdr: view.operation.bytes,
        result_code,
        successful: result_code == result_codes::SUCCESS,
        ledger: view.transaction.head.sequence,
        closed_at: view.transaction.head.closed_at,
    });
}
