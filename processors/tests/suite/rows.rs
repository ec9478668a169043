//! docs/rows.md, transactions, operations and changes.

use starmill_fixtures::{
    CloseMeta, LedgerBuilder, entry,
    envelope::{self, Draft},
    hash, key,
    meta::{self, TransactionEffects},
    op, result,
    stellar_xdr::{Asset, LedgerEntryChange, OperationResult, OperationResultTr, PaymentResult, TransactionResultResult},
};

use crate::support::{Shape, account_entry, alice, network, rows_of};

fn payment() -> starmill_fixtures::stellar_xdr::Operation {
    op::payment(key::plain(&key::account("bob")), Asset::Native, 5)
}

fn code(of: PaymentResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::Payment(of))
}

#[test]
fn ids_follow_the_order_of_application() {
    let results = vec![code(PaymentResult::Success), code(PaymentResult::Success)];
    let rows = Shape::new(vec![payment(), payment()], results).rows().unwrap();
    let to_id = (9 << 32) | (1 << 12);
    assert_eq!(rows.transactions[0].to_id, to_id);
    assert_eq!(rows.operations.iter().map(|o| o.0).collect::<Vec<_>>(), [to_id + 1, to_id + 2]);
}

#[test]
fn an_operation_that_succeeded_in_a_failed_transaction_keeps_its_code() {
    let results = vec![code(PaymentResult::Success), code(PaymentResult::Underfunded), OperationResult::OpBadAuth];
    let rows = Shape::failed(vec![payment(), payment(), payment()], results).rows().unwrap();
    assert_eq!(rows.transactions[0].result_code, "TransactionResultCodeTxFailed");
    let codes: Vec<_> = rows.operations.iter().map(|(_, kind, code, ok, _)| (kind.as_str(), code.as_str(), *ok)).collect();
    assert_eq!(codes, [("PAYMENT", "op_success", true), ("PAYMENT", "op_underfunded", false), ("PAYMENT", "op_bad_auth", false)]);
}

#[test]
fn an_operation_without_a_result_is_unknown() {
    let mut shape = Shape::new(vec![payment()], Vec::new());
    shape.result = result::plain(100, TransactionResultResult::TxBadSeq);
    let rows = shape.rows().unwrap();
    assert_eq!(rows.transactions[0].result_code, "TransactionResultCodeTxBadSeq");
    assert_eq!((rows.operations[0].2.as_str(), rows.operations[0].3), ("op_unknown", false));
}

#[test]
fn a_fee_bump_shows_its_own_hash_and_code_and_the_inner_source() {
    let inner = envelope::v1(&network(), Draft::new(key::plain(&alice()), 1, vec![payment()])).unwrap();
    let payer = key::account("payer");
    let bump = envelope::fee_bump(&network(), key::muxed(&payer, 4), 400, inner).unwrap();
    let (outer, inner) =
        (hash::transaction_hash(&network(), &bump).unwrap(), hash::inner_transaction_hash(&network(), &bump).unwrap().unwrap());
    let result = result::fee_bump(200, inner.clone(), false, vec![code(PaymentResult::NoTrust)]).unwrap();
    let ledger = LedgerBuilder::new(network(), 9)
        .transaction(bump, result, meta::v4(TransactionEffects::default()).unwrap(), Vec::new(), Vec::new())
        .build(hash::sha256(b"before"))
        .unwrap();
    let rows = rows_of(&ledger).unwrap();
    let row = &rows.transactions[0];
    assert_eq!((row.hash, row.inner_hash, row.is_fee_bump, row.fee_charged), (outer.0, inner.0, true, 200));
    assert_eq!(row.result_code, "TransactionResultCodeTxFeeBumpInnerFailed");
    assert_eq!(rows.operations[0].2, "op_no_trust");
    assert_eq!(rows.of_transaction(), crate::support::texts(&[&alice(), &payer, &key::account("bob")]));
}

/// A fee bump around a contract transaction, charged 200, of which 60 came back after it was applied.
fn refunded(protocol: u32) -> i64 {
    let data = starmill_fixtures::contract::resources(Vec::new(), Vec::new(), 50).unwrap();
    let inner = envelope::v1(&network(), Draft { soroban: Some(data), ..Draft::new(key::plain(&alice()), 1, vec![payment()]) }).unwrap();
    let payer = key::account("payer");
    let bump = envelope::fee_bump(&network(), key::plain(&payer), 400, inner).unwrap();
    let inner = hash::inner_transaction_hash(&network(), &bump).unwrap().unwrap();
    let after = vec![LedgerEntryChange::State(account_entry(&payer, 800)), LedgerEntryChange::Updated(account_entry(&payer, 860))];
    let meta = meta::v3(TransactionEffects { after, ..TransactionEffects::default() }).unwrap();
    let result = result::fee_bump(200, inner, true, vec![code(PaymentResult::Success)]).unwrap();
    let builder = LedgerBuilder::new(network(), 9).protocol(protocol).close_meta(CloseMeta::V1);
    let ledger = builder.transaction(bump, result, meta, Vec::new(), Vec::new()).build(hash::sha256(b"before")).unwrap();
    rows_of(&ledger).unwrap().transactions[0].fee_charged
}

#[test]
fn before_protocol_21_the_refund_of_a_bumped_contract_call_is_taken_off() {
    assert_eq!(refunded(20), 140);
    assert_eq!(refunded(21), 200);
}

#[test]
fn every_meta_version_gives_the_same_rows() {
    let rows = [meta::v1, meta::v2, meta::v3, meta::v4].map(|meta| {
        let mut shape = Shape::new(vec![payment()], vec![code(PaymentResult::Success)]);
        shape.changes =
            vec![vec![LedgerEntryChange::State(account_entry(&alice(), 9)), LedgerEntryChange::Updated(account_entry(&alice(), 8))]];
        shape.meta = meta;
        shape.rows().unwrap()
    });
    assert!(rows.iter().all(|other| *other == rows[0]), "{rows:#?}");
    assert_eq!(rows[0].operations.len(), 1);
}

#[test]
fn every_close_meta_version_gives_the_same_rows() {
    let rows = [CloseMeta::V0, CloseMeta::V1, CloseMeta::V2].map(|close_meta| {
        let mut shape = Shape::new(vec![payment()], vec![code(PaymentResult::Success)]);
        shape.close_meta = close_meta;
        shape.rows().unwrap()
    });
    assert!(rows.iter().all(|other| *other == rows[0]), "{rows:#?}");
}

#[test]
fn envelopes_of_all_kinds_find_their_results() {
    let draft = |who: &str| Draft::new(key::plain(&key::account(who)), 1, vec![payment()]);
    let v0 = envelope::v0(&network(), draft("v0")).unwrap();
    let v1 = envelope::v1(&network(), draft("v1")).unwrap();
    let bump = envelope::fee_bump(&network(), key::plain(&alice()), 400, envelope::v1(&network(), draft("inner")).unwrap()).unwrap();
    let inner = hash::inner_transaction_hash(&network(), &bump).unwrap().unwrap();
    let hashes = [&v0, &v1, &bump].map(|envelope| hash::transaction_hash(&network(), envelope).unwrap().0);
    let paid = || vec![code(PaymentResult::Success)];
    let none = || meta::v2(TransactionEffects::default()).unwrap();
    let ledger = LedgerBuilder::new(network(), 9)
        .close_meta(CloseMeta::V0)
        .transaction(v0, result::success(1, paid()).unwrap(), none(), Vec::new(), Vec::new())
        .transaction(v1, result::success(2, paid()).unwrap(), none(), Vec::new(), Vec::new())
        .transaction(bump, result::fee_bump(3, inner, true, paid()).unwrap(), none(), Vec::new(), Vec::new())
        .build(hash::sha256(b"before"))
        .unwrap();
    let rows = rows_of(&ledger).unwrap();
    assert_eq!(rows.transactions.iter().map(|t| t.hash).collect::<Vec<_>>(), hashes);
    assert_eq!(rows.transactions.iter().map(|t| t.fee_charged).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_change_without_its_state_stops_the_ledger_and_names_the_operation() {
    for broken in [
        vec![LedgerEntryChange::Updated(account_entry(&alice(), 8))],
        vec![LedgerEntryChange::Created(account_entry(&alice(), 8)), LedgerEntryChange::Removed(entry::account_key(&alice()))],
    ] {
        let mut shape = Shape::new(vec![payment(), payment()], Vec::new());
        shape.changes = vec![Vec::new(), broken];
        let error = shape.rows().unwrap_err();
        assert_eq!((error.code(), error.ledger, error.transaction, error.operation), ("change-without-state", 9, Some(1), Some(1)));
        assert!(error.to_string().starts_with("ledger 9, transaction 1, operation 1: "), "{error}");
    }
}

#[test]
fn an_internal_error_before_protocol_13_has_no_changes() {
    let with = |protocol| {
        let mut shape = Shape::new(vec![payment()], Vec::new());
        shape.result = result::plain(100, TransactionResultResult::TxInternalError);
        shape.changes = vec![vec![LedgerEntryChange::Updated(account_entry(&alice(), 8))]];
        shape.protocol = protocol;
        shape.close_meta = CloseMeta::V0;
        shape.meta = meta::v2;
        shape.rows()
    };
    assert!(with(12).is_ok());
    assert_eq!(with(13).unwrap_err().code(), "change-without-state");
}

#[test]
fn a_ledger_of_another_network_is_told_as_such() {
    let other = hash::network_id("another network");
    let envelope = envelope::v1(&other, Draft::new(key::plain(&alice()), 1, vec![payment()])).unwrap();
    let meta = meta::v4(TransactionEffects::default()).unwrap();
    let builder = LedgerBuilder::new(other, 9).transaction(envelope, result::success(1, Vec::new()).unwrap(), meta, Vec::new(), Vec::new());
    let error = rows_of(&builder.build(hash::sha256(b"before")).unwrap()).unwrap_err();
    assert_eq!((error.code(), error.ledger), ("network-mismatch", 9));
}
