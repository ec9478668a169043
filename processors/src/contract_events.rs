//! Contract events: those of each host function operation of a successful transaction, together. No table has them; `starmill rows` shows
//! how many there are (docs/rows.md, contract events). An operation without events has no row.

use starmill_ledger::OperationView;
use starmill_ledger::rows::{ContractEventsRow, Rows};

/// Writes the events of an operation.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, rows: &mut R) {
    let events = view.contract_events();
    if !events.is_empty() {
        rows.contract_events(&ContractEventsRow { tx_index: view.transaction.index, op_index: view.index, events });
    }
}
