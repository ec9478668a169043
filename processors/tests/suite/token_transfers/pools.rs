//! docs/rows.md, token transfers: liquidity pools, and pool shares that a revoked authorization turns into claimable balances.

use starmill_fixtures::{
    asset, entry, hash, key, op,
    stellar_xdr::{
        AllowTrustOp, Asset, AssetCode, AssetCode4, ClaimableBalanceEntry, ClaimableBalanceEntryExt, ClaimableBalanceId, HashIdPreimage,
        HashIdPreimageRevokeId, LedgerEntry, LedgerEntryChange, LedgerEntryData, LedgerKey, LedgerKeyLiquidityPool,
        LiquidityPoolConstantProductParameters, LiquidityPoolDepositOp, LiquidityPoolEntry, LiquidityPoolEntryBody,
        LiquidityPoolEntryConstantProduct, LiquidityPoolWithdrawOp, Operation, OperationBody, OperationResult, Price, SequenceNumber,
        SetTrustLineFlagsOp,
    },
};

use super::{bob, by_issuer, issuer, named, of, pool_id, refused, unread, usd};
use crate::support::{Shape, alice};

const PRICE: Price = Price { n: 1, d: 1 };

/// Bob's asset.
fn longcode() -> Asset {
    asset::credit("LONGCODE", &bob()).unwrap()
}

fn pool(assets: (Asset, Asset), reserves: (i64, i64)) -> LedgerEntry {
    let params = LiquidityPoolConstantProductParameters { asset_a: assets.0, asset_b: assets.1, fee: 30 };
    let product = LiquidityPoolEntryConstantProduct {
        params,
        reserve_a: reserves.0,
        reserve_b: reserves.1,
        total_pool_shares: 1,
        pool_shares_trust_line_count: 1,
    };
    let body = LiquidityPoolEntryBody::LiquidityPoolConstantProduct(product);
    entry::entry(7, LedgerEntryData::LiquidityPool(LiquidityPoolEntry { liquidity_pool_id: pool_id(), body }))
}

/// The pool of usd and longcode, from these reserves to those.
fn moved(before: (i64, i64), after: (i64, i64)) -> Vec<LedgerEntryChange> {
    let assets = || (usd(), longcode());
    vec![LedgerEntryChange::State(pool(assets(), before)), LedgerEntryChange::Updated(pool(assets(), after))]
}

fn removed(assets: (Asset, Asset), before: (i64, i64)) -> Vec<LedgerEntryChange> {
    let key = LedgerKey::LiquidityPool(LedgerKeyLiquidityPool { liquidity_pool_id: pool_id() });
    vec![LedgerEntryChange::State(pool(assets, before)), LedgerEntryChange::Removed(key)]
}

fn deposit() -> Operation {
    op::body(OperationBody::LiquidityPoolDeposit(LiquidityPoolDepositOp {
        liquidity_pool_id: pool_id(),
        max_amount_a: 99,
        max_amount_b: 99,
        min_price: PRICE,
        max_price: PRICE,
    }))
}

fn withdraw() -> Operation {
    let op = LiquidityPoolWithdrawOp { liquidity_pool_id: pool_id(), amount: 9, min_amount_a: 0, min_amount_b: 0 };
    op::body(OperationBody::LiquidityPoolWithdraw(op))
}

#[test]
fn what_goes_into_a_pool_is_debited() {
    let changes = moved((10, 20), (13, 24));
    let rows = ["1 BALANCE DEBIT alice token=usd amount=3", "2 BALANCE DEBIT alice token=longcode amount=4"];
    assert_eq!(of(deposit(), unread(), changes.clone()), rows);
    let rows = ["1 BALANCE MINT issuer token=usd amount=3", "2 BALANCE DEBIT issuer token=longcode amount=4"];
    assert_eq!(of(by_issuer(deposit()), unread(), changes), rows);
    let made = vec![LedgerEntryChange::Created(pool((Asset::Native, usd()), (5, 6)))];
    let rows = ["1 BALANCE DEBIT alice token=native amount=5", "2 BALANCE DEBIT alice token=usd amount=6"];
    assert_eq!(of(deposit(), unread(), made), rows);
}

#[test]
fn what_comes_out_of_a_pool_is_credited() {
    let rows = ["1 BALANCE CREDIT alice token=usd amount=3", "2 BALANCE CREDIT alice token=longcode amount=0"];
    assert_eq!(of(withdraw(), unread(), moved((10, 20), (7, 20))), rows);
    let rows = ["1 BALANCE BURN issuer token=usd amount=10", "2 BALANCE CREDIT issuer token=longcode amount=20"];
    assert_eq!(of(by_issuer(withdraw()), unread(), removed((usd(), longcode()), (10, 20))), rows);
}

#[test]
fn a_deposit_or_withdrawal_without_one_pool_is_refused() {
    let two = [moved((1, 2), (3, 4)), moved((3, 4), (5, 6))].concat();
    for (operation, changes) in [
        (deposit(), Vec::new()),
        (deposit(), two.clone()),
        (deposit(), moved((10, 20), (13, 20))),
        (deposit(), moved((10, 20), (10, 24))),
        (withdraw(), Vec::new()),
        (withdraw(), two),
    ] {
        assert_eq!(refused(operation, Some(unread()), changes), ("inconsistent-meta", Some(0)));
    }
}

#[test]
fn the_largest_reserves_fit() {
    let rows = of(withdraw(), unread(), moved((i64::MAX, i64::MIN), (i64::MIN, i64::MAX)));
    let amount = u64::MAX;
    let expected =
        [format!("1 BALANCE CREDIT alice token=usd amount={amount}"), format!("2 BALANCE CREDIT alice token=longcode amount={amount}")];
    assert_eq!(rows, expected);
}

/// The balance that a revocation by operation `number` of alice's transaction makes for `asset`.
fn made_for(asset: &Asset, number: u32) -> LedgerEntryChange {
    let preimage = HashIdPreimage::PoolRevokeOpId(HashIdPreimageRevokeId {
        source_account: alice(),
        seq_num: SequenceNumber(1),
        op_num: number,
        liquidity_pool_id: pool_id(),
        asset: asset.clone(),
    });
    let id = hash::xdr_sha256("revoked balance", &preimage).unwrap();
    LedgerEntryChange::Created(entry::entry(
        9,
        LedgerEntryData::ClaimableBalance(ClaimableBalanceEntry {
            balance_id: ClaimableBalanceId::ClaimableBalanceIdTypeV0(id),
            claimants: Vec::new().try_into().unwrap(),
            asset: asset.clone(),
            amount: 1,
            ext: ClaimableBalanceEntryExt::V0,
        }),
    ))
}

/// Both operations that revoke, by the issuer.
fn revocations() -> [Operation; 2] {
    let allow = AllowTrustOp { trustor: bob(), asset: AssetCode::CreditAlphanum4(AssetCode4(*b"USD\0")), authorize: 0 };
    let set = SetTrustLineFlagsOp { trustor: bob(), asset: usd(), clear_flags: 1, set_flags: 0 };
    [OperationBody::AllowTrust(allow), OperationBody::SetTrustLineFlags(set)].map(|body| by_issuer(op::body(body)))
}

/// Rows of a revocation that takes 3 usd and 4 longcode out of the pool and makes these balances.
fn revoked(operation: Operation, balances: Vec<LedgerEntryChange>) -> Vec<String> {
    of(operation, unread(), [moved((10, 20), (7, 16)), balances].concat())
}

#[test]
fn a_revocation_burns_the_asset_for_which_no_balance_was_made() {
    for operation in revocations() {
        let only_usd = revoked(operation.clone(), vec![made_for(&usd(), 0)]);
        assert_eq!(only_usd, ["1 BALANCE BURN bob token=longcode amount=4"]);
        let only_longcode = revoked(operation.clone(), vec![made_for(&longcode(), 0)]);
        assert_eq!(only_longcode, ["1 BALANCE BURN issuer token=usd amount=3"]);
        for balances in [vec![made_for(&usd(), 0), made_for(&longcode(), 0)], Vec::new()] {
            assert_eq!(revoked(operation.clone(), balances), Vec::<String>::new());
        }
    }
}

#[test]
fn balances_that_the_revocation_did_not_make_do_not_count() {
    let [operation, _] = revocations();
    assert_eq!(revoked(operation.clone(), vec![made_for(&usd(), 1)]), Vec::<String>::new());
    let LedgerEntryChange::Created(balance) = made_for(&usd(), 0) else { panic!() };
    assert_eq!(revoked(operation, vec![LedgerEntryChange::Restored(balance)]), Vec::<String>::new());
}

#[test]
fn burned_lumens_have_no_row() {
    let [operation, _] = revocations();
    let changes = [removed((Asset::Native, usd()), (1, 2)), vec![made_for(&usd(), 0)]].concat();
    assert_eq!(of(operation, unread(), changes), Vec::<String>::new());
}

#[test]
fn the_ids_of_balances_come_from_the_inner_transaction_of_a_fee_bump() {
    let [first, second] = revocations();
    let mut shape = Shape::new(vec![first, second], vec![OperationResult::OpInner(unread()), OperationResult::OpInner(unread())]);
    shape.bumped_by = Some(key::account("payer"));
    shape.changes = vec![Vec::new(), [moved((10, 20), (7, 16)), vec![made_for(&usd(), 1)]].concat()];
    let rows = named(&shape.rows().unwrap());
    assert_eq!(rows, ["1 BALANCE DEBIT payer token=native amount=100", "1 BALANCE BURN bob token=longcode amount=4"]);
    assert_ne!(issuer(), alice());
}
