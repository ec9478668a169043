//! What a transaction's fee account paid and got back, stroops.
//!
//! The fee of a classic transaction is what its result says. A Soroban transaction is charged its whole bid first and gets back later what it
//! did not use, so there the account's own balances decide (docs/rows.md, the fee). Arithmetic below zero or over 64 bits stops the ledger
//! with `fee-arithmetic`.

use starmill_ledger::transaction::account_key;
use starmill_ledger::{Fault, LedgerError, Transaction};
use starmill_xdr::{LedgerEntry, LedgerEntryChange, LedgerEntryData, TransactionMeta};

/// What the fee account paid in the end: the fee charged, less the refund of a Soroban transaction. Below zero if it got back more.
pub fn paid(transaction: &Transaction<'_>) -> Result<i64, LedgerError> {
    if transaction.soroban_data().is_none() {
        return Ok(transaction.result.result.fee_charged);
    }
    let charged = gained(transaction, transaction.fee_changes).and_then(i64::checked_neg);
    let charged = charged.filter(|charged| *charged >= 0).ok_or_else(|| fault(transaction, "charging the fee raised the balance"))?;
    charged.checked_sub(refund(transaction)?).ok_or_else(|| fault(transaction, "the fee less the refund is over 64 bits"))
}

/// What a Soroban transaction's fee account got back after the operations and after all transactions; 0 or more.
pub fn refund(transaction: &Transaction<'_>) -> Result<i64, LedgerError> {
    if !matches!(transaction.meta, TransactionMeta::V3(_) | TransactionMeta::V4(_)) {
        return Err(fault(transaction, "the meta of a Soroban transaction is older than version 3 and has no refund"));
    }
    let gained = gained(transaction, transaction.changes_after().iter().chain(transaction.post_fee_changes));
    gained.filter(|gained| *gained >= 0).ok_or_else(|| fault(transaction, "the refund lowered the balance"))
}

/// An error of fee arithmetic in this transaction.
pub(crate) fn fault(transaction: &Transaction<'_>, what: &'static str) -> LedgerError {
    Fault::Fee(what).in_transaction(transaction.head.sequence, transaction.index)
}

/// The fee account's last UPDATED balance in a raw list less its last STATE balance, 0 where there is none. `None` over 64 bits.
fn gained<'c>(transaction: &Transaction<'_>, changes: impl IntoIterator<Item = &'c LedgerEntryChange<'c>>) -> Option<i64> {
    let (mut before, mut after) = (0i64, 0i64);
    for change in changes {
        match *change {
            LedgerEntryChange::State(entry) => before = balance(entry, transaction.fee_key()).unwrap_or(before),
            LedgerEntryChange::Updated(entry) => after = balance(entry, transaction.fee_key()).unwrap_or(after),
            _ => {}
        }
    }
    after.checked_sub(before)
}

fn balance(entry: &LedgerEntry<'_>, key: &[u8; 32]) -> Option<i64> {
    match entry.data {
        LedgerEntryData::Account(account) if account_key(&account.account_id) == key => Some(account.balance),
        _ => None,
    }
}
