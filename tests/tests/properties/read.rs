//! A ledger read with the owned types of stellar-xdr: envelopes beside results, and the lists of changes of each transaction.

use std::collections::BTreeMap;

use starmill_fixtures::hash;
use stellar_xdr::{
    GeneralizedTransactionSet, Hash, LedgerCloseMeta, LedgerEntryChanges, LedgerHeader, MuxedAccount, Operation, OperationResult,
    TransactionEnvelope, TransactionMeta, TransactionPhase, TransactionResult, TransactionResultPair, TransactionResultResult,
    TxSetComponent, VecM,
};

use super::steps::{Step, steps};

/// A ledger.
pub(super) struct Ledger {
    pub(super) sequence: u32,
    pub(super) protocol: u32,
    pub(super) base_reserve: u32,
    pub(super) transactions: Vec<Applied>,
}

/// A transaction in the order of application.
pub(super) struct Applied {
    pub(super) envelope: TransactionEnvelope,
    pub(super) result: TransactionResult,
    pub(super) fee: Vec<Step>,
    /// Per operation of the meta.
    pub(super) operations: Vec<Vec<Step>>,
    pub(super) after: Vec<Step>,
    pub(super) refund: Vec<Step>,
}

impl Ledger {
    /// Reads a ledger of the network with this passphrase.
    pub(super) fn of(passphrase: &str, meta: &LedgerCloseMeta) -> Self {
        let network = hash::network_id(passphrase);
        let envelopes: BTreeMap<Hash, TransactionEnvelope> =
            envelopes(meta).into_iter().map(|envelope| (hash::transaction_hash(&network, &envelope).unwrap(), envelope)).collect();
        let none = LedgerEntryChanges(VecM::default());
        let mut transactions = Vec::new();
        let mut add = |pair: &TransactionResultPair, fee: &LedgerEntryChanges, meta: &TransactionMeta, refund: &LedgerEntryChanges| {
            let (operations, after) = lists(meta);
            transactions.push(Applied {
                envelope: envelopes[&pair.transaction_hash].clone(),
                result: pair.result.clone(),
                fee: steps(fee),
                operations: operations.iter().map(|changes| steps(changes)).collect(),
                after: after.map(steps).unwrap_or_default(),
                refund: steps(refund),
            });
        };
        let header: &LedgerHeader = match meta {
            LedgerCloseMeta::V0(v) => {
                v.tx_processing.iter().for_each(|t| add(&t.result, &t.fee_processing, &t.tx_apply_processing, &none));
                &v.ledger_header.header
            }
            LedgerCloseMeta::V1(v) => {
                v.tx_processing.iter().for_each(|t| add(&t.result, &t.fee_processing, &t.tx_apply_processing, &none));
                &v.ledger_header.header
            }
            LedgerCloseMeta::V2(v) => {
                let all = v.tx_processing.iter();
                all.for_each(|t| add(&t.result, &t.fee_processing, &t.tx_apply_processing, &t.post_tx_apply_fee_processing));
                &v.ledger_header.header
            }
        };
        let (sequence, protocol, base_reserve) = (header.ledger_seq, header.ledger_version, header.base_reserve);
        Self { sequence, protocol, base_reserve, transactions }
    }
}

fn envelopes(meta: &LedgerCloseMeta) -> Vec<TransactionEnvelope> {
    let GeneralizedTransactionSet::V1(set) = match meta {
        LedgerCloseMeta::V0(v) => return v.tx_set.txs.to_vec(),
        LedgerCloseMeta::V1(v) => &v.tx_set,
        LedgerCloseMeta::V2(v) => &v.tx_set,
    };
    let mut all = Vec::new();
    for phase in &set.phases {
        match phase {
            TransactionPhase::V0(components) => {
                for TxSetComponent::TxsetCompTxsMaybeDiscountedFee(component) in components {
                    all.extend(component.txs.iter().cloned());
                }
            }
            TransactionPhase::V1(parallel) => {
                let clusters = parallel.execution_stages.iter().flat_map(|stage| stage.0.iter());
                all.extend(clusters.flat_map(|cluster| cluster.0.iter().cloned()));
            }
        }
    }
    all
}

/// The changes of each operation, and those after them.
fn lists(meta: &TransactionMeta) -> (Vec<&LedgerEntryChanges>, Option<&LedgerEntryChanges>) {
    match meta {
        TransactionMeta::V0(operations) => (operations.iter().map(|o| &o.changes).collect(), None),
        TransactionMeta::V1(v) => (v.operations.iter().map(|o| &o.changes).collect(), None),
        TransactionMeta::V2(v) => (v.operations.iter().map(|o| &o.changes).collect(), Some(&v.tx_changes_after)),
        TransactionMeta::V3(v) => (v.operations.iter().map(|o| &o.changes).collect(), Some(&v.tx_changes_after)),
        TransactionMeta::V4(v) => (v.operations.iter().map(|o| &o.changes).collect(), Some(&v.tx_changes_after)),
    }
}

impl Applied {
    /// Source and operations, of a fee bump those inside.
    fn inner(&self) -> (MuxedAccount, &[Operation], bool) {
        let soroban = |tx: &stellar_xdr::Transaction| !matches!(tx.ext, stellar_xdr::TransactionExt::V0);
        match &self.envelope {
            TransactionEnvelope::TxV0(v) => (MuxedAccount::Ed25519(v.tx.source_account_ed25519.clone()), &v.tx.operations, false),
            TransactionEnvelope::Tx(v) => (v.tx.source_account.clone(), &v.tx.operations, soroban(&v.tx)),
            TransactionEnvelope::TxFeeBump(bump) => {
                let stellar_xdr::FeeBumpTransactionInnerTx::Tx(inner) = &bump.tx.inner_tx;
                (inner.tx.source_account.clone(), &inner.tx.operations, soroban(&inner.tx))
            }
        }
    }

    pub(super) fn source(&self) -> stellar_xdr::AccountId {
        self.inner().0.account_id()
    }

    pub(super) fn ops(&self) -> &[Operation] {
        self.inner().1
    }

    pub(super) fn is_soroban(&self) -> bool {
        self.inner().2
    }

    pub(super) fn is_fee_bump(&self) -> bool {
        matches!(self.envelope, TransactionEnvelope::TxFeeBump(_))
    }

    /// Who pays the fee.
    pub(super) fn payer(&self) -> stellar_xdr::AccountId {
        match &self.envelope {
            TransactionEnvelope::TxFeeBump(bump) => bump.tx.fee_source.clone().account_id(),
            _ => self.source(),
        }
    }

    pub(super) fn successful(&self) -> bool {
        matches!(self.result.result, TransactionResultResult::TxSuccess(_) | TransactionResultResult::TxFeeBumpInnerSuccess(_))
    }

    /// The result of each operation, if there is one.
    pub(super) fn results(&self) -> &[OperationResult] {
        use stellar_xdr::InnerTransactionResultResult as Inner;
        match &self.result.result {
            TransactionResultResult::TxSuccess(all) | TransactionResultResult::TxFailed(all) => all,
            TransactionResultResult::TxFeeBumpInnerSuccess(pair) | TransactionResultResult::TxFeeBumpInnerFailed(pair) => {
                match &pair.result.result {
                    Inner::TxSuccess(all) | Inner::TxFailed(all) => all,
                    _ => &[],
                }
            }
            _ => &[],
        }
    }
}
