//! Where emitters write: rows, changes of current state, and the participants that a state change brings.

use starmill_ledger::CurrentState;
use starmill_ledger::rows::{Rows, StateChangeRow};

use crate::participants;

/// What the emitters of one transaction write to.
#[derive(Debug)]
pub struct Out<'o, R> {
    /// Rows that are final as they are made.
    pub rows: &'o mut R,
    /// Changes of entries, netted when the ledger is whole.
    pub state: &'o mut CurrentState,
    /// The participants so far.
    pub participants: &'o mut participants::Scratch,
}

impl<R: Rows> Out<'_, R> {
    /// Writes a state change; its account takes part in the operation, and in the transaction.
    pub fn state_change(&mut self, row: &StateChangeRow<'_>) {
        if row.place.operation_id == 0 {
            self.participants.add_to_transaction(row.account_id);
        } else {
            self.participants.add_to_operation(row.account_id);
        }
        self.rows.state_change(row);
    }
}
