//! Transactions: one row for each, in apply order, successful or not.
//!
//! The hash is the outer one of a fee bump, and so is the result code. `fee_charged` is what the result says; before protocol 21 a fee bump
//! around a Soroban transaction counts the refund in twice there, so it is taken off (docs/rows.md, transactions).

use starmill_ledger::rows::{Rows, TransactionRow};
use starmill_ledger::{LedgerError, Transaction};

use crate::{fees, result_codes};

/// First protocol in which a fee bump's `feeCharged` is right for Soroban transactions.
const FEE_BUMP_FEE_FIXED: u32 = 21;

/// Writes the row of a transaction.
pub fn emit<R: Rows>(transaction: &Transaction<'_>, rows: &mut R) -> Result<(), LedgerError> {
    rows.transaction(&TransactionRow {
        to_id: transaction.to_id(),
        hash: transaction.hash(),
        inner_hash: transaction.inner_hash(),
        fee_charged: fee_charged(transaction)?,
        result_code: result_codes::transaction(transaction.result_code()),
        is_fee_bump: transaction.is_fee_bump(),
        ledger: transaction.head.sequence,
        closed_at: transaction.head.closed_at,
    });
    Ok(())
}

fn fee_charged(transaction: &Transaction<'_>) -> Result<i64, LedgerError> {
    let stated = transaction.result.result.fee_charged;
    let doubled = transaction.is_fee_bump() && transaction.soroban_data().is_some() && transaction.head.protocol < FEE_BUMP_FEE_FIXED;
    if !doubled {
        return Ok(stated);
    }
    let refund = fees::refund(transaction)?;
    stated.checked_sub(refund).ok_or_else(|| fees::fault(transaction, "the fee charged less the refund is over 64 bits"))
}
