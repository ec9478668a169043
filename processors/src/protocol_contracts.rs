//! Contracts: a `protocol_contracts` row for each instance of uploaded code that an operation wrote or restored; the last of a ledger
//! counts, so an upgrade shows at once. Asset contracts have no code, and removal gives no row (docs/rows.md, contracts).

use starmill_ledger::CurrentState;
use starmill_ledger::rows::ProtocolContractRow;
use starmill_xdr::{ContractDataEntry, ContractExecutable, ScAddress, ScVal};

/// Collects an entry that is there after a change, if it is an instance of code.
pub(crate) fn emit(data: &ContractDataEntry<'_>, state: &mut CurrentState) {
    if let (ScAddress::Contract(contract_id), ScVal::LedgerKeyContractInstance, ScVal::ContractInstance(instance)) =
        (data.contract, data.key, data.val)
        && let ContractExecutable::Wasm(wasm_hash) = instance.executable
    {
        state.protocol_contract(ProtocolContractRow { contract_id: *contract_id, wasm_hash: *wasm_hash });
    }
}
