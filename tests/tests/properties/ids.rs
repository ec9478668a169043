//! Ids and participants: what docs/rows.md says under ids, state changes and participants, and what follows for any ledger.

use std::collections::{BTreeMap, BTreeSet};

use starmill_fixtures::key;
use starmill_ledger::AddressBytes;
use starmill_ledger::address::version;
use starmill_ledger::rows::Stream;
use stellar_xdr::{AccountId, LedgerEntryExt};

use super::{read::Ledger, seen::Seen};

pub(super) fn address(account: &AccountId) -> AddressBytes {
    AddressBytes::account(&key::to_bytes(account))
}

/// TOIDs are those of the ledger's transactions and operations, one row each, in order.
pub(super) fn every_id_belongs_to_the_ledger(ledger: &Ledger, seen: &Seen) {
    assert_eq!(seen.transactions.len(), ledger.transactions.len(), "one row a transaction");
    let mut operations = seen.operations.iter();
    let mut known = BTreeMap::new();
    for ((row, transaction), index) in seen.transactions.iter().zip(&ledger.transactions).zip(1i64..) {
        assert_eq!(row.to_id, i64::from(ledger.sequence) << 32 | index << 12);
        assert_eq!(row.is_fee_bump, transaction.is_fee_bump());
        known.insert(row.to_id, BTreeSet::from([0]));
        for (number, operation) in (1i64..).zip(transaction.ops()) {
            let row_of = operations.next().expect("one row an operation");
            assert_eq!((row_of.id, row_of.kind.replace('_', "")), (row.to_id | number, operation.body.name().to_uppercase()));
            known.get_mut(&row.to_id).unwrap().insert(row_of.id);
        }
    }
    assert!(operations.next().is_none(), "no operation row without an operation");
    for change in &seen.changes {
        assert!(known.get(&change.to_id).is_some_and(|ids| ids.contains(&change.operation_id)), "{change:?}");
    }
    let operations: BTreeSet<i64> = seen.operations.iter().map(|o| o.id).collect();
    assert!(seen.of_operations().keys().all(|id| operations.contains(id)));
    assert!(seen.of_transactions().keys().all(|id| known.contains_key(id)));
    let of_state = seen.lines.iter().map(|r| r.operation_id).chain(seen.sac.iter().map(|r| r.operation_id));
    let of_pools = seen.pools.iter().map(|r| r.operation_id).chain(seen.shares.iter().map(|r| r.operation_id));
    assert!(of_state.chain(of_pools).all(|id| operations.contains(&id)));
}

/// Within transaction, operation and stream ids count from the stream's base without gaps, in the order of the rows.
pub(super) fn state_change_ids_have_no_gaps(seen: &Seen) {
    let mut last: BTreeMap<(i64, i64, i64), i64> = BTreeMap::new();
    for change in &seen.changes {
        let base = Stream::ALL.map(Stream::base).into_iter().filter(|base| *base < change.id).max().unwrap();
        assert_eq!(base == Stream::Sep41.base(), change.of_token_contract, "{change:?}");
        let count = last.entry((change.to_id, change.operation_id, base)).or_insert(0);
        *count += 1;
        assert_eq!(change.id - base, *count, "{change:?}");
    }
}

/// The account of a state change takes part; an operation's participants take part in its transaction; a source always does.
pub(super) fn whoever_is_named_takes_part(ledger: &Ledger, seen: &Seen) {
    let (operations, transactions) = (seen.of_operations(), seen.of_transactions());
    let none = BTreeSet::new();
    for change in seen.changes.iter().filter(|change| !change.of_token_contract) {
        assert!(transactions[&change.to_id].contains(&change.account), "{change:?}");
        let fee = change.operation_id == 0;
        assert!(fee || operations[&change.operation_id].contains(&change.account), "{change:?}");
    }
    for (id, accounts) in &operations {
        assert!(accounts.is_subset(&transactions[&(id & !0xFFF)]), "{id}");
        assert!(accounts.iter().all(|a| [version::ACCOUNT, version::CONTRACT].contains(&a.0[0])), "{id}: {accounts:?}");
    }
    for (row, transaction) in seen.transactions.iter().zip(&ledger.transactions) {
        let of_transaction = transactions.get(&row.to_id).unwrap_or(&none);
        assert!(of_transaction.contains(&address(&transaction.source())) && of_transaction.contains(&address(&transaction.payer())));
        for (number, operation) in (1i64..).zip(transaction.ops()) {
            let source = operation.source_account.clone().map_or_else(|| transaction.source(), |source| source.account_id());
            assert!(operations[&(row.to_id | number)].contains(&address(&source)));
        }
    }
}

/// Who sponsors the only entry that an operation made takes part in it.
pub(super) fn sponsors_take_part(ledger: &Ledger, seen: &Seen) {
    let operations = seen.of_operations();
    for (row, transaction) in seen.transactions.iter().zip(&ledger.transactions) {
        for (number, steps) in (1i64..).zip(&transaction.operations) {
            let sponsors = steps.iter().filter(|step| step.before.is_none()).filter_map(|step| match &step.after.as_ref()?.ext {
                LedgerEntryExt::V0 => None,
                LedgerEntryExt::V1(v1) => v1.sponsoring_id.0.clone(),
            });
            if let [sponsor] = sponsors.collect::<Vec<_>>().as_slice() {
                assert!(operations[&(row.to_id | number)].contains(&address(sponsor)), "operation {}", row.to_id | number);
            }
        }
    }
}
