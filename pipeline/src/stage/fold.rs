//! Fold: the rows of chunks, joined in the order of the transactions; then, once all are there, the changes of current state are netted
//! ([`CurrentState::fold`]).
//!
//! The one place where order is restored after parallel work. The first error, in that order, is the ledger's.

use starmill_ledger::CurrentState;
use starmill_ledger::rows::Rows;

/// Moves what a later chunk has to the end of what those before it had; its buffers stay, empty.
pub fn join<R: Rows>((rows, state): (&mut R, &mut CurrentState), (later_rows, later_state): (&mut R, &mut CurrentState)) {
    rows.append(later_rows);
    state.append(later_state);
}
