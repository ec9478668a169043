//! Fold: the rows of chunks, joined in the order of the transactions; then, once all are there, the changes of current state are netted
//! ([`CurrentState::fold`]).
//!
//! The one place where order is restored after parallel work. The first error, in that order, is the ledger's.

use starmill_ledger::CurrentState;
use starmill_ledger::rows::Rows;

/// Moves what a chunk has to the end of what the chunks before it had; the chunk's buffers stay, empty.
pub fn join<R: Rows>(chunk: (&mut R, &mut CurrentState), before: (&mut R, &mut CurrentState)) {
    before.0.append(chunk.0);
    before.1.append(chunk.1);
}
