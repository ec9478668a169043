//! docs/rows.md, participants.

use starmill_fixtures::{
    contract, entry, hash, key, meta, op,
    stellar_xdr::{
        AccountEntryExt, AccountEntryExtensionV1, AccountEntryExtensionV1Ext, AccountEntryExtensionV2, AccountEntryExtensionV2Ext,
        AccountId, Asset, ClaimPredicate, ContractExecutable, ContractId, ContractIdPreimage, ContractIdPreimageFromAddress,
        CreateClaimableBalanceResult, CreateContractArgs, Hash, HashIdPreimage, HashIdPreimageContractId, HostFunction, LedgerEntry,
        LedgerEntryChange, LedgerEntryData, LedgerEntryExt, LedgerEntryExtensionV1, LedgerEntryExtensionV1Ext, LedgerKey, LedgerKeyData,
        Operation, OperationBody, OperationResult, OperationResultTr, PaymentResult, RevokeSponsorshipOp, RevokeSponsorshipOpSigner,
        ScAddress, SetOptionsOp, Signer, SignerKey, SorobanAuthorizedFunction, SorobanAuthorizedInvocation, SponsorshipDescriptor, Uint256,
    },
    to_xdr,
};

use crate::support::{Collected, Shape, account_entry, alice, network, text, texts};

fn bob() -> AccountId {
    key::account("bob")
}

fn sponsor() -> AccountId {
    key::account("sponsor")
}

/// Participants of a single operation that changes nothing, of a successful transaction.
fn of(operation: Operation) -> Vec<String> {
    Shape::new(vec![operation], Vec::new()).rows().unwrap().of_operation(0)
}

fn paid() -> Vec<OperationResult> {
    vec![OperationResult::OpInner(OperationResultTr::Payment(PaymentResult::Success))]
}

#[test]
fn a_muxed_account_takes_part_as_the_account_behind_it() {
    let mut shape = Shape::new(vec![op::payment(key::muxed(&bob(), 7), Asset::Native, 5)], paid());
    shape.draft.source = key::muxed(&alice(), 9);
    let rows = shape.rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&alice(), &bob()]));
    assert_eq!(rows.of_transaction(), texts(&[&alice(), &bob()]));
}

#[test]
fn an_operation_with_a_source_of_its_own_leaves_the_transactions_out() {
    let carol = key::account("carol");
    let operation = op::from(key::plain(&carol), op::payment(key::plain(&bob()), Asset::Native, 5));
    let rows = Shape::new(vec![operation], paid()).rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&carol, &bob()]));
    assert_eq!(rows.of_transaction(), texts(&[&alice(), &carol, &bob()]));
}

#[test]
fn each_address_is_written_once() {
    let to_self = || op::payment(key::plain(&alice()), Asset::Native, 5);
    let mut shape = Shape::new(vec![to_self(), to_self()], Vec::new());
    shape.fee_changes = vec![LedgerEntryChange::State(account_entry(&alice(), 9)), LedgerEntryChange::Updated(account_entry(&alice(), 8))];
    let rows = shape.rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&alice()]));
    assert_eq!(rows.of_operation(1), texts(&[&alice()]));
    assert_eq!(rows.of_transaction(), texts(&[&alice()]));
}

#[test]
fn accounts_whose_fee_was_charged_take_part_in_the_transaction_alone() {
    let payer = key::account("payer");
    let mut shape = Shape::failed(vec![op::payment(key::plain(&bob()), Asset::Native, 5)], Vec::new());
    shape.fee_changes = vec![
        LedgerEntryChange::State(account_entry(&payer, 9)),
        LedgerEntryChange::Updated(account_entry(&payer, 8)),
        LedgerEntryChange::Restored(account_entry(&key::account("restored"), 8)),
        LedgerEntryChange::Removed(entry::account_key(&key::account("removed"))),
    ];
    let rows = shape.rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&alice(), &bob()]));
    let all = texts(&[&alice(), &bob(), &payer, &key::account("restored"), &key::account("removed")]);
    assert_eq!(rows.of_transaction(), all);
}

#[test]
fn every_claimant() {
    let claimants = ["a", "b", "c"].map(|name| op::claimant(key::account(name), ClaimPredicate::Unconditional));
    let operation = op::create_claimable_balance(Asset::Native, 5, claimants.to_vec()).unwrap();
    let id = hash::claimable_balance_id(&key::plain(&alice()), 1, 0).unwrap();
    let result = OperationResultTr::CreateClaimableBalance(CreateClaimableBalanceResult::Success(id));
    let rows = Shape::new(vec![operation], vec![OperationResult::OpInner(result)]).rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&alice(), &key::account("a"), &key::account("b"), &key::account("c")]));
}

#[test]
fn the_owner_of_a_revoked_entry_or_signer() {
    let revoke = |what| op::body(OperationBody::RevokeSponsorship(what));
    let data = LedgerKey::Data(LedgerKeyData {
        account_id: bob(),
        data_name: "d".parse::<starmill_fixtures::stellar_xdr::StringM<64>>().unwrap().into(),
    });
    assert_eq!(of(revoke(RevokeSponsorshipOp::LedgerEntry(data))), texts(&[&alice(), &bob()]));
    assert_eq!(of(revoke(RevokeSponsorshipOp::LedgerEntry(entry::offer_key(&bob(), 4)))), texts(&[&alice(), &bob()]));
    let pool = LedgerKey::LiquidityPool(starmill_fixtures::stellar_xdr::LedgerKeyLiquidityPool {
        liquidity_pool_id: starmill_fixtures::stellar_xdr::PoolId(Hash([3; 32])),
    });
    assert_eq!(of(revoke(RevokeSponsorshipOp::LedgerEntry(pool))), texts(&[&alice()]));
    let signer = RevokeSponsorshipOpSigner { account_id: bob(), signer_key: SignerKey::Ed25519(Uint256([5; 32])) };
    assert_eq!(of(revoke(RevokeSponsorshipOp::Signer(signer))), texts(&[&alice(), &bob()]));
}

/// Begin, create, end: the sponsor pays for an account that bob gets.
fn sponsored_creation(successful: bool) -> Collected {
    let operations = vec![
        op::from(key::plain(&sponsor()), op::begin_sponsoring(bob())),
        op::create_account(bob(), 100),
        op::from(key::plain(&bob()), op::end_sponsoring()),
    ];
    let mut shape = if successful { Shape::new(operations, Vec::new()) } else { Shape::failed(operations, Vec::new()) };
    if successful {
        shape.changes = vec![Vec::new(), vec![LedgerEntryChange::Created(sponsored(account_entry(&bob(), 100)))], Vec::new()];
    }
    shape.rows().unwrap()
}

fn sponsored(mut entry: LedgerEntry) -> LedgerEntry {
    entry.ext = LedgerEntryExt::V1(LedgerEntryExtensionV1 {
        sponsoring_id: SponsorshipDescriptor(Some(sponsor())),
        ext: LedgerEntryExtensionV1Ext::V0,
    });
    entry
}

#[test]
fn sponsored_creation_names_the_sponsor_in_all_three_operations() {
    let rows = sponsored_creation(true);
    assert_eq!(rows.of_operation(0), texts(&[&sponsor(), &bob()]));
    assert_eq!(rows.of_operation(1), texts(&[&alice(), &bob(), &sponsor()]));
    assert_eq!(rows.of_operation(2), texts(&[&bob(), &sponsor()]));
}

#[test]
fn a_failed_end_names_nobody_else() {
    assert_eq!(sponsored_creation(false).of_operation(2), texts(&[&bob()]));
}

#[test]
fn a_restored_entry_counts_as_created_and_an_updated_one_does_not() {
    let entry = || sponsored(account_entry(&bob(), 1));
    let with = |changes| {
        let mut shape = Shape::new(vec![op::payment(key::plain(&alice()), Asset::Native, 5)], paid());
        shape.changes = vec![changes];
        shape.rows().unwrap().of_operation(0)
    };
    assert_eq!(with(vec![LedgerEntryChange::Restored(entry())]), texts(&[&alice(), &sponsor()]));
    assert_eq!(with(vec![LedgerEntryChange::State(entry()), LedgerEntryChange::Updated(entry())]), texts(&[&alice()]));
}

/// Alice's account with one signer, sponsored or not.
fn with_signer(by: Option<AccountId>) -> LedgerEntry {
    let signer = Signer { key: SignerKey::Ed25519(Uint256([5; 32])), weight: 1 };
    let mut account = entry::account(alice(), 9, 1);
    account.signers = vec![signer].try_into().unwrap();
    account.ext = AccountEntryExt::V1(AccountEntryExtensionV1 {
        liabilities: starmill_fixtures::stellar_xdr::Liabilities { buying: 0, selling: 0 },
        ext: AccountEntryExtensionV1Ext::V2(AccountEntryExtensionV2 {
            num_sponsored: 1,
            num_sponsoring: 0,
            signer_sponsoring_i_ds: vec![SponsorshipDescriptor(by)].try_into().unwrap(),
            ext: AccountEntryExtensionV2Ext::V0,
        }),
    });
    entry::entry(7, LedgerEntryData::Account(account))
}

#[test]
fn the_sponsor_of_a_signer_that_was_set() {
    let set = |weight| {
        let signer = Some(Signer { key: SignerKey::Ed25519(Uint256([5; 32])), weight });
        op::set_options(SetOptionsOp { signer, ..SetOptionsOp::default() })
    };
    let with = |before, after| {
        let mut shape = Shape::new(vec![set(1)], Vec::new());
        shape.changes = vec![vec![LedgerEntryChange::State(before), LedgerEntryChange::Updated(after)]];
        shape.rows().unwrap().of_operation(0)
    };
    assert_eq!(with(account_entry(&alice(), 9), with_signer(Some(sponsor()))), texts(&[&alice(), &sponsor()]));
    assert_eq!(with(with_signer(Some(bob())), with_signer(Some(sponsor()))), texts(&[&alice(), &sponsor()]));
    assert_eq!(with(with_signer(Some(sponsor())), with_signer(Some(sponsor()))), texts(&[&alice()]));
    assert_eq!(with(with_signer(Some(sponsor())), with_signer(None)), texts(&[&alice()]));
}

#[test]
fn the_transactions_of_meta_v0_name_the_accounts_they_changed() {
    let mut shape = Shape::new(vec![op::create_account(bob(), 5)], Vec::new());
    shape.meta = meta::v0;
    shape.changes = vec![vec![LedgerEntryChange::Created(account_entry(&key::account("other"), 5))]];
    let rows = shape.rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&alice(), &bob()]));
    assert_eq!(rows.of_transaction(), texts(&[&alice(), &bob(), &key::account("other")]));
}

/// A call of a token by muxed alice, authorized by bob, which calls another contract in turn.
fn call() -> (Operation, ContractId, ContractId) {
    let (token, inner) = (contract::labelled("token"), contract::labelled("inner"));
    let argument = ScAddress::Account(key::account("argument"));
    let call = contract::transfer(token.clone(), argument.clone(), argument.clone(), 5).unwrap();
    let mut auth = contract::by_address(call.clone(), &bob(), 1, 100).unwrap();
    let sub = SorobanAuthorizedInvocation {
        function: SorobanAuthorizedFunction::ContractFn(contract::transfer(inner.clone(), argument.clone(), argument, 5).unwrap()),
        sub_invocations: Vec::new().try_into().unwrap(),
    };
    auth.root_invocation.sub_invocations = vec![sub].try_into().unwrap();
    let operation = op::invoke_host_function(HostFunction::InvokeContract(call), vec![auth]).unwrap();
    (op::from(key::muxed(&alice(), 3), operation), token, inner)
}

fn resources() -> starmill_fixtures::stellar_xdr::SorobanTransactionData {
    contract::resources(vec![entry::account_key(&key::account("footprint"))], Vec::new(), 50).unwrap()
}

fn contract_text(id: &ContractId) -> String {
    ScAddress::Contract(id.clone()).to_string()
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

#[test]
fn a_contract_call_names_contracts_and_signers_and_not_arguments_or_footprint() {
    let (operation, token, inner) = call();
    let rows = Shape::new(vec![operation], Vec::new()).soroban(resources()).rows().unwrap();
    let expected = vec![text(&alice()), text(&bob()), contract_text(&token), contract_text(&inner)];
    assert_eq!(sorted(rows.of_operation(0)), sorted(expected));
}

#[test]
fn a_call_that_failed_or_is_not_a_soroban_transaction_names_its_source_alone() {
    let failed = Shape::failed(vec![call().0], Vec::new()).soroban(resources()).rows().unwrap();
    assert_eq!(failed.of_operation(0), texts(&[&alice()]));
    let classic = Shape::new(vec![call().0], Vec::new()).rows().unwrap();
    assert_eq!(classic.of_operation(0), texts(&[&alice()]));
}

#[test]
fn a_created_contract_and_its_deployer() {
    let preimage =
        ContractIdPreimage::Address(ContractIdPreimageFromAddress { address: ScAddress::Account(bob()), salt: Uint256([7; 32]) });
    let create = HostFunction::CreateContract(CreateContractArgs {
        contract_id_preimage: preimage.clone(),
        executable: ContractExecutable::Wasm(Hash([1; 32])),
    });
    let operation = op::invoke_host_function(create, Vec::new()).unwrap();
    let rows = Shape::new(vec![operation], Vec::new()).soroban(resources()).rows().unwrap();
    let whole = HashIdPreimage::ContractId(HashIdPreimageContractId { network_id: network(), contract_id_preimage: preimage });
    let id = ContractId(hash::sha256(&to_xdr(&whole).unwrap()));
    assert_eq!(sorted(rows.of_operation(0)), sorted(vec![text(&alice()), text(&bob()), contract_text(&id)]));
}

#[test]
fn an_asset_contract_names_no_deployer() {
    let operation = op::invoke_host_function(contract::deploy(Asset::Native), Vec::new()).unwrap();
    let rows = Shape::new(vec![operation], Vec::new()).soroban(resources()).rows().unwrap();
    let id = hash::asset_contract_id(&network(), &Asset::Native).unwrap();
    assert_eq!(sorted(rows.of_operation(0)), sorted(vec![text(&alice()), contract_text(&id)]));
}
