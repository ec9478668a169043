//! Process: transactions into rows.
//!
//! Takes a contiguous run of transactions and writes their rows in order. One arena and one scratch serve the whole run; the arena is
//! rewound after each transaction, so that memory follows the largest transaction and not the sum.

use std::ops::Range;

use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError, PairedLedger};
use starmill_xdr::Arena;

use crate::Process;

/// Writes the rows of the transactions `range`, 0-based, of a ledger.
pub fn process<P: Process, R: Rows>(
    processor: &P,
    ledger: &PairedLedger<'_>,
    range: Range<usize>,
    arena: &mut Arena,
    scratch: &mut P::Scratch,
    rows: &mut R,
    state: &mut CurrentState,
) -> Result<(), LedgerError> {
    for i in range {
        arena.rewind();
        let transaction = ledger.transaction(i, arena)?;
        processor.process(&transaction, arena, scratch, rows, state)?;
    }
    Ok(())
}
