//! docs/rows.md, native balances.

use starmill_fixtures::{
    entry, key, meta,
    stellar_xdr::{AccountEntry, AccountId, LedgerEntryChange, LedgerEntryData, Liabilities, Signer, SignerKey, String32, Uint256},
};
use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{EntryOp, NativeBalanceRow};

use crate::entry_support::{Taken, Tx, created, entry_of, ledger, removed, updated};

/// Base reserve of the ledgers here.
const RESERVE: i64 = 7_000_000;

fn bob() -> AccountId {
    key::account("bob")
}

fn account(balance: i64) -> AccountEntry {
    entry::account(bob(), balance, 1)
}

fn data(account: AccountEntry) -> LedgerEntryData {
    LedgerEntryData::Account(account)
}

fn step(before: i64, after: i64) -> Vec<LedgerEntryChange> {
    updated(data(account(before)), data(account(after)))
}

fn row(op: EntryOp, balance: i64) -> NativeBalanceRow {
    NativeBalanceRow {
        op,
        account_id: AddressBytes::account(&key::to_bytes(&bob())),
        balance,
        minimum_balance: 2 * RESERVE,
        buying_liabilities: 0,
        selling_liabilities: 0,
        num_subentries: 0,
        ledger: 9,
    }
}

fn balance(rows: &Taken) -> i64 {
    assert_eq!(rows.native.len(), 1, "{:?}", rows.native);
    rows.native[0].balance
}

#[test]
fn created_updated_removed() {
    let of = |changes| Tx::changing(vec![changes]).rows().native;
    assert_eq!(of(created(data(account(5)))), [row(EntryOp::Add, 5)]);
    assert_eq!(of(step(5, 6)), [row(EntryOp::Update, 6)]);
    assert_eq!(of(removed(data(account(5)))), [row(EntryOp::Remove, 5)]);
    assert_eq!(of(Vec::new()), []);
}

#[test]
fn reserves_count_subentries_and_sponsorships_and_no_liabilities() {
    let mut extras = entry::AccountExtras { liabilities: Liabilities { buying: 11, selling: 12 }, sponsorship: None };
    extras.set_counters(1, 4);
    let mut after = AccountEntry { num_sub_entries: 3, ..account(6) };
    extras.store(&mut after);
    let rows = Tx::changing(vec![updated(data(account(5)), data(after))]).rows();
    let expected = NativeBalanceRow {
        minimum_balance: (2 + 3 + 4 - 1) * RESERVE,
        buying_liabilities: 11,
        selling_liabilities: 12,
        num_subentries: 3,
        ..row(EntryOp::Update, 6)
    };
    assert_eq!(rows.native, [expected]);
}

#[test]
fn reserves_that_32_bits_do_not_hold() {
    let after = AccountEntry { num_sub_entries: u32::MAX, ..account(6) };
    let rows = Tx::changing(vec![updated(data(account(5)), data(after))]).rows();
    assert_eq!(rows.native[0].minimum_balance, (2 + i64::from(u32::MAX)) * RESERVE);
}

/// Rows of a change of bob's account from one form to another, last modified in the same ledger.
fn rows_between(before: AccountEntry, after: AccountEntry) -> usize {
    let changes = vec![LedgerEntryChange::State(entry_of(data(before))), LedgerEntryChange::Updated(entry_of(data(after)))];
    Tx::changing(vec![changes]).rows().native.len()
}

#[test]
fn a_change_of_signers_alone_is_none_and_any_other_is_one() {
    let signer = Signer { key: SignerKey::Ed25519(Uint256([5; 32])), weight: 1 };
    let signed = AccountEntry { signers: vec![signer].try_into().unwrap(), ..account(5) };
    assert_eq!(rows_between(account(5), signed.clone()), 0);
    assert_eq!(rows_between(account(5), account(5)), 0);
    let others = [
        account(6),
        AccountEntry { num_sub_entries: 1, ..signed },
        AccountEntry { seq_num: starmill_fixtures::stellar_xdr::SequenceNumber(2), ..account(5) },
        AccountEntry { flags: 1, ..account(5) },
        AccountEntry { thresholds: starmill_fixtures::stellar_xdr::Thresholds([2, 0, 0, 0]), ..account(5) },
        AccountEntry { home_domain: String32("a.b".try_into().unwrap()), ..account(5) },
        AccountEntry { inflation_dest: Some(bob()), ..account(5) },
    ];
    for other in others {
        assert_eq!(rows_between(account(5), other.clone()), 1, "{other:?}");
    }
    // Another ledger of last modification is a change by itself.
    assert_eq!(Tx::changing(vec![step(5, 5)]).rows().native.len(), 1);
}

#[test]
fn no_liabilities_equal_liabilities_of_zero() {
    let with = |extras: entry::AccountExtras| {
        let mut account = account(5);
        extras.store(&mut account);
        account
    };
    let zero = with(entry::AccountExtras::default());
    assert_eq!(rows_between(account(5), zero.clone()), 0);
    assert_eq!(rows_between(zero.clone(), account(5)), 0);
    let some = with(entry::AccountExtras { liabilities: Liabilities { buying: 1, selling: 0 }, sponsorship: None });
    assert_eq!(rows_between(account(5), some), 1);
    let mut extras = entry::AccountExtras::default();
    extras.set_counters(0, 0);
    assert_eq!(rows_between(zero, with(extras)), 1);
}

#[test]
fn the_fee_of_a_failed_transaction_is_charged() {
    let rows = Tx { fee: step(9, 8), successful: false, ..Tx::changing(Vec::new()) }.rows();
    assert_eq!(rows.native, [row(EntryOp::Update, 8)]);
}

#[test]
fn all_fees_come_before_all_operations_and_refunds_after_them() {
    let first = Tx { fee: step(100, 99), refund: step(50, 51), ..Tx::call(step(90, 50)) };
    let second = || Tx { fee: step(99, 90), ..Tx::call(Vec::new()) };
    assert_eq!(balance(&ledger(23, vec![first, second()]).unwrap()), 51);
    let without_refund = Tx { fee: step(100, 99), ..Tx::call(step(90, 50)) };
    assert_eq!(balance(&ledger(23, vec![without_refund, second()]).unwrap()), 50);
    let fees_alone = Tx { fee: step(100, 99), ..Tx::call(Vec::new()) };
    assert_eq!(balance(&ledger(23, vec![fees_alone, second()]).unwrap()), 90);
}

/// Balance after a call that was refunded in its meta, and what a second transaction changed.
fn refunded(protocol: u32, soroban: bool, second: Vec<LedgerEntryChange>) -> i64 {
    let call = Tx { fee: step(100, 90), after: step(80, 85), soroban, meta: meta::v3, ..Tx::call(step(90, 80)) };
    let second = Tx { meta: meta::v3, ..Tx::changing(vec![second]) };
    balance(&ledger(protocol, vec![call, second]).unwrap())
}

#[test]
fn refunds_of_protocols_20_to_22_come_right_after_the_operations_of_their_transaction() {
    for protocol in 20..=22 {
        assert_eq!(refunded(protocol, true, Vec::new()), 85);
        assert_eq!(refunded(protocol, true, step(85, 40)), 40);
    }
}

#[test]
fn other_changes_after_operations_are_no_refunds() {
    assert_eq!(refunded(19, true, Vec::new()), 80);
    assert_eq!(refunded(23, true, Vec::new()), 80);
    assert_eq!(refunded(21, false, Vec::new()), 80);
}

#[test]
fn a_fee_change_without_state_is_refused_with_its_transaction() {
    let tx = Tx { fee: vec![LedgerEntryChange::Updated(entry_of(data(account(1))))], ..Tx::changing(Vec::new()) };
    let error = ledger(23, vec![tx]).unwrap_err();
    assert_eq!((error.code(), error.ledger, error.transaction), ("change-without-state", 9, Some(1)));
}
