//! Participants: which addresses take part in a transaction and in each of its operations.
//!
//! An operation's participants are its source, the accounts that its type names ([`classic`]), the sponsor of what it creates
//! ([`sponsor`]), and for an applied Soroban transaction the contracts and addresses of its call and of its authorization trees
//! ([`soroban`]). A transaction's are its sources, the accounts whose fee was charged, and those of all its operations. Each address once,
//! in byte order. A muxed account takes part as the account behind it (docs/rows.md, participants).

mod classic;
mod soroban;
mod sponsor;

use starmill_ledger::rows::{OperationAccountRow, Rows, TransactionAccountRow};
use starmill_ledger::transaction::account_key;
use starmill_ledger::{AddressBytes, LedgerError, OperationView, Transaction};
use starmill_xdr::{LedgerEntryChange, LedgerEntryData, LedgerKey, TransactionMeta};

/// Address lists, reused from transaction to transaction.
#[derive(Debug, Default)]
pub struct Scratch {
    transaction: Vec<AddressBytes>,
    operation: Vec<AddressBytes>,
}

impl Scratch {
    /// Collects the participants that a transaction has before its operations are looked at.
    pub fn begin(&mut self, transaction: &Transaction<'_>) {
        self.transaction.clear();
        self.transaction.push(AddressBytes::account(transaction.source_key()));
        self.transaction.extend(transaction.fee_bump_key().map(AddressBytes::account));
        changed_accounts(transaction.fee_changes, &mut self.transaction);
        if let (TransactionMeta::V0(operations), true) = (transaction.meta, transaction.successful()) {
            for operation in *operations {
                changed_accounts(operation.changes, &mut self.transaction);
            }
        }
    }

    /// Collects the participants that an operation has by itself.
    pub fn begin_operation(&mut self, view: &OperationView<'_, '_>) -> Result<(), LedgerError> {
        self.operation.clear();
        self.operation.push(AddressBytes::account(view.source_key()));
        classic::collect(view, &mut self.operation);
        self.operation.extend(sponsor::find(view)?.map(AddressBytes::account));
        soroban::collect(view, &mut self.operation);
        Ok(())
    }

    /// Whom a state change of the operation names.
    pub fn add_to_operation(&mut self, account_id: AddressBytes) {
        self.operation.push(account_id);
    }

    /// Whom a state change of the transaction alone, its fee, names.
    pub fn add_to_transaction(&mut self, account_id: AddressBytes) {
        self.transaction.push(account_id);
    }

    /// Writes the participants of an operation; they are the transaction's too.
    pub fn finish_operation<R: Rows>(&mut self, view: &OperationView<'_, '_>, rows: &mut R) {
        sort_once(&mut self.operation);
        let (operation_id, closed_at) = (view.id(), view.transaction.head.closed_at);
        for account_id in &self.operation {
            rows.operation_account(&OperationAccountRow { operation_id, account_id: *account_id, closed_at });
        }
        // One operation often names the same as the one before.
        if !self.transaction.ends_with(&self.operation) {
            self.transaction.extend_from_slice(&self.operation);
        }
    }

    /// Writes the participants of the transaction.
    pub fn finish<R: Rows>(&mut self, transaction: &Transaction<'_>, rows: &mut R) {
        sort_once(&mut self.transaction);
        let (tx_to_id, closed_at) = (transaction.to_id(), transaction.head.closed_at);
        for account_id in &self.transaction {
            rows.transaction_account(&TransactionAccountRow { tx_to_id, account_id: *account_id, closed_at });
        }
    }
}

fn sort_once(addresses: &mut Vec<AddressBytes>) {
    addresses.sort_unstable();
    addresses.dedup();
}

/// The accounts among the entries of a raw change list.
fn changed_accounts(changes: &[LedgerEntryChange<'_>], into: &mut Vec<AddressBytes>) {
    for change in changes {
        match *change {
            LedgerEntryChange::Created(entry)
            | LedgerEntryChange::Updated(entry)
            | LedgerEntryChange::State(entry)
            | LedgerEntryChange::Restored(entry) => {
                if let LedgerEntryData::Account(account) = entry.data {
                    into.push(AddressBytes::account(account_key(&account.account_id)));
                }
            }
            LedgerEntryChange::Removed(key) => {
                if let LedgerKey::Account(account) = key {
                    into.push(AddressBytes::account(account_key(&account.account_id)));
                }
            }
        }
    }
}
