//! Contract deployments: an ACCOUNT CREATE state change for each contract that a host function operation of a successful transaction
//! creates or is authorized to create, with its deployer.
//!
//! In order: the host function itself, then the authorization trees, each node before what it calls. Each contract once an operation. Asset
//! contracts have no deployer and no row. A contract that a factory deploys without authorization is not seen, and one that was authorized
//! but never deployed is (docs/rows.md, contract deployments). Nothing fails.

use std::collections::BTreeSet;

use starmill_ledger::rows::{Category, Reason, Rows, StateChangeIds, StateChangeRow, Stream};
use starmill_ledger::{AddressBytes, OperationView, contract_id};
use starmill_xdr::{ContractIdPreimage, HostFunction, OperationBody, SorobanAuthorizedFunction, SorobanAuthorizedInvocation};

use crate::Out;

/// Writes the deployments of an operation.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, out: &mut Out<'_, R>) {
    let OperationBody::InvokeHostFunction(op) = view.body() else { return };
    if !view.transaction.successful() {
        return;
    }
    let mut deploys = Deploys { view, ids: StateChangeIds::new(Stream::ContractDeploys), seen: BTreeSet::new(), out };
    match op.host_function {
        HostFunction::CreateContract(args) => deploys.deploy(&args.contract_id_preimage),
        HostFunction::CreateContractV2(args) => deploys.deploy(&args.contract_id_preimage),
        HostFunction::InvokeContract(_) | HostFunction::UploadContractWasm(_) => {}
    }
    for entry in op.auth {
        deploys.authorized(&entry.root_invocation);
    }
}

/// The deployments of one operation.
struct Deploys<'d, 't, 'a, 'o, R> {
    view: &'d OperationView<'t, 'a>,
    ids: StateChangeIds,
    seen: BTreeSet<[u8; 32]>,
    out: &'d mut Out<'o, R>,
}

impl<R: Rows> Deploys<'_, '_, '_, '_, R> {
    /// Every node of an authorization tree. Decoding bounds its depth.
    fn authorized(&mut self, invocation: &SorobanAuthorizedInvocation<'_>) {
        match invocation.function {
            SorobanAuthorizedFunction::ContractFn(_) => {}
            SorobanAuthorizedFunction::CreateContractHostFn(args) => self.deploy(&args.contract_id_preimage),
            SorobanAuthorizedFunction::CreateContractV2HostFn(args) => self.deploy(&args.contract_id_preimage),
        }
        for sub in invocation.sub_invocations {
            self.authorized(sub);
        }
    }

    fn deploy(&mut self, preimage: &ContractIdPreimage<'_>) {
        let ContractIdPreimage::Address(from) = preimage else { return };
        let id = contract_id::from_preimage(self.view.transaction.network, preimage);
        if !self.seen.insert(id) {
            return;
        }
        self.out.state_change(&StateChangeRow {
            creator_account_id: Some(AddressBytes::sc_address(&from.address)),
            ..StateChangeRow::new(self.view.place(), self.ids.next(), Category::Account, Reason::Create, AddressBytes::contract(&id))
        });
    }
}
