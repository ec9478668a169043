//! docs/rows.md, the fee.

use starmill_fixtures::{
    CloseMeta, contract, key, meta, op,
    stellar_xdr::{Asset, LedgerEntryChange},
};

use super::{bob, named};
use crate::support::{Shape, account_entry, alice, texts};

fn updated(before: i64, after: i64) -> Vec<LedgerEntryChange> {
    vec![LedgerEntryChange::State(account_entry(&alice(), before)), LedgerEntryChange::Updated(account_entry(&alice(), after))]
}

/// A failed contract transaction of alice's, whose result says 100.
fn soroban(charged: (i64, i64), after: Vec<LedgerEntryChange>, refunded: Vec<LedgerEntryChange>) -> Shape {
    let payment = op::payment(key::plain(&bob()), Asset::Native, 5);
    let mut shape = Shape::failed(vec![payment], Vec::new()).soroban(contract::resources(Vec::new(), Vec::new(), 50).unwrap());
    shape.fee_changes = updated(charged.0, charged.1);
    shape.changes_after = after;
    shape.refund_changes = refunded;
    shape
}

fn row(reason: &str, amount: i64) -> Vec<String> {
    vec![format!("1 BALANCE {reason} alice token=native amount={amount}")]
}

#[test]
fn a_classic_fee_is_what_the_result_says() {
    let mut shape = Shape::failed(vec![op::payment(key::plain(&bob()), Asset::Native, 5)], Vec::new());
    shape.fee_changes = updated(1000, 300);
    assert_eq!(named(&shape.rows().unwrap()), row("DEBIT", 100));
}

#[test]
fn a_fee_of_nothing_has_no_row() {
    let mut shape = Shape::failed(vec![op::payment(key::plain(&bob()), Asset::Native, 5)], Vec::new());
    shape.result.fee_charged = 0;
    assert_eq!(named(&shape.rows().unwrap()), Vec::<String>::new());
    assert_eq!(named(&soroban((1000, 1000), Vec::new(), Vec::new()).rows().unwrap()), Vec::<String>::new());
}

#[test]
fn whoever_bumps_the_fee_pays_it() {
    let payer = key::account("payer");
    let mut shape = Shape::failed(vec![op::payment(key::plain(&bob()), Asset::Native, 5)], Vec::new());
    shape.bumped_by = Some(payer.clone());
    let rows = shape.rows().unwrap();
    assert_eq!(named(&rows), ["1 BALANCE DEBIT payer token=native amount=100"]);
    assert_eq!(rows.of_transaction(), texts(&[&alice(), &bob(), &payer]));
}

#[test]
fn a_contract_fee_is_what_left_the_balance_less_what_came_back() {
    assert_eq!(named(&soroban((1000, 300), Vec::new(), Vec::new()).rows().unwrap()), row("DEBIT", 700));
    assert_eq!(named(&soroban((1000, 300), updated(300, 500), Vec::new()).rows().unwrap()), row("DEBIT", 500));
    assert_eq!(named(&soroban((1000, 300), Vec::new(), updated(300, 501)).rows().unwrap()), row("DEBIT", 499));
    // Of both lists together the last counts.
    assert_eq!(named(&soroban((1000, 300), updated(300, 300), updated(350, 450)).rows().unwrap()), row("DEBIT", 600));
    let mut v3 = soroban((1000, 300), updated(300, 500), Vec::new());
    (v3.meta, v3.close_meta, v3.protocol) = (meta::v3, CloseMeta::V1, 20);
    assert_eq!(named(&v3.rows().unwrap()), row("DEBIT", 500));
}

#[test]
fn balances_of_others_and_restored_ones_do_not_count() {
    let mut shape = soroban((1000, 300), Vec::new(), Vec::new());
    shape.fee_changes.push(LedgerEntryChange::State(account_entry(&bob(), 5)));
    shape.fee_changes.push(LedgerEntryChange::Updated(account_entry(&bob(), 4)));
    shape.refund_changes = vec![LedgerEntryChange::Restored(account_entry(&alice(), 9))];
    assert_eq!(named(&shape.rows().unwrap()), row("DEBIT", 700));
}

#[test]
fn who_gets_back_more_than_was_charged_is_credited_a_negative_amount() {
    assert_eq!(named(&soroban((1000, 900), updated(900, 1200), Vec::new()).rows().unwrap()), row("CREDIT", -200));
}

#[test]
fn a_fee_or_refund_below_zero_stops_the_ledger() {
    let mut old = soroban((1000, 300), Vec::new(), Vec::new());
    old.meta = meta::v2;
    let shapes = [
        soroban((300, 1000), Vec::new(), Vec::new()),
        soroban((1000, 300), updated(500, 300), Vec::new()),
        soroban((i64::MIN, i64::MAX), Vec::new(), Vec::new()),
        soroban((i64::MAX, i64::MIN), Vec::new(), Vec::new()),
        soroban((1000, 300), updated(i64::MIN, i64::MAX), Vec::new()),
        old,
    ];
    for shape in shapes {
        let error = shape.rows().unwrap_err();
        assert_eq!((error.code(), error.ledger, error.transaction, error.operation), ("fee-arithmetic", 9, Some(1), None), "{error}");
    }
}
