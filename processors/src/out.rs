//! What the emitters of a transaction share: where they write (rows, changes of current state, the participants that a state change brings), and
//! the contract ids of assets, which are remembered.

use starmill_ledger::CurrentState;
use starmill_ledger::rows::{Rows, StateChangeRow};

use crate::memo::Contracts;
use crate::participants;

/// What the emitters of one transaction write to, and what they remember.
#[derive(Debug)]
pub struct Out<'o, R> {
    /// Rows that are final as they are made.
    pub rows: &'o mut R,
    /// Changes of entries, netted when the ledger is whole.
    pub state: &'o mut CurrentState,
    /// The participants so far.
    pub participants: &'o mut participants::Scratch,
    /// Asset contracts of the transaction's network.
    pub contracts: &'o mut Contracts,
}

impl<R: Rows> Out<'_, R> {
    /// Writes a state change; its account takes part in the operation, and in the transaction.
    pub fn state_change(&mut self, row: &StateChangeRow<'_>) {
        self.split().0.write(row);
    }

    /// State changes and the memory of contracts, for whoever needs both at once.
    pub(crate) fn split(&mut self) -> (StateChanges<'_, R>, &mut Contracts) {
        (StateChanges { rows: self.rows, participants: self.participants }, self.contracts)
    }
}

/// The part of [`Out`] that state changes go to.
#[derive(Debug)]
pub(crate) struct StateChanges<'o, R> {
    rows: &'o mut R,
    participants: &'o mut participants::Scratch,
}

impl<R: Rows> StateChanges<'_, R> {
    /// Writes a state change; its account takes part in the operation, and in the transaction.
    pub(crate) fn write(&mut self, row: &StateChangeRow<'_>) {
        if row.place.operation_id == 0 {
            self.participants.add_to_transaction(row.account_id);
        } else {
            self.participants.add_to_operation(row.account_id);
        }
        self.rows.state_change(row);
    }
}
