//! docs/rows.md, contract deployments.

use starmill_fixtures::{
    contract, hash, key, op,
    stellar_xdr::{
        AccountId, Asset, ContractExecutable, ContractId, ContractIdPreimage, ContractIdPreimageFromAddress, CreateContractArgs,
        CreateContractArgsV2, Hash, HashIdPreimage, HashIdPreimageContractId, HostFunction, InvokeContractArgs, Operation, ScAddress,
        SorobanAuthorizationEntry, SorobanAuthorizedFunction, SorobanAuthorizedInvocation, SorobanCredentials, Uint256, VecM,
    },
    to_xdr,
};

use crate::entry_support::{StateChange, Tx, contract_text};
use crate::support::{alice, network, text};

fn bob() -> AccountId {
    key::account("bob")
}

/// What deployer and salt make.
fn preimage(salt: u8) -> ContractIdPreimage {
    ContractIdPreimage::Address(ContractIdPreimageFromAddress { address: ScAddress::Account(bob()), salt: Uint256([salt; 32]) })
}

fn id(salt: u8) -> ContractId {
    let whole = HashIdPreimageContractId { network_id: network(), contract_id_preimage: preimage(salt) };
    ContractId(hash::sha256(&to_xdr(&HashIdPreimage::ContractId(whole)).unwrap()))
}

fn v1(salt: u8) -> CreateContractArgs {
    CreateContractArgs { contract_id_preimage: preimage(salt), executable: ContractExecutable::Wasm(Hash([1; 32])) }
}

fn v2(salt: u8) -> CreateContractArgsV2 {
    CreateContractArgsV2 {
        contract_id_preimage: preimage(salt),
        executable: ContractExecutable::Wasm(Hash([1; 32])),
        constructor_args: VecM::default(),
    }
}

fn node(function: SorobanAuthorizedFunction, subs: Vec<SorobanAuthorizedInvocation>) -> SorobanAuthorizedInvocation {
    SorobanAuthorizedInvocation { function, sub_invocations: subs.try_into().unwrap() }
}

fn deploy(salt: u8, subs: Vec<SorobanAuthorizedInvocation>) -> SorobanAuthorizedInvocation {
    node(SorobanAuthorizedFunction::CreateContractHostFn(v1(salt)), subs)
}

fn invoke() -> InvokeContractArgs {
    let party = ScAddress::Account(alice());
    contract::transfer(contract::labelled("factory"), party.clone(), party, 5).unwrap()
}

fn operation(host_function: HostFunction, roots: Vec<SorobanAuthorizedInvocation>) -> Operation {
    let auth = roots
        .into_iter()
        .map(|root_invocation| SorobanAuthorizationEntry { credentials: SorobanCredentials::SourceAccount, root_invocation });
    op::invoke_host_function(host_function, auth.collect()).unwrap()
}

fn deployed(operation: Operation) -> Vec<String> {
    rows(operation).into_iter().map(|row| row.account).collect()
}

fn rows(operation: Operation) -> Vec<StateChange> {
    Tx::of(vec![operation], Vec::new()).rows().changes
}

#[test]
fn a_created_contract_its_deployer_and_its_participation() {
    for host_function in [HostFunction::CreateContract(v1(1)), HostFunction::CreateContractV2(v2(1))] {
        let rows = Tx::of(vec![operation(host_function, Vec::new())], Vec::new()).rows();
        let expected = StateChange {
            operation: 1,
            id: 536_870_913,
            what: "ACCOUNT CREATE".to_owned(),
            account: contract_text(&id(1)),
            token: None,
            creator: Some(text(&bob())),
            flags: None,
        };
        assert_eq!(rows.changes, [expected]);
        assert!(rows.participants.contains(&contract_text(&id(1))));
    }
}

#[test]
fn an_asset_contract_has_no_row() {
    assert_eq!(rows(operation(contract::deploy(Asset::Native), Vec::new())), []);
}

#[test]
fn the_host_function_comes_first_then_the_trees_node_before_subs_each_contract_once() {
    let tree = node(
        SorobanAuthorizedFunction::ContractFn(invoke()),
        vec![
            deploy(4, vec![deploy(2, Vec::new()), node(SorobanAuthorizedFunction::CreateContractV2HostFn(v2(3)), Vec::new())]),
            deploy(1, Vec::new()),
        ],
    );
    let operation = operation(HostFunction::CreateContract(v1(1)), vec![tree, deploy(5, Vec::new()), deploy(2, Vec::new())]);
    let rows = rows(operation);
    let accounts: Vec<_> = rows.iter().map(|row| row.account.clone()).collect();
    assert_eq!(accounts, [1, 4, 2, 3, 5].map(|salt| contract_text(&id(salt))));
    let ids: Vec<_> = rows.iter().map(|row| row.id - (2 << 28)).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
}

#[test]
fn calls_and_uploads_deploy_what_they_are_authorized_to() {
    let upload = HostFunction::UploadContractWasm(vec![0; 8].try_into().unwrap());
    assert_eq!(deployed(operation(upload, vec![deploy(1, Vec::new())])), [contract_text(&id(1))]);
    let call = HostFunction::InvokeContract(invoke());
    assert_eq!(deployed(operation(call, vec![deploy(1, Vec::new())])), [contract_text(&id(1))]);
}

#[test]
fn a_failed_transaction_deploys_nothing_and_adds_no_participant() {
    let create = || operation(HostFunction::CreateContract(v1(1)), Vec::new());
    let rows = Tx { successful: false, ..Tx::of(vec![create()], Vec::new()) }.rows();
    assert_eq!(rows.changes, []);
    assert_eq!(rows.participants, [text(&alice())]);
}

#[test]
fn a_fee_bump_gives_the_same_rows() {
    let create = || operation(HostFunction::CreateContract(v1(1)), Vec::new());
    let bumped = Tx { bumped: true, ..Tx::of(vec![create()], Vec::new()) }.rows();
    assert_eq!(bumped.changes, rows(create()));
}
