//! Native balances: what an account holds in lumens after the ledger, whatever changed it: its fee, an operation, a refund. Also of failed
//! transactions, whose fee is charged all the same.
//!
//! All fees of a ledger are charged before its first transaction is applied. A Soroban refund comes right after the operations of its
//! transaction in protocols 20 to 22, and after all transactions later (CAP-62). A change that only lists other signers is none (docs/rows.md,
//! native balances).

use starmill_ledger::changes::{self, Change};
use starmill_ledger::rows::{EntryOp, NativeBalanceRow};
use starmill_ledger::{AddressBytes, CurrentState, LedgerError, OperationView, Transaction};
use starmill_xdr::{AccountEntry, AccountEntryExt, AccountEntryExtensionV1Ext, Arena, LedgerEntry, LedgerEntryChanges, LedgerEntryData};

use crate::entries;

/// Protocols whose refunds stand in the transaction's meta, after its operations.
const REFUND_IN_META: std::ops::RangeInclusive<u32> = 20..=22;
/// Reserves that an account needs for itself.
const OWN_RESERVES: i64 = 2;

/// When in a ledger a change happened. Earlier ones are smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Fee,
    /// 0-based.
    Operation(u32),
    RefundAfterOperations,
    RefundAfterAll,
}

impl Moment {
    /// The moment, of transaction `index`, as a number that sorts alike: phase, transaction, operation.
    fn order(self, index: u32) -> u64 {
        let (phase, step) = match self {
            Self::Fee => (0, 0),
            Self::Operation(operation) => (1, operation),
            Self::RefundAfterOperations => (1, u32::from(u16::MAX)),
            Self::RefundAfterAll => (2, 0),
        };
        // A transaction has at most 100 operations, so a step fits 16 bits.
        (phase << 60) | (u64::from(index) << 16) | u64::from(step)
    }
}

/// Collects a change of an account by an operation.
pub(crate) fn of_operation(view: &OperationView<'_, '_>, change: &Change<'_>, state: &mut CurrentState) {
    collect(view.transaction, Moment::Operation(view.index), change, state);
}

/// Collects what the fee and its refund changed.
pub fn emit<'a>(transaction: &Transaction<'a>, arena: &'a Arena, state: &mut CurrentState) -> Result<(), LedgerError> {
    collect_list(transaction, Moment::Fee, transaction.fee_changes, arena, state)?;
    if transaction.soroban_data().is_some() && REFUND_IN_META.contains(&transaction.head.protocol) {
        collect_list(transaction, Moment::RefundAfterOperations, transaction.changes_after(), arena, state)?;
    }
    collect_list(transaction, Moment::RefundAfterAll, transaction.post_fee_changes, arena, state)
}

fn collect_list<'a>(
    transaction: &Transaction<'a>,
    moment: Moment,
    raw: LedgerEntryChanges<'a>,
    arena: &'a Arena,
    state: &mut CurrentState,
) -> Result<(), LedgerError> {
    let changes = changes::extract(raw, arena).map_err(|fault| fault.in_transaction(transaction.head.sequence, transaction.index))?;
    for change in changes {
        collect(transaction, moment, change, state);
    }
    Ok(())
}

fn collect(transaction: &Transaction<'_>, moment: Moment, change: &Change<'_>, state: &mut CurrentState) {
    let LedgerEntryData::Account(account) = change.entry().data else { return };
    if only_signers_differ(change) {
        return;
    }
    let row = row(entries::op(change), account, transaction.head.base_reserve, transaction.head.sequence);
    state.native_balance(moment.order(transaction.index), entries::existed(change), row);
}

fn row(op: EntryOp, account: &AccountEntry<'_>, base_reserve: u32, ledger: u32) -> NativeBalanceRow {
    let (mut buying_liabilities, mut selling_liabilities) = (0, 0);
    let mut reserves = OWN_RESERVES + i64::from(account.num_sub_entries);
    if let AccountEntryExt::V1(v1) = account.ext {
        buying_liabilities = v1.liabilities.buying;
        selling_liabilities = v1.liabilities.selling;
        if let AccountEntryExtensionV1Ext::V2(v2) = v1.ext {
            reserves += i64::from(v2.num_sponsoring) - i64::from(v2.num_sponsored);
        }
    }
    NativeBalanceRow {
        op,
        account_id: AddressBytes::account_id(&account.account_id),
        balance: account.balance,
        // Counts near 2^32 times a reserve near 2^32, which no ledger has, would not fit.
        minimum_balance: reserves.saturating_mul(i64::from(base_reserve)),
        buying_liabilities,
        selling_liabilities,
        num_subentries: account.num_sub_entries,
        ledger,
    }
}

/// Whether the account is the same before and after but for the list of its signers. An account without liabilities equals one whose
/// liabilities are zero.
fn only_signers_differ(change: &Change<'_>) -> bool {
    let (Some(pre), Some(post)) = (change.pre, change.post) else { return false };
    let (Some(before), Some(after)) = (account(pre), account(post)) else { return false };
    pre.last_modified_ledger_seq == post.last_modified_ledger_seq
        && before.account_id == after.account_id
        && before.balance == after.balance
        && before.seq_num == after.seq_num
        && before.num_sub_entries == after.num_sub_entries
        && before.inflation_dest == after.inflation_dest
        && before.flags == after.flags
        && before.home_domain == after.home_domain
        && before.thresholds == after.thresholds
        && same_extension(before.ext, after.ext)
}

fn account<'a>(entry: &LedgerEntry<'a>) -> Option<&'a AccountEntry<'a>> {
    match entry.data {
        LedgerEntryData::Account(account) => Some(account),
        _ => None,
    }
}

fn same_extension(before: AccountEntryExt<'_>, after: AccountEntryExt<'_>) -> bool {
    match (before, after) {
        (AccountEntryExt::V0, AccountEntryExt::V0) => true,
        (AccountEntryExt::V1(before), AccountEntryExt::V1(after)) => before == after,
        (AccountEntryExt::V0, AccountEntryExt::V1(v1)) | (AccountEntryExt::V1(v1), AccountEntryExt::V0) => {
            (v1.liabilities.buying, v1.liabilities.selling) == (0, 0) && matches!(v1.ext, AccountEntryExtensionV1Ext::V0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_sort_as_they_happen() {
        let max = u32::MAX;
        let ascending = [
            Moment::Fee.order(1),
            Moment::Fee.order(max),
            Moment::Operation(0).order(1),
            Moment::Operation(99).order(1),
            Moment::RefundAfterOperations.order(1),
            Moment::Operation(0).order(2),
            Moment::RefundAfterOperations.order(max),
            Moment::RefundAfterAll.order(1),
            Moment::RefundAfterAll.order(max),
        ];
        assert!(ascending.is_sorted_by(|a, b| a < b), "{ascending:?}");
    }
}
