//! One operation of a transaction, with its changes worked out once and read by every emitter.

use once_cell::unsync::OnceCell;
use starmill_xdr::{Arena, ContractEvent, Operation, OperationBody, OperationResult, Spanned, TransactionResultCode};

use crate::changes::{self, Change};
use crate::error::{Fault, LedgerError};
use crate::rows::Place;
use crate::toid;
use crate::transaction::{Transaction, muxed_key};

/// The last protocol in which a transaction with an internal error may carry meta that does not count.
const INTERNAL_ERROR_META_PROTOCOL_MAX: u32 = 12;

/// An operation and where it stands.
#[derive(Debug)]
pub struct OperationView<'t, 'a> {
    /// Its transaction.
    pub transaction: &'t Transaction<'a>,
    /// Position in the transaction, 0-based.
    pub index: u32,
    /// The operation and its bytes.
    pub operation: &'a Spanned<'a, Operation<'a>>,
    arena: &'a Arena,
    changes: OnceCell<&'a [Change<'a>]>,
}

impl<'t, 'a> OperationView<'t, 'a> {
    /// Views of all operations of a transaction, in order.
    pub fn all(transaction: &'t Transaction<'a>, arena: &'a Arena) -> impl Iterator<Item = Self> {
        transaction.operations().iter().zip(0..).map(move |(operation, index)| Self {
            transaction,
            index,
            operation,
            arena,
            changes: OnceCell::new(),
        })
    }

    /// TOID (SEP-35).
    pub fn id(&self) -> i64 {
        toid::operation(self.transaction.to_id(), self.index)
    }

    /// What it does.
    pub fn body(&self) -> &'a OperationBody<'a> {
        &self.operation.value.body
    }

    /// ed25519 key of its source: its own, or the transaction's (the inner one of a fee bump).
    pub fn source_key(&self) -> &'a [u8; 32] {
        self.operation.value.source_account.map_or_else(|| self.transaction.source_key(), |source| muxed_key(source))
    }

    /// Its result; `None` where the transaction carries none for it.
    pub fn result(&self) -> Option<&'a OperationResult<'a>> {
        self.transaction.operation_results()?.get(self.index as usize)
    }

    /// Its changes, sorted by ledger key.
    pub fn changes(&self) -> Result<&'a [Change<'a>], LedgerError> {
        self.changes.get_or_try_init(|| self.extract()).copied()
    }

    /// A fault as an error of this operation.
    pub fn error(&self, fault: Fault) -> LedgerError {
        LedgerError { operation: Some(self.index), ..fault.in_transaction(self.transaction.head.sequence, self.transaction.index) }
    }

    /// What all state changes of this operation share.
    pub fn place(&self) -> Place {
        let head = self.transaction.head;
        Place { to_id: self.transaction.to_id(), operation_id: self.id(), ledger: head.sequence, closed_at: head.closed_at }
    }

    /// The events of the contracts that a host function called, in order; empty unless the transaction was applied and this is a host
    /// function. Events of classic operations only repeat what their changes say, and are not shown.
    pub fn contract_events(&self) -> &'a [Spanned<'a, ContractEvent<'a>>] {
        if matches!(self.body(), OperationBody::InvokeHostFunction(_)) && self.transaction.successful() {
            self.transaction.operation_events(self.index as usize)
        } else {
            &[]
        }
    }

    fn extract(&self) -> Result<&'a [Change<'a>], LedgerError> {
        let transaction = self.transaction;
        if transaction.result_code() == TransactionResultCode::TxInternalError
            && transaction.head.protocol <= INTERNAL_ERROR_META_PROTOCOL_MAX
        {
            return Ok(&[]);
        }
        let raw = transaction.operation_changes(self.index as usize);
        changes::extract(raw, self.arena).map_err(|fault| self.error(fault))
    }
}
