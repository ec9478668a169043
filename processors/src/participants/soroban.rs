//! The contracts and addresses of an applied Soroban operation: what it calls or creates, and who authorized what.
//!
//! From the host function and its authorization entries only. Arguments, footprints, contracts called without authorization and addresses
//! in events are not among them (docs/rows.md, participants).

use starmill_ledger::{AddressBytes, Network, OperationView, contract_id};
use starmill_xdr::{
    ContractIdPreimage, HostFunction, OperationBody, SorobanAuthorizedFunction, SorobanAuthorizedInvocation, SorobanCredentials,
};

/// Adds the addresses, if the transaction is a Soroban one and was applied.
pub(super) fn collect(view: &OperationView<'_, '_>, into: &mut Vec<AddressBytes>) {
    let OperationBody::InvokeHostFunction(op) = view.body() else { return };
    if view.transaction.soroban_data().is_none() || !view.transaction.successful() {
        return;
    }
    let network = view.transaction.network;
    match op.host_function {
        HostFunction::UploadContractWasm(_) => return,
        HostFunction::InvokeContract(call) => into.push(AddressBytes::sc_address(&call.contract_address)),
        HostFunction::CreateContract(args) => created(network, &args.contract_id_preimage, into),
        HostFunction::CreateContractV2(args) => created(network, &args.contract_id_preimage, into),
    }
    for entry in op.auth {
        if let SorobanCredentials::Address(credentials) = entry.credentials {
            into.push(AddressBytes::sc_address(&credentials.address));
        }
        authorized(network, &entry.root_invocation, into);
    }
}

/// The contract that a preimage stands for, and its deployer.
fn created(network: &Network, preimage: &ContractIdPreimage<'_>, into: &mut Vec<AddressBytes>) {
    into.push(AddressBytes::contract(&contract_id::from_preimage(network, preimage)));
    if let ContractIdPreimage::Address(from) = preimage {
        into.push(AddressBytes::sc_address(&from.address));
    }
}

/// Every node of an authorization tree. Decoding bounds its depth.
fn authorized(network: &Network, invocation: &SorobanAuthorizedInvocation<'_>, into: &mut Vec<AddressBytes>) {
    match invocation.function {
        SorobanAuthorizedFunction::ContractFn(call) => into.push(AddressBytes::sc_address(&call.contract_address)),
        SorobanAuthorizedFunction::CreateContractHostFn(args) => created(network, &args.contract_id_preimage, into),
        SorobanAuthorizedFunction::CreateContractV2HostFn(args) => created(network, &args.contract_id_preimage, into),
    }
    for sub in invocation.sub_invocations {
        authorized(network, sub, into);
    }
}
