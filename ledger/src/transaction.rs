//! One transaction of a ledger, decoded: envelope, result, meta, fee changes, and the questions that processors ask of them.

use starmill_xdr::{
    AccountId, Arena, ContractEvent, FeeBumpTransactionInnerTx, InnerTransactionResultResult, LedgerEntryChange, LedgerEntryChanges, Memo,
    MuxedAccount, Operation, OperationResult, SorobanTransactionData, Spanned, TransactionEnvelope, TransactionExt, TransactionMeta,
    TransactionResultCode, TransactionResultPair, TransactionResultResult, Xdr, XdrError, decode_checked,
};

use crate::error::{Fault, LedgerError};
use crate::head::LedgerHead;
use crate::network::Network;
use crate::skim::{Skim, Span};
use crate::toid;

/// A skimmed ledger whose results are paired with their envelopes: where transactions are decoded from.
#[derive(Clone, Copy, Debug)]
pub struct PairedLedger<'a> {
    /// The network.
    pub network: &'a Network,
    /// The header.
    pub head: &'a LedgerHead,
    /// The bytes.
    pub frame: &'a [u8],
    /// Where things are in them.
    pub skim: &'a Skim,
    /// For each transaction its envelope's index in the skim.
    pub pairs: &'a [u32],
}

/// A transaction in apply order.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    /// The network.
    pub network: &'a Network,
    /// Header of its ledger.
    pub head: &'a LedgerHead,
    /// Position in apply order, 1-based.
    pub index: u32,
    /// The envelope.
    pub envelope: TransactionEnvelope<'a>,
    /// Hash and result.
    pub result: TransactionResultPair<'a>,
    /// What applying it changed.
    pub meta: TransactionMeta<'a>,
    /// What charging the fee changed.
    pub fee_changes: LedgerEntryChanges<'a>,
    /// What refunds after all transactions changed; empty before close meta V2.
    pub post_fee_changes: LedgerEntryChanges<'a>,
}

impl<'a> PairedLedger<'a> {
    /// Decodes transaction `i`, 0-based, into the arena.
    pub fn transaction(&self, i: usize, arena: &'a Arena) -> Result<Transaction<'a>, LedgerError> {
        let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
        let decoded = self.decode(i, number, arena);
        decoded.map_err(|error| Fault::Xdr(error).in_transaction(self.head.sequence, number))
    }

    fn decode(&self, i: usize, index: u32, arena: &'a Arena) -> Result<Transaction<'a>, XdrError> {
        let absent = XdrError::Truncated { offset: 0, needed: 1, remaining: 0 };
        let spans = self.skim.transactions.get(i).ok_or(absent)?;
        let envelope = self.pairs.get(i).and_then(|e| self.skim.envelopes.get(*e as usize)).ok_or(absent)?;
        Ok(Transaction {
            network: self.network,
            head: self.head,
            index,
            envelope: decode_checked(envelope.envelope.of(self.frame), arena)?,
            result: decode_checked(spans.result.of(self.frame), arena)?,
            meta: decode_checked(spans.meta.of(self.frame), arena)?,
            fee_changes: changes(spans.fee_changes, self.frame, arena)?,
            post_fee_changes: match spans.post_fee_changes {
                Some(span) => changes(span, self.frame, arena)?,
                None => &[],
            },
        })
    }
}

fn changes<'a>(span: Span, frame: &'a [u8], arena: &'a Arena) -> Result<LedgerEntryChanges<'a>, XdrError> {
    let mut c = starmill_xdr::Cursor::new(span.of(frame));
    let list = c.list(arena, u32::MAX, LedgerEntryChange::SIZE_MIN, |c, slot| LedgerEntryChange::decode_into(c, arena, slot));
    list.map_err(|_| c.error())
}

/// The ed25519 key of an account id.
pub fn account_key<'a>(id: &AccountId<'a>) -> &'a [u8; 32] {
    let AccountId::PublicKeyTypeEd25519(key) = id;
    key
}

/// The ed25519 key behind a possibly muxed account (CAP-27).
pub fn muxed_key<'a>(account: &MuxedAccount<'a>) -> &'a [u8; 32] {
    match account {
        MuxedAccount::Ed25519(key) => key,
        MuxedAccount::MuxedEd25519(muxed) => muxed.ed25519,
    }
}

impl<'a> Transaction<'a> {
    /// TOID (SEP-35).
    pub fn to_id(&self) -> i64 {
        toid::transaction(self.head.sequence, self.index)
    }

    /// Hash of the envelope, the outer one for a fee bump.
    pub fn hash(&self) -> &'a [u8; 32] {
        self.result.transaction_hash
    }

    /// Hash of the inner transaction of a fee bump; otherwise, and where a fee bump's result does not say, the hash.
    pub fn inner_hash(&self) -> &'a [u8; 32] {
        match self.result.result.result {
            TransactionResultResult::TxFeeBumpInnerSuccess(pair) | TransactionResultResult::TxFeeBumpInnerFailed(pair)
                if self.is_fee_bump() =>
            {
                pair.transaction_hash
            }
            _ => self.hash(),
        }
    }

    /// Whether the envelope is a fee bump.
    pub fn is_fee_bump(&self) -> bool {
        matches!(self.envelope, TransactionEnvelope::TxFeeBump(_))
    }

    /// Whether it was applied: the result is success, or fee bump with inner success.
    pub fn successful(&self) -> bool {
        matches!(self.result_code(), TransactionResultCode::TxSuccess | TransactionResultCode::TxFeeBumpInnerSuccess)
    }

    /// The outer result code.
    pub fn result_code(&self) -> TransactionResultCode {
        self.result.result.result.discriminant()
    }

    /// ed25519 key of the source account, the inner one for a fee bump.
    pub fn source_key(&self) -> &'a [u8; 32] {
        match self.envelope {
            TransactionEnvelope::TxV0(v0) => v0.tx.source_account_ed25519,
            TransactionEnvelope::Tx(v1) => muxed_key(&v1.tx.source_account),
            TransactionEnvelope::TxFeeBump(bump) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
                muxed_key(&inner.tx.source_account)
            }
        }
    }

    /// ed25519 key of who offered a fee bump's fee; `None` for other envelopes.
    pub fn fee_bump_key(&self) -> Option<&'a [u8; 32]> {
        match self.envelope {
            TransactionEnvelope::TxFeeBump(bump) => Some(muxed_key(&bump.tx.fee_source)),
            _ => None,
        }
    }

    /// ed25519 key of who pays the fee.
    pub fn fee_key(&self) -> &'a [u8; 32] {
        self.fee_bump_key().unwrap_or_else(|| self.source_key())
    }

    /// Sequence number, the inner one for a fee bump.
    pub fn sequence_number(&self) -> i64 {
        match self.envelope {
            TransactionEnvelope::TxV0(v0) => v0.tx.seq_num,
            TransactionEnvelope::Tx(v1) => v1.tx.seq_num,
            TransactionEnvelope::TxFeeBump(bump) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
                inner.tx.seq_num
            }
        }
    }

    /// The operations, the inner ones for a fee bump.
    pub fn operations(&self) -> &'a [Spanned<'a, Operation<'a>>] {
        match self.envelope {
            TransactionEnvelope::TxV0(v0) => v0.tx.operations,
            TransactionEnvelope::Tx(v1) => v1.tx.operations,
            TransactionEnvelope::TxFeeBump(bump) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
                inner.tx.operations
            }
        }
    }

    /// The memo, the inner one for a fee bump.
    pub fn memo(&self) -> Memo<'a> {
        match self.envelope {
            TransactionEnvelope::TxV0(v0) => v0.tx.memo,
            TransactionEnvelope::Tx(v1) => v1.tx.memo,
            TransactionEnvelope::TxFeeBump(bump) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
                inner.tx.memo
            }
        }
    }

    /// Resources and footprint of a Soroban transaction; `None` for a classic one.
    pub fn soroban_data(&self) -> Option<&'a SorobanTransactionData<'a>> {
        let ext = match self.envelope {
            TransactionEnvelope::TxV0(_) => return None,
            TransactionEnvelope::Tx(v1) => v1.tx.ext,
            TransactionEnvelope::TxFeeBump(bump) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
                inner.tx.ext
            }
        };
        match ext {
            TransactionExt::V0 => None,
            TransactionExt::V1(data) => Some(data),
        }
    }

    /// The operations' results, the inner ones for a fee bump; `None` where the result code carries none.
    pub fn operation_results(&self) -> Option<&'a [OperationResult<'a>]> {
        match self.result.result.result {
            TransactionResultResult::TxSuccess(results) | TransactionResultResult::TxFailed(results) => Some(results),
            TransactionResultResult::TxFeeBumpInnerSuccess(pair) | TransactionResultResult::TxFeeBumpInnerFailed(pair) => {
                match pair.result.result {
                    InnerTransactionResultResult::TxSuccess(results) | InnerTransactionResultResult::TxFailed(results) => Some(results),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Raw changes that are not of one operation, after them: `txChangesAfter`, empty before meta V2.
    pub fn changes_after(&self) -> LedgerEntryChanges<'a> {
        match self.meta {
            TransactionMeta::V0(_) | TransactionMeta::V1(_) => &[],
            TransactionMeta::V2(meta) => meta.tx_changes_after,
            TransactionMeta::V3(meta) => meta.tx_changes_after,
            TransactionMeta::V4(meta) => meta.tx_changes_after,
        }
    }

    /// Raw changes of operation `index`, 0-based; empty where the meta has none for it.
    pub fn operation_changes(&self, index: usize) -> LedgerEntryChanges<'a> {
        let changes = match self.meta {
            TransactionMeta::V0(operations) => operations.get(index).map(|o| o.changes),
            TransactionMeta::V1(meta) => meta.operations.get(index).map(|o| o.changes),
            TransactionMeta::V2(meta) => meta.operations.get(index).map(|o| o.changes),
            TransactionMeta::V3(meta) => meta.operations.get(index).map(|o| o.changes),
            TransactionMeta::V4(meta) => meta.operations.get(index).map(|o| o.changes),
        };
        changes.unwrap_or(&[])
    }

    /// Contract events of operation `index`, 0-based: in meta V3 those of the transaction, which has one operation; in V4 its own, also those
    /// of classic operations (CAP-67); none in older metas, nor where the meta has none for it.
    pub fn operation_events(&self, index: usize) -> &'a [Spanned<'a, ContractEvent<'a>>] {
        match self.meta {
            TransactionMeta::V0(_) | TransactionMeta::V1(_) | TransactionMeta::V2(_) => &[],
            TransactionMeta::V3(meta) => meta.soroban_meta.map_or(&[], |soroban| soroban.events),
            TransactionMeta::V4(meta) => meta.operations.get(index).map_or(&[], |operation| operation.events),
        }
    }
}
