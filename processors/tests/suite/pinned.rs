//! What the service that docs/rows.md follows has pinned by its tests and no other file here has: ledgers without transactions or
//! operations, what netting leaves of a whole ledger, who takes part in contract operations, and effects told by key rather than by place.

use starmill_fixtures::{
    CloseMeta, LedgerBuilder, asset, contract, entry,
    envelope::{self, Draft},
    event, hash, key,
    meta::{self, TransactionEffects},
    op, result,
    stellar_xdr::{
        AccountId, Asset, ContractDataDurability, ContractDataEntry, ContractId, ExtendFootprintTtlOp, ExtensionPoint, Hash, HostFunction,
        LedgerCloseMeta, LedgerEntryChange, LedgerEntryData, LiquidityPoolConstantProductParameters, LiquidityPoolEntry,
        LiquidityPoolEntryBody, LiquidityPoolEntryConstantProduct, Operation, OperationBody, PoolId, RestoreFootprintOp,
        RevokeSponsorshipOp, RevokeSponsorshipOpSigner, ScAddress, ScVal, SetOptionsOp, SignerKey, Thresholds, TransactionEnvelope,
        TrustLineAsset, TrustLineEntry, Uint256,
    },
};
use starmill_ledger::rows::{EntryOp, Stream};

use crate::entry_support::{Taken, Tx, created, entry_of, ledger, ops, removed, restored, sac, updated, usd};
use crate::support::{Shape, account_entry, alice, network, rows_of, text, texts};

use EntryOp::{Add, Remove, Update};

fn bob() -> AccountId {
    key::account("bob")
}

fn pay(to: &AccountId) -> Operation {
    op::payment(key::plain(to), Asset::Native, 5)
}

fn sent(by: &AccountId, operations: Vec<Operation>) -> TransactionEnvelope {
    envelope::v1(&network(), Draft::new(key::plain(by), 1, operations)).unwrap()
}

/// A ledger of these envelopes, all successful.
fn ledger_of(envelopes: Vec<TransactionEnvelope>) -> LedgerCloseMeta {
    let mut builder = LedgerBuilder::new(network(), 9).close_meta(CloseMeta::V2);
    for envelope in envelopes {
        let meta = meta::v4(TransactionEffects::default()).unwrap();
        builder = builder.transaction(envelope, result::success(100, Vec::new()).unwrap(), meta, Vec::new(), Vec::new());
    }
    builder.build(hash::sha256(b"before")).unwrap()
}

#[test]
fn a_ledger_without_transactions_has_no_rows() {
    assert_eq!(rows_of(&ledger_of(Vec::new())).unwrap(), crate::support::Collected::default());
}

#[test]
fn a_transaction_without_operations_has_its_fee_and_its_source() {
    let rows = Shape::new(Vec::new(), Vec::new()).rows().unwrap();
    assert_eq!((rows.operations.len(), rows.operation_accounts.len(), rows.state_changes.len()), (0, 0, 1));
    assert_eq!(rows.of_transaction(), texts(&[&alice()]));
}

#[test]
fn transactions_with_the_same_people_each_have_their_own_set() {
    let carol = key::account("carol");
    let rows = rows_of(&ledger_of(vec![sent(&alice(), vec![pay(&bob())]), sent(&bob(), vec![pay(&alice()), pay(&carol)])])).unwrap();
    let of = |to_id: i64| rows.transaction_accounts.iter().filter(|(id, _)| *id == to_id).map(|(_, who)| who.clone()).collect::<Vec<_>>();
    assert_eq!(of(rows.transactions[0].to_id), texts(&[&alice(), &bob()]));
    assert_eq!(of(rows.transactions[1].to_id), texts(&[&alice(), &bob(), &carol]));
    assert_eq!(rows.transaction_accounts.len() + rows.operation_accounts.len(), 5 + 6);
}

#[test]
fn the_same_envelope_twice_is_two_transactions() {
    let envelope = sent(&alice(), vec![pay(&bob())]);
    let rows = rows_of(&ledger_of(vec![envelope.clone(), envelope])).unwrap();
    assert_eq!(rows.transactions.iter().map(|t| t.to_id & 0xFFFF_FFFF).collect::<Vec<_>>(), [1 << 12, 2 << 12]);
    assert_eq!(rows.transactions[0].hash, rows.transactions[1].hash);
    assert_eq!((rows.operations.len(), rows.state_changes.len()), (2, 6));
}

#[test]
fn who_only_pays_the_fee_takes_part_in_the_transaction_alone() {
    let mut shape = Shape::new(vec![pay(&bob())], Vec::new());
    shape.bumped_by = Some(key::account("payer"));
    let rows = shape.rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&alice(), &bob()]));
    assert_eq!(rows.of_transaction(), texts(&[&alice(), &bob(), &key::account("payer")]));
}

#[test]
fn a_meta_with_fewer_operations_than_the_transaction_has_no_changes_for_the_others() {
    let mut shape = Shape::new(vec![pay(&bob()), pay(&bob())], Vec::new());
    shape.changes = vec![vec![LedgerEntryChange::Created(account_entry(&bob(), 5))]];
    let rows = shape.rows().unwrap();
    assert_eq!((rows.operations.len(), rows.state_changes.len()), (2, 5));
    let call = || {
        let call = contract::transfer(contract::labelled("c"), ScAddress::Account(alice()), ScAddress::Account(bob()), 1).unwrap();
        op::invoke_host_function(HostFunction::InvokeContract(call), Vec::new()).unwrap()
    };
    let said = event::contract_event(contract::labelled("c"), vec![ScVal::U32(1)], ScVal::Void).unwrap();
    let rows = Tx { events: vec![vec![said]], ..Tx::of(vec![call(), call()], vec![Vec::new()]) }.rows();
    assert_eq!(rows.events, [(1, 0, 1)]);
}

#[test]
fn each_stream_of_an_operation_counts_from_its_own_base() {
    #[derive(Default)]
    struct Ids(Vec<i64>);
    impl starmill_ledger::rows::Rows for Ids {
        fn ledger(&mut self, _: &starmill_ledger::rows::LedgerRow) {}
        fn transaction(&mut self, _: &starmill_ledger::rows::TransactionRow<'_>) {}
        fn operation(&mut self, _: &starmill_ledger::rows::OperationRow<'_>) {}
        fn transaction_account(&mut self, _: &starmill_ledger::rows::TransactionAccountRow) {}
        fn operation_account(&mut self, _: &starmill_ledger::rows::OperationAccountRow) {}
        fn state_change(&mut self, row: &starmill_ledger::rows::StateChangeRow<'_>) {
            self.0.push(row.state_change_id);
        }
        fn append(&mut self, _: &mut Self) {}
        fn rows(&self) -> u64 {
            0
        }
        fn bytes(&self) -> usize {
            0
        }
        fn clear(&mut self) {}
    }
    let ledger = ledger_of(vec![sent(&alice(), vec![op::create_account(bob(), 7), op::create_account(bob(), 7)])]);
    let ids = crate::support::rows_in::<Ids>(&ledger).unwrap().0;
    let effects = Stream::Effects.base();
    assert_eq!(ids, [1, 1, 2, 3, effects + 1, 1, 2, 3, effects + 1]);
}

// What netting leaves of a whole ledger.

fn line() -> LedgerEntryData {
    LedgerEntryData::Trustline(entry::trust_line(bob(), &usd(), 100))
}

fn shares() -> LedgerEntryData {
    let asset = TrustLineAsset::PoolShare(PoolId(Hash([3; 32])));
    LedgerEntryData::Trustline(TrustLineEntry { asset, ..entry::trust_line(bob(), &usd(), 100) })
}

fn pool() -> LedgerEntryData {
    let params = LiquidityPoolConstantProductParameters { asset_a: Asset::Native, asset_b: usd(), fee: 30 };
    let body = LiquidityPoolEntryBody::LiquidityPoolConstantProduct(LiquidityPoolEntryConstantProduct {
        params,
        reserve_a: 5,
        reserve_b: 6,
        total_pool_shares: 1,
        pool_shares_trust_line_count: 1,
    });
    let liquidity_pool_id = PoolId(Hash([3; 32]));
    LedgerEntryData::LiquidityPool(LiquidityPoolEntry { liquidity_pool_id, body })
}

fn holding(holder: &str) -> LedgerEntryData {
    contract::balance(sac(&usd()), contract::labelled(holder), 5).unwrap()
}

fn account() -> LedgerEntryData {
    LedgerEntryData::Account(entry::account(bob(), 9, 1))
}

/// Reads what one table says.
type Said = fn(&Taken) -> Vec<EntryOp>;

/// What each of the five tables says of one entry after these steps, in one transaction and in one each.
fn left(steps: &[fn(LedgerEntryData) -> Vec<LedgerEntryChange>]) -> Vec<Vec<EntryOp>> {
    let tables: [(LedgerEntryData, Said); 5] = [
        (account(), |rows| ops(&rows.native, |row| row.op)),
        (line(), |rows| ops(&rows.lines, |row| row.op)),
        (holding("vault"), |rows| ops(&rows.sac, |row| row.op)),
        (pool(), |rows| ops(&rows.pools, |row| row.op)),
        (shares(), |rows| ops(&rows.shares, |row| row.op)),
    ];
    let mut all = Vec::new();
    for (data, seen) in tables {
        let lists: Vec<_> = steps.iter().map(|step| step(data.clone())).collect();
        let in_one_operation = Tx::changing(vec![lists.concat()]).rows();
        let in_one_transaction = Tx::changing(lists.clone()).rows();
        let apart = ledger(23, lists.into_iter().map(|changes| Tx::changing(vec![changes])).collect()).unwrap();
        let found = seen(&in_one_operation);
        assert_eq!((&found, &found), (&seen(&in_one_transaction), &seen(&apart)));
        all.push(found);
    }
    all
}

fn touched(data: LedgerEntryData) -> Vec<LedgerEntryChange> {
    updated(data.clone(), data)
}

#[test]
fn what_is_made_and_removed_in_a_ledger_leaves_nothing() {
    assert_eq!(left(&[created, removed]), vec![Vec::new(); 5]);
    assert_eq!(left(&[created, removed, created, removed]), vec![Vec::new(); 5]);
}

#[test]
fn what_was_there_and_is_removed_is_a_removal() {
    assert_eq!(left(&[touched, removed]), vec![vec![Remove]; 5]);
    assert_eq!(left(&[removed, created, removed]), vec![vec![Remove]; 5]);
    assert_eq!(left(&[restored, removed]), vec![vec![Remove]; 5]);
}

#[test]
fn what_is_made_anew_after_its_removal_is_there() {
    assert_eq!(left(&[created, removed, created]), vec![vec![Add]; 5]);
    assert_eq!(left(&[removed, created]), vec![vec![Add]; 5]);
    assert_eq!(left(&[removed, created, touched]), vec![vec![Update]; 5]);
}

#[test]
fn holders_and_contracts_are_netted_apart() {
    let euro = asset::credit("EUR", &bob()).unwrap();
    let other = contract::balance(sac(&euro), contract::labelled("vault"), 5).unwrap();
    let changes = [created(holding("vault")), created(holding("box")), touched(other), removed(holding("vault"))].concat();
    let mut ops = ops(&Tx::call(changes).rows().sac, |row| row.op);
    ops.sort();
    assert_eq!(ops, [Add, Update]);
}

// Contract operations and who takes part.

fn resources() -> starmill_fixtures::stellar_xdr::SorobanTransactionData {
    let in_footprint = contract::instance_key(contract::labelled("in the footprint"));
    contract::resources(vec![in_footprint.clone()], vec![in_footprint], 50).unwrap()
}

/// Participants of an operation of alice's and of one of bob's own, plain and bumped, which must be alike.
fn participants(operation: &Operation) -> Vec<Vec<String>> {
    let by = |source: Option<&AccountId>, bumped: bool| {
        let operation = source.map_or_else(|| operation.clone(), |source| op::from(key::plain(source), operation.clone()));
        let mut shape = Shape::new(vec![operation], Vec::new()).soroban(resources());
        shape.bumped_by = bumped.then(|| key::account("payer"));
        shape.fee_changes = Vec::new();
        shape.rows().unwrap().of_operation(0)
    };
    [None, Some(&bob())]
        .map(|source| {
            let plain = by(source, false);
            assert_eq!(by(source, true), plain);
            plain
        })
        .to_vec()
}

#[test]
fn footprints_name_nobody() {
    let extend = op::body(OperationBody::ExtendFootprintTtl(ExtendFootprintTtlOp { ext: ExtensionPoint::V0, extend_to: 7 }));
    let restore = op::body(OperationBody::RestoreFootprint(RestoreFootprintOp { ext: ExtensionPoint::V0 }));
    for operation in [extend, restore] {
        assert_eq!(participants(&operation), [texts(&[&alice()]), texts(&[&bob()])]);
    }
}

#[test]
fn events_of_footprint_operations_are_not_counted() {
    let extend = op::body(OperationBody::ExtendFootprintTtl(ExtendFootprintTtlOp { ext: ExtensionPoint::V0, extend_to: 7 }));
    let restore = op::body(OperationBody::RestoreFootprint(RestoreFootprintOp { ext: ExtensionPoint::V0 }));
    for operation in [extend, restore] {
        let said = event::contract_event(contract::labelled("c"), vec![ScVal::U32(1)], ScVal::Void).unwrap();
        let rows = Tx { events: vec![vec![said]], ..Tx::of(vec![operation], vec![Vec::new()]) }.rows();
        assert_eq!(rows.events, []);
    }
}

#[test]
fn an_upload_names_its_source_alone() {
    let upload = HostFunction::UploadContractWasm(vec![0; 8].try_into().unwrap());
    let operation = op::invoke_host_function(upload, Vec::new()).unwrap();
    assert_eq!(participants(&operation), [texts(&[&alice()]), texts(&[&bob()])]);
}

#[test]
fn a_call_without_authorization_names_its_contract() {
    let token: ContractId = contract::labelled("token");
    let call = contract::transfer(token.clone(), ScAddress::Account(bob()), ScAddress::Account(bob()), 1).unwrap();
    let operation = op::invoke_host_function(HostFunction::InvokeContract(call), Vec::new()).unwrap();
    let [of_alice, _] = participants(&operation).try_into().unwrap();
    assert_eq!(of_alice, [ScAddress::Contract(token).to_string(), text(&alice())]);
}

#[test]
fn temporary_entries_are_no_balances() {
    let LedgerEntryData::ContractData(balance) = holding("vault") else { panic!() };
    let temporary = ContractDataEntry { durability: ContractDataDurability::Temporary, ..balance };
    assert!(Tx::call(created(LedgerEntryData::ContractData(temporary))).rows().sac.is_empty());
}

// Effects.

#[test]
fn the_state_before_is_told_by_its_key_and_not_by_its_place() {
    let with = |who: &AccountId, threshold: u8| {
        let mut account = entry::account(who.clone(), 9, 1);
        account.thresholds = Thresholds([1, threshold, 0, 0]);
        LedgerEntryData::Account(account)
    };
    let options = SetOptionsOp { low_threshold: Some(3), ..SetOptionsOp::default() };
    // Whichever of both keys sorts first, somebody else's change stands before bob's once.
    for (other, own) in [(alice(), bob()), (bob(), alice())] {
        let mut shape = Shape::new(vec![op::from(key::plain(&own), op::set_options(options.clone()))], Vec::new());
        shape.changes = vec![[updated(with(&other, 8), with(&other, 9)), updated(with(&own, 2), with(&own, 3))].concat()];
        let rows = shape.rows().unwrap().state_changes;
        assert_eq!(rows.last().unwrap(), &format!("1 SIGNATURE_THRESHOLD UPDATE {} threshold=LOW old=2 new=3", text(&own)));
    }
}

#[test]
fn a_new_trustline_whose_entry_is_not_shown_has_no_authorization() {
    // The only trustline among the changes is for another asset of the same type.
    let other = asset::credit("EUR", &bob()).unwrap();
    let line = LedgerEntryData::Trustline(entry::trust_line(alice(), &other, 500));
    let mut shape = Shape::new(vec![op::change_trust(&usd(), 500)], Vec::new());
    shape.changes = vec![vec![LedgerEntryChange::Created(entry_of(line))]];
    let rows = shape.rows().unwrap().state_changes;
    let token = ScAddress::Contract(sac(&usd())).to_string();
    assert_eq!(rows[1..], [format!("1 TRUSTLINE ADD {} token={token} limit_new=500", text(&alice()))]);
}

#[test]
fn sponsorship_has_no_effects() {
    let key = |owner: &AccountId| RevokeSponsorshipOp::LedgerEntry(entry::account_key(owner));
    let signer = RevokeSponsorshipOpSigner { account_id: bob(), signer_key: SignerKey::Ed25519(Uint256([1; 32])) };
    let revoke = |what| op::body(OperationBody::RevokeSponsorship(what));
    let all = vec![
        op::begin_sponsoring(bob()),
        op::from(key::plain(&bob()), op::end_sponsoring()),
        revoke(key(&bob())),
        revoke(RevokeSponsorshipOp::Signer(signer)),
        revoke(RevokeSponsorshipOp::LedgerEntry(entry::trust_line_key(&bob(), &usd()))),
    ];
    let mut shape = Shape::new(all, Vec::new());
    let mut sponsored = entry_of(account());
    sponsored.ext = entry::sponsored_by(alice());
    let before = LedgerEntryChange::State(entry_of(account()));
    shape.changes = vec![Vec::new(), Vec::new(), vec![before, LedgerEntryChange::Updated(sponsored)]];
    let rows = shape.rows().unwrap().state_changes;
    assert_eq!(rows.len(), 1, "{rows:#?}");
}

#[test]
fn a_transaction_that_failed_names_its_accounts_and_changes_nothing() {
    let rows = Tx { successful: false, ..Tx::of(vec![pay(&bob())], Vec::new()) }.rows();
    assert_eq!((rows.changes.len(), rows.native.len(), rows.participants), (0, 0, texts(&[&alice(), &bob()])));
}
