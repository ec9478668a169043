//! docs/rows.md, token transfers: offers and path payments.

use starmill_fixtures::{
    asset, key, op,
    stellar_xdr::{
        Asset, ClaimAtom, ClaimLiquidityAtom, ClaimOfferAtom, ClaimOfferAtomV0, CreatePassiveSellOfferOp, ManageBuyOfferOp,
        ManageBuyOfferResult, ManageOfferSuccessResult, ManageOfferSuccessResultOffer, ManageSellOfferResult, Operation, OperationBody,
        OperationResult, OperationResultTr, PathPaymentStrictReceiveOp, PathPaymentStrictReceiveResult,
        PathPaymentStrictReceiveResultSuccess, PathPaymentStrictSendOp, PathPaymentStrictSendResult, PathPaymentStrictSendResultSuccess,
        Price, SimplePaymentResult, Uint256,
    },
};

use super::{bob, by_issuer, issuer, of, pool_id, refused, usd};
use crate::support::{Shape, alice, texts};

const PRICE: Price = Price { n: 1, d: 1 };

fn carol() -> starmill_fixtures::stellar_xdr::AccountId {
    key::account("carol")
}

/// Carol's offer sold 3 usd for 4 lumens.
fn order_book() -> ClaimAtom {
    ClaimAtom::OrderBook(ClaimOfferAtom {
        seller_id: carol(),
        offer_id: 1,
        asset_sold: usd(),
        amount_sold: 3,
        asset_bought: Asset::Native,
        amount_bought: 4,
    })
}

/// The same, before protocol 18.
fn order_book_v0() -> ClaimAtom {
    ClaimAtom::V0(ClaimOfferAtomV0 {
        seller_ed25519: Uint256(key::to_bytes(&carol())),
        offer_id: 1,
        asset_sold: usd(),
        amount_sold: 3,
        asset_bought: Asset::Native,
        amount_bought: 4,
    })
}

/// The pool sold 3 usd for 4 lumens.
fn pool() -> ClaimAtom {
    ClaimAtom::LiquidityPool(ClaimLiquidityAtom {
        liquidity_pool_id: pool_id(),
        asset_sold: usd(),
        amount_sold: 3,
        asset_bought: Asset::Native,
        amount_bought: 4,
    })
}

fn success(atoms: Vec<ClaimAtom>) -> ManageOfferSuccessResult {
    ManageOfferSuccessResult { offers_claimed: atoms.try_into().unwrap(), offer: ManageOfferSuccessResultOffer::Deleted }
}

fn sell() -> Operation {
    op::manage_sell_offer(Asset::Native, usd(), 4, PRICE)
}

fn sold(atoms: Vec<ClaimAtom>) -> OperationResultTr {
    OperationResultTr::ManageSellOffer(ManageSellOfferResult::Success(success(atoms)))
}

fn passive() -> Operation {
    op::body(OperationBody::CreatePassiveSellOffer(CreatePassiveSellOfferOp {
        selling: Asset::Native,
        buying: usd(),
        amount: 4,
        price: PRICE,
    }))
}

fn buy() -> Operation {
    let op = ManageBuyOfferOp { selling: Asset::Native, buying: usd(), buy_amount: 3, price: PRICE, offer_id: 0 };
    op::body(OperationBody::ManageBuyOffer(op))
}

fn bought(atoms: Vec<ClaimAtom>) -> OperationResultTr {
    OperationResultTr::ManageBuyOffer(ManageBuyOfferResult::Success(success(atoms)))
}

#[test]
fn a_crossed_offer_moves_what_it_sold_and_then_what_it_was_paid() {
    let rows = [
        "1 BALANCE DEBIT carol token=usd amount=3",
        "2 BALANCE CREDIT alice token=usd amount=3",
        "3 BALANCE DEBIT alice token=native amount=4",
        "4 BALANCE CREDIT carol token=native amount=4",
    ];
    for atom in [order_book(), order_book_v0()] {
        assert_eq!(of(sell(), sold(vec![atom.clone()]), Vec::new()), rows);
        assert_eq!(of(buy(), bought(vec![atom.clone()]), Vec::new()), rows);
        assert_eq!(of(passive(), sold(vec![atom.clone()]), Vec::new()), rows);
        let own = OperationResultTr::CreatePassiveSellOffer(ManageSellOfferResult::Success(success(vec![atom])));
        assert_eq!(of(passive(), own, Vec::new()), rows);
    }
}

#[test]
fn who_issues_the_asset_mints_or_burns() {
    let rows = [
        "1 BALANCE BURN issuer token=usd amount=3",
        "2 BALANCE DEBIT carol token=usd amount=3",
        "3 BALANCE DEBIT issuer token=native amount=4",
        "4 BALANCE CREDIT carol token=native amount=4",
    ];
    assert_eq!(of(by_issuer(sell()), sold(vec![order_book()]), Vec::new()), rows);
}

#[test]
fn a_pool_has_no_rows_of_its_own() {
    let rows = ["1 BALANCE CREDIT alice token=usd amount=3", "2 BALANCE DEBIT alice token=native amount=4"];
    assert_eq!(of(sell(), sold(vec![pool()]), Vec::new()), rows);
    let rows = ["1 BALANCE BURN issuer token=usd amount=3", "2 BALANCE DEBIT issuer token=native amount=4"];
    assert_eq!(of(by_issuer(sell()), sold(vec![pool()]), Vec::new()), rows);
    let pays = ClaimAtom::LiquidityPool(ClaimLiquidityAtom {
        liquidity_pool_id: pool_id(),
        asset_sold: Asset::Native,
        amount_sold: 4,
        asset_bought: usd(),
        amount_bought: 3,
    });
    let rows = ["1 BALANCE CREDIT issuer token=native amount=4", "2 BALANCE MINT issuer token=usd amount=3"];
    assert_eq!(of(by_issuer(sell()), sold(vec![pays]), Vec::new()), rows);
}

#[test]
fn sellers_take_part_in_the_operation() {
    let rows = Shape::new(vec![sell()], vec![OperationResult::OpInner(sold(vec![order_book()]))]).rows().unwrap();
    assert_eq!(rows.of_operation(0), texts(&[&alice(), &carol()]));
    assert_eq!(rows.of_transaction(), texts(&[&alice(), &carol()]));
}

#[test]
fn an_offer_that_crosses_nothing_moves_nothing() {
    assert_eq!(of(sell(), sold(Vec::new()), Vec::new()), Vec::<String>::new());
    assert_eq!(of(buy(), bought(Vec::new()), Vec::new()), Vec::<String>::new());
}

fn last(asset: Asset) -> SimplePaymentResult {
    SimplePaymentResult { destination: bob(), asset, amount: 7 }
}

fn strict_send(to: &starmill_fixtures::stellar_xdr::AccountId) -> Operation {
    op::body(OperationBody::PathPaymentStrictSend(PathPaymentStrictSendOp {
        send_asset: Asset::Native,
        send_amount: 8,
        destination: key::muxed(to, 5),
        dest_asset: usd(),
        dest_min: 6,
        path: Vec::new().try_into().unwrap(),
    }))
}

fn sent(offers: Vec<ClaimAtom>) -> OperationResultTr {
    let success = PathPaymentStrictSendResultSuccess { offers: offers.try_into().unwrap(), last: last(usd()) };
    OperationResultTr::PathPaymentStrictSend(PathPaymentStrictSendResult::Success(success))
}

#[test]
fn a_path_payment_by_amount_sent_ends_with_what_its_result_says() {
    let rows = [
        "1 BALANCE CREDIT alice token=usd amount=3",
        "2 BALANCE DEBIT alice token=native amount=4",
        "3 BALANCE DEBIT alice token=usd amount=7",
        "4 BALANCE CREDIT bob token=usd amount=7",
    ];
    assert_eq!(of(strict_send(&bob()), sent(vec![pool()]), Vec::new()), rows);
    let by_issuer_rows = [
        "1 BALANCE BURN issuer token=usd amount=3",
        "2 BALANCE DEBIT issuer token=native amount=4",
        "3 BALANCE MINT issuer token=usd amount=7",
        "4 BALANCE CREDIT bob token=usd amount=7",
    ];
    assert_eq!(of(by_issuer(strict_send(&bob())), sent(vec![pool()]), Vec::new()), by_issuer_rows);
}

#[test]
fn a_path_payment_by_amount_received_ends_with_what_the_operation_says() {
    let op = op::body(OperationBody::PathPaymentStrictReceive(PathPaymentStrictReceiveOp {
        send_asset: Asset::Native,
        send_max: 8,
        destination: key::plain(&issuer()),
        dest_asset: usd(),
        dest_amount: 3,
        path: vec![asset::credit("LONGCODE", &bob()).unwrap()].try_into().unwrap(),
    }));
    let success = PathPaymentStrictReceiveResultSuccess { offers: vec![order_book()].try_into().unwrap(), last: last(usd()) };
    let result = OperationResultTr::PathPaymentStrictReceive(PathPaymentStrictReceiveResult::Success(success));
    let rows = [
        "1 BALANCE DEBIT carol token=usd amount=3",
        "2 BALANCE CREDIT alice token=usd amount=3",
        "3 BALANCE DEBIT alice token=native amount=4",
        "4 BALANCE CREDIT carol token=native amount=4",
        "5 BALANCE BURN issuer token=usd amount=3",
        "6 BALANCE DEBIT alice token=usd amount=3",
    ];
    assert_eq!(of(op.clone(), result, Vec::new()), rows);
    assert_eq!(refused(op, Some(sent(Vec::new())), Vec::new()), ("inconsistent-meta", Some(0)));
}

#[test]
fn results_of_another_type_or_of_failure_are_refused() {
    let failed = OperationResultTr::ManageSellOffer(ManageSellOfferResult::CrossSelf);
    for (operation, result) in [
        (sell(), Some(bought(Vec::new()))),
        (sell(), Some(failed)),
        (sell(), Some(OperationResultTr::CreatePassiveSellOffer(ManageSellOfferResult::Success(success(Vec::new()))))),
        (buy(), Some(sold(Vec::new()))),
        (passive(), None),
        (strict_send(&bob()), Some(sold(Vec::new()))),
    ] {
        assert_eq!(refused(operation, result, Vec::new()), ("inconsistent-meta", Some(0)));
    }
}

/// `sold` of one asset for `bought` of another, by a pool or by carol.
fn hop(by_pool: bool, sold: (Asset, i64), bought: (Asset, i64)) -> ClaimAtom {
    let ((asset_sold, amount_sold), (asset_bought, amount_bought)) = (sold, bought);
    if by_pool {
        let liquidity_pool_id = pool_id();
        return ClaimAtom::LiquidityPool(ClaimLiquidityAtom { liquidity_pool_id, asset_sold, amount_sold, asset_bought, amount_bought });
    }
    ClaimAtom::OrderBook(ClaimOfferAtom { seller_id: carol(), offer_id: 1, asset_sold, amount_sold, asset_bought, amount_bought })
}

#[test]
fn a_path_goes_hop_by_hop_and_then_to_its_destination() {
    let longcode = asset::credit("LONGCODE", &bob()).unwrap();
    let paid = |by_pool| {
        let hops = vec![hop(by_pool, (Asset::Native, 4), (usd(), 3)), hop(by_pool, (longcode.clone(), 7), (Asset::Native, 4))];
        let success = PathPaymentStrictSendResultSuccess {
            offers: hops.try_into().unwrap(),
            last: SimplePaymentResult { destination: key::account("payer"), asset: longcode.clone(), amount: 7 },
        };
        let op = PathPaymentStrictSendOp {
            send_asset: usd(),
            send_amount: 3,
            destination: key::plain(&key::account("payer")),
            dest_asset: longcode.clone(),
            dest_min: 6,
            path: vec![Asset::Native].try_into().unwrap(),
        };
        let operation = op::body(OperationBody::PathPaymentStrictSend(op));
        let result = OperationResultTr::PathPaymentStrictSend(PathPaymentStrictSendResult::Success(success));
        of(if by_pool { by_issuer(operation) } else { operation }, result, Vec::new())
    };
    let by_pools = [
        "1 BALANCE CREDIT issuer token=native amount=4",
        "2 BALANCE MINT issuer token=usd amount=3",
        "3 BALANCE CREDIT issuer token=longcode amount=7",
        "4 BALANCE DEBIT issuer token=native amount=4",
        "5 BALANCE DEBIT issuer token=longcode amount=7",
        "6 BALANCE CREDIT payer token=longcode amount=7",
    ];
    assert_eq!(paid(true), by_pools);
    let by_offers = [
        "1 BALANCE DEBIT carol token=native amount=4",
        "2 BALANCE CREDIT alice token=native amount=4",
        "3 BALANCE DEBIT alice token=usd amount=3",
        "4 BALANCE CREDIT carol token=usd amount=3",
        "5 BALANCE DEBIT carol token=longcode amount=7",
        "6 BALANCE CREDIT alice token=longcode amount=7",
        "7 BALANCE DEBIT alice token=native amount=4",
        "8 BALANCE CREDIT carol token=native amount=4",
        "9 BALANCE DEBIT alice token=longcode amount=7",
        "10 BALANCE CREDIT payer token=longcode amount=7",
    ];
    assert_eq!(paid(false), by_offers);
}
