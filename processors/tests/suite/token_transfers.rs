//! docs/rows.md, token transfers: what classic operations move. Fees, pools and contracts have files of their own.

mod contract;
mod fees;
mod offers;
mod pools;

use starmill_fixtures::{
    asset, entry, hash, key, op,
    stellar_xdr::{
        AccountId, AccountMergeResult, Asset, ClaimClaimableBalanceResult, ClaimableBalanceEntry, ClaimableBalanceEntryExt,
        ClaimableBalanceId, ClawbackClaimableBalanceOp, ClawbackOp, CreateClaimableBalanceResult, Hash, InflationPayout, InflationResult,
        LedgerEntryChange, LedgerEntryData, Operation, OperationBody, OperationResult, OperationResultTr, PoolId, ScAddress,
    },
};
use starmill_ledger::AddressBytes;
use starmill_ledger::address::version;

use crate::support::{Collected, Shape, account_entry, alice, network, text, texts};

pub(crate) fn bob() -> AccountId {
    key::account("bob")
}

pub(crate) fn issuer() -> AccountId {
    key::account("issuer")
}

/// A credit asset of `issuer`.
pub(crate) fn usd() -> Asset {
    asset::credit("USD", &issuer()).unwrap()
}

pub(crate) fn pool_id() -> PoolId {
    PoolId(Hash([0x11; 32]))
}

pub(crate) fn balance_id() -> ClaimableBalanceId {
    ClaimableBalanceId::ClaimableBalanceIdTypeV0(Hash([0xCB; 32]))
}

/// Rows of this stream, the fee's left out, with names for addresses.
pub(crate) fn named(rows: &Collected) -> Vec<String> {
    let mut names = vec![
        (AddressBytes::new(version::LIQUIDITY_POOL, &pool_id().0.0).to_strkey(), "pool".to_owned()),
        (AddressBytes::new(version::CLAIMABLE_BALANCE, &[0xCB; 32]).to_strkey(), "balance".to_owned()),
        (ScAddress::Contract(starmill_fixtures::contract::labelled("c")).to_string(), "contract".to_owned()),
    ];
    for name in ["alice", "bob", "carol", "issuer", "payer"] {
        names.push((text(&key::account(name)), name.to_owned()));
    }
    for (asset, name) in [(Asset::Native, "native"), (usd(), "usd"), (asset::credit("LONGCODE", &bob()).unwrap(), "longcode")] {
        names.push((ScAddress::Contract(hash::asset_contract_id(&network(), &asset).unwrap()).to_string(), name.to_owned()));
    }
    let ours = rows.state_changes.iter().filter(|row| row.contains(" BALANCE ") || row.contains(" ACCOUNT "));
    ours.map(|row| names.iter().fold(row.clone(), |row, (address, name)| row.replace(address, name))).collect()
}

/// Rows of one operation of alice's, without the fee's.
pub(crate) fn of(operation: Operation, result: OperationResultTr, changes: Vec<LedgerEntryChange>) -> Vec<String> {
    let mut shape = Shape::new(vec![operation], vec![OperationResult::OpInner(result)]);
    shape.changes = vec![changes];
    let mut rows = named(&shape.rows().unwrap());
    assert_eq!(rows.remove(0), "1 BALANCE DEBIT alice token=native amount=100");
    rows
}

/// Why an operation of alice's fails the ledger: code and operation.
pub(crate) fn refused(
    operation: Operation,
    result: Option<OperationResultTr>,
    changes: Vec<LedgerEntryChange>,
) -> (&'static str, Option<u32>) {
    let mut shape = Shape::new(vec![operation], result.into_iter().map(OperationResult::OpInner).collect());
    shape.changes = vec![changes];
    let error = shape.rows().unwrap_err();
    assert_eq!((error.ledger, error.transaction), (9, Some(1)));
    (error.code(), error.operation)
}

/// A result that no rule here looks at.
pub(crate) fn unread() -> OperationResultTr {
    OperationResultTr::ClaimClaimableBalance(ClaimClaimableBalanceResult::Success)
}

fn pay(to: &AccountId, asset: Asset) -> Operation {
    op::payment(key::plain(to), asset, 5)
}

fn by_issuer(operation: Operation) -> Operation {
    op::from(key::plain(&issuer()), operation)
}

#[test]
fn a_payment_debits_and_credits() {
    let rows = ["1 BALANCE DEBIT alice token=native amount=5", "2 BALANCE CREDIT bob token=native amount=5"];
    assert_eq!(of(pay(&bob(), Asset::Native), unread(), Vec::new()), rows);
    assert_eq!(of(op::payment(key::muxed(&bob(), 7), Asset::Native, 5), unread(), Vec::new()), rows);
    let rows = ["1 BALANCE DEBIT alice token=usd amount=5", "2 BALANCE CREDIT bob token=usd amount=5"];
    assert_eq!(of(pay(&bob(), usd()), unread(), Vec::new()), rows);
    let longcode = asset::credit("LONGCODE", &bob()).unwrap();
    let rows = ["1 BALANCE BURN bob token=longcode amount=5", "2 BALANCE DEBIT alice token=longcode amount=5"];
    assert_eq!(of(pay(&bob(), longcode), unread(), Vec::new()), rows);
}

#[test]
fn the_issuer_mints_what_it_pays_and_burns_what_it_is_paid() {
    let minted = ["1 BALANCE MINT issuer token=usd amount=5", "2 BALANCE CREDIT bob token=usd amount=5"];
    assert_eq!(of(by_issuer(pay(&bob(), usd())), unread(), Vec::new()), minted);
    let burned = ["1 BALANCE BURN issuer token=usd amount=5", "2 BALANCE DEBIT alice token=usd amount=5"];
    assert_eq!(of(pay(&issuer(), usd()), unread(), Vec::new()), burned);
    let to_itself = ["1 BALANCE DEBIT issuer token=usd amount=5", "2 BALANCE CREDIT issuer token=usd amount=5"];
    assert_eq!(of(by_issuer(pay(&issuer(), usd())), unread(), Vec::new()), to_itself);
    let native = ["1 BALANCE DEBIT issuer token=native amount=5", "2 BALANCE CREDIT bob token=native amount=5"];
    assert_eq!(of(by_issuer(pay(&bob(), Asset::Native)), unread(), Vec::new()), native);
}

#[test]
fn accounts_are_made_and_merged() {
    let made =
        ["1 ACCOUNT CREATE bob creator=alice", "2 BALANCE DEBIT alice token=native amount=7", "3 BALANCE CREDIT bob token=native amount=7"];
    assert_eq!(of(op::create_account(bob(), 7), unread(), Vec::new()), made);
    for balance in [0, 7] {
        let result = OperationResultTr::AccountMerge(AccountMergeResult::Success(balance));
        let merged = [
            "1 ACCOUNT MERGE alice destination=bob".to_owned(),
            format!("2 BALANCE DEBIT alice token=native amount={balance}"),
            format!("3 BALANCE CREDIT bob token=native amount={balance}"),
        ];
        assert_eq!(of(op::account_merge(key::muxed(&bob(), 3)), result, Vec::new()), merged);
    }
}

#[test]
fn a_failed_transaction_moves_its_fee_alone() {
    let rows = Shape::failed(vec![pay(&bob(), Asset::Native)], Vec::new()).rows().unwrap();
    assert_eq!(named(&rows), ["1 BALANCE DEBIT alice token=native amount=100"]);
}

#[test]
fn each_operation_counts_from_one_and_may_have_another_source() {
    let carol = key::account("carol");
    let operations = vec![pay(&bob(), Asset::Native), op::from(key::muxed(&carol, 4), pay(&bob(), Asset::Native))];
    let rows = Shape::new(operations, Vec::new()).rows().unwrap();
    let moved = [
        "1 BALANCE DEBIT alice token=native amount=100",
        "1 BALANCE DEBIT alice token=native amount=5",
        "2 BALANCE CREDIT bob token=native amount=5",
        "1 BALANCE DEBIT carol token=native amount=5",
        "2 BALANCE CREDIT bob token=native amount=5",
    ];
    assert_eq!(named(&rows), moved);
    assert_eq!(rows.of_operation(1), texts(&[&carol, &bob()]));
}

fn balance(amount: i64) -> starmill_fixtures::stellar_xdr::LedgerEntry {
    let balance = ClaimableBalanceEntry {
        balance_id: balance_id(),
        claimants: Vec::new().try_into().unwrap(),
        asset: usd(),
        amount,
        ext: ClaimableBalanceEntryExt::V0,
    };
    entry::entry(7, LedgerEntryData::ClaimableBalance(balance))
}

fn taken() -> Vec<LedgerEntryChange> {
    vec![LedgerEntryChange::State(balance(6)), LedgerEntryChange::Removed(entry::claimable_balance_key(&balance_id()))]
}

#[test]
fn a_claimable_balance_shows_on_the_side_of_the_account_alone() {
    let create = op::create_claimable_balance(usd(), 6, Vec::new()).unwrap();
    let created = OperationResultTr::CreateClaimableBalance(CreateClaimableBalanceResult::Success(balance_id()));
    assert_eq!(of(create.clone(), created.clone(), Vec::new()), ["1 BALANCE DEBIT alice token=usd amount=6"]);
    assert_eq!(of(by_issuer(create), created, Vec::new()), ["1 BALANCE MINT issuer token=usd amount=6"]);
    let claim = op::claim_claimable_balance(balance_id());
    assert_eq!(of(claim.clone(), unread(), taken()), ["1 BALANCE CREDIT alice token=usd amount=6"]);
    assert_eq!(of(by_issuer(claim), unread(), taken()), ["1 BALANCE BURN issuer token=usd amount=6"]);
    let clawback = op::body(OperationBody::ClawbackClaimableBalance(ClawbackClaimableBalanceOp { balance_id: balance_id() }));
    assert_eq!(of(by_issuer(clawback), unread(), taken()), ["1 BALANCE BURN issuer token=usd amount=6"]);
}

#[test]
fn a_clawback_burns() {
    let clawback = op::body(OperationBody::Clawback(ClawbackOp { asset: usd(), from: key::muxed(&bob(), 1), amount: 6 }));
    let rows = ["1 BALANCE BURN issuer token=usd amount=6", "2 BALANCE DEBIT bob token=usd amount=6"];
    assert_eq!(of(by_issuer(clawback), unread(), Vec::new()), rows);
}

#[test]
fn a_balance_that_is_taken_must_be_removed_once() {
    let clawback = op::body(OperationBody::ClawbackClaimableBalance(ClawbackClaimableBalanceOp { balance_id: balance_id() }));
    for operation in [op::claim_claimable_balance(balance_id()), clawback] {
        let restored = vec![LedgerEntryChange::Restored(balance(6))];
        let updated = vec![LedgerEntryChange::State(balance(6)), LedgerEntryChange::Updated(balance(5))];
        for changes in [Vec::new(), restored, updated, [taken(), taken()].concat()] {
            assert_eq!(refused(operation.clone(), Some(unread()), changes), ("inconsistent-meta", Some(0)));
        }
    }
}

#[test]
fn a_result_that_is_read_must_be_there() {
    let create = op::create_claimable_balance(usd(), 6, Vec::new()).unwrap();
    for operation in [create, op::account_merge(key::plain(&bob())), op::body(OperationBody::Inflation)] {
        for result in [None, Some(unread())] {
            assert_eq!(refused(operation.clone(), result, Vec::new()), ("inconsistent-meta", Some(0)));
        }
    }
}

#[test]
fn inflation_pays_from_nobody() {
    let payout = |to: &AccountId, amount| InflationPayout { destination: to.clone(), amount };
    let payouts = vec![payout(&bob(), 8), payout(&alice(), 9)];
    let result = OperationResultTr::Inflation(InflationResult::Success(payouts.try_into().unwrap()));
    let rows = ["1 BALANCE CREDIT bob token=native amount=8", "2 BALANCE CREDIT alice token=native amount=9"];
    assert_eq!(of(op::body(OperationBody::Inflation), result, Vec::new()), rows);
}

/// Alice pays bob 5; her balance goes from 50 to `after`.
fn old_payment(protocol: u32, after: i64) -> Vec<String> {
    let mut shape = Shape::new(vec![pay(&bob(), Asset::Native)], vec![OperationResult::OpInner(unread())]);
    shape.protocol = protocol;
    shape.meta = starmill_fixtures::meta::v1;
    let other = account_entry(&bob(), 1000);
    shape.changes = vec![vec![
        LedgerEntryChange::Created(other),
        LedgerEntryChange::State(account_entry(&alice(), 50)),
        LedgerEntryChange::Updated(account_entry(&alice(), 47)),
        LedgerEntryChange::State(account_entry(&alice(), 47)),
        LedgerEntryChange::Updated(account_entry(&alice(), after)),
    ]];
    named(&shape.rows().unwrap()).split_off(1)
}

#[test]
fn before_protocol_8_what_events_do_not_explain_is_made_or_lost() {
    let paid = |from: u32| {
        vec![format!("{from} BALANCE DEBIT alice token=native amount=5"), format!("{} BALANCE CREDIT bob token=native amount=5", from + 1)]
    };
    assert_eq!(old_payment(7, 45), paid(1));
    let made = [vec!["1 BALANCE CREDIT alice token=native amount=3".to_owned()], paid(2)].concat();
    assert_eq!(old_payment(7, 48), made);
    let lost = [paid(1), vec!["3 BALANCE DEBIT alice token=native amount=4".to_owned()]].concat();
    assert_eq!(old_payment(7, 41), lost);
    for after in [45, 48, 41] {
        assert_eq!(old_payment(8, after), paid(1));
    }
}
