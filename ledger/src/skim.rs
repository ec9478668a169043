//! Skim: one pass over a frame that stores only where things begin and end.
//!
//! Checks the whole frame as strictly as decoding would (every length, enum, padding, nothing left over), so that what is decoded from its
//! spans afterwards cannot be malformed and no claimed count is untrue. Reads all three close metas; transaction sets plain, generalized,
//! and with parallel phases (CAP-63).

use starmill_xdr::{
    Cursor, FeeBumpTransaction, LedgerEntry, LedgerEntryChange, LedgerKey, ScpHistoryEntry, Stop, Transaction, TransactionMeta,
    TransactionResultPair, TransactionV0, UpgradeEntryMeta, Xdr,
};

use crate::error::{Fault, LedgerError};
use crate::head::{self, HeaderSpans, LedgerHead};
use crate::toid;

/// A part of a frame, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// From `start` to before `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Where it starts, in bytes from the start of the frame.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// Where it ends, in bytes from the start of the frame.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// The bytes of this part; empty when the frame is not the one that was skimmed.
    pub fn of(self, frame: &[u8]) -> &[u8] {
        frame.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The kinds of transaction envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvelopeKind {
    /// Before protocol 13: an ed25519 source, time bounds only.
    V0,
    /// The usual one.
    V1,
    /// Someone else pays the fee of a V1 transaction (CAP-15).
    FeeBump,
}

/// An envelope of the transaction set.
#[derive(Clone, Copy, Debug)]
pub struct EnvelopeSpan {
    /// Its kind.
    pub kind: EnvelopeKind,
    /// The whole envelope.
    pub envelope: Span,
    /// The transaction in it, without type and signatures: what is hashed.
    pub transaction: Span,
}

/// One element of the transaction processing list, in apply order.
#[derive(Clone, Copy, Debug)]
pub struct TransactionSpan {
    /// `TransactionResultPair`.
    pub result: Span,
    /// `LedgerEntryChanges` of charging the fee.
    pub fee_changes: Span,
    /// `TransactionMeta`.
    pub meta: Span,
    /// `LedgerEntryChanges` after all transactions: refunds. Only in close meta V2.
    pub post_fee_changes: Option<Span>,
}

/// What a skim found. Reused from ledger to ledger.
#[derive(Debug, Default)]
pub struct Skim {
    /// The header and the hashes in it.
    pub header: HeaderSpans,
    /// The transaction set: `TransactionSet` in close meta V0, else `GeneralizedTransactionSet`.
    pub transaction_set: Span,
    /// The envelopes, in the order of the transaction set.
    pub envelopes: Vec<EnvelopeSpan>,
    /// The transactions, in apply order.
    pub transactions: Vec<TransactionSpan>,
}

/// Largest frame whose parts 32 bits can name.
const FRAME_BYTES_MAX: usize = u32::MAX as usize;

impl Skim {
    /// Skims `frame` into a fresh value.
    pub fn of(frame: &[u8]) -> Result<(LedgerHead, Self), LedgerError> {
        let mut skim = Self::default();
        Ok((skim.read(frame)?, skim))
    }

    /// Skims `frame`, which must be exactly one `LedgerCloseMeta`, over what was there before.
    pub fn read(&mut self, frame: &[u8]) -> Result<LedgerHead, LedgerError> {
        self.read_telling(frame, |_| ())
    }

    /// As [`Self::read`], and tells the envelopes as soon as all are known, which is well before the rest of the frame has been read.
    ///
    /// Whatever comes of them must be forgotten when the skim then fails.
    pub fn read_telling<'s>(&'s mut self, frame: &[u8], envelopes: impl FnOnce(&'s [EnvelopeSpan])) -> Result<LedgerHead, LedgerError> {
        (self.header, self.transaction_set) = Default::default();
        self.envelopes.clear();
        self.transactions.clear();
        if frame.len() > FRAME_BYTES_MAX {
            let (value, max) = (frame.len() as u64, FRAME_BYTES_MAX as u64);
            return Err(Fault::OutOfRange { what: "frame size in bytes", value, max }.in_ledger(0));
        }
        let mut cursor = Cursor::new(frame);
        let mut sequence = 0;
        let walked = self.walk(&mut cursor, &mut sequence, envelopes).and_then(|read| cursor.finish().map(|()| read));
        let (head, count) = walked.map_err(|Stop| Fault::Xdr(cursor.error()).in_ledger(sequence))?;
        let (head, max) = (head.check()?, u64::from(toid::TRANSACTION_INDEX_MAX));
        if count > max {
            return Err(Fault::OutOfRange { what: "number of transactions", value: count, max }.in_ledger(sequence));
        }
        Ok(head)
    }

    /// Gives the header and how many transactions there are; `sequence` is set as soon as it is known.
    fn walk<'s>(
        &'s mut self,
        c: &mut Cursor<'_>,
        sequence: &mut u32,
        tell: impl FnOnce(&'s [EnvelopeSpan]),
    ) -> Result<(LedgerHead, u64), Stop> {
        let (head, header) = head::read(c)?;
        *sequence = head.sequence;
        self.header = header;
        let set_start = offset(c);
        if head.close_meta_version == 0 {
            c.take::<32>()?; // previous ledger hash
            self.envelopes(c)?;
        } else {
            self.generalized_set(c)?;
        }
        self.transaction_set = Span { start: set_start, end: offset(c) };
        let Self { envelopes, transactions, .. } = self;
        tell(envelopes);
        read_transactions(transactions, c, head.close_meta_version)?;
        c.skip_list(u32::MAX, UpgradeEntryMeta::SIZE_MIN, UpgradeEntryMeta::skip)?;
        c.skip_list(u32::MAX, ScpHistoryEntry::SIZE_MIN, ScpHistoryEntry::skip)?;
        if head.close_meta_version > 0 {
            c.take::<8>()?; // size of live Soroban state
            c.skip_list(u32::MAX, LedgerKey::SIZE_MIN, LedgerKey::skip)?;
        }
        if head.close_meta_version == 1 {
            c.skip_list(u32::MAX, LedgerEntry::SIZE_MIN, LedgerEntry::skip)?;
        }
        Ok((head, transactions.len() as u64))
    }

    fn generalized_set(&mut self, c: &mut Cursor<'_>) -> Result<(), Stop> {
        let version = c.take::<4>()?;
        match i32::from_be_bytes(*version) {
            1 => {}
            value => return Err(c.unknown("GeneralizedTransactionSet", version, value)),
        }
        c.take::<32>()?; // previous ledger hash
        for _ in 0..c.count(u32::MAX, 8)? {
            let phase = c.take::<4>()?;
            match i32::from_be_bytes(*phase) {
                0 => {
                    for _ in 0..c.count(u32::MAX, 12)? {
                        self.component(c)?;
                    }
                }
                1 => self.parallel_component(c)?,
                value => return Err(c.unknown("TransactionPhase", phase, value)),
            }
        }
        Ok(())
    }

    fn component(&mut self, c: &mut Cursor<'_>) -> Result<(), Stop> {
        let kind = c.take::<4>()?;
        match i32::from_be_bytes(*kind) {
            0 => {}
            value => return Err(c.unknown("TxSetComponent", kind, value)),
        }
        base_fee(c)?;
        self.envelopes(c)
    }

    fn parallel_component(&mut self, c: &mut Cursor<'_>) -> Result<(), Stop> {
        base_fee(c)?;
        for _stage in 0..c.count(u32::MAX, 4)? {
            for _cluster in 0..c.count(u32::MAX, 4)? {
                self.envelopes(c)?;
            }
        }
        Ok(())
    }

    fn envelopes(&mut self, c: &mut Cursor<'_>) -> Result<(), Stop> {
        for _ in 0..c.count(u32::MAX, 8)? {
            let start = offset(c);
            let kind = c.take::<4>()?;
            let transaction_start = offset(c);
            let kind = match i32::from_be_bytes(*kind) {
                0 => TransactionV0::skip(c).map(|()| EnvelopeKind::V0)?,
                2 => Transaction::skip(c).map(|()| EnvelopeKind::V1)?,
                5 => FeeBumpTransaction::skip(c).map(|()| EnvelopeKind::FeeBump)?,
                value => return Err(c.unknown("TransactionEnvelope", kind, value)),
            };
            let transaction = Span { start: transaction_start, end: offset(c) };
            c.skip_list(20, 8, |c| {
                c.take::<4>()?; // signature hint
                c.opaque(64).map(|_| ())
            })?;
            self.envelopes.push(EnvelopeSpan { kind, envelope: Span { start, end: offset(c) }, transaction });
        }
        Ok(())
    }
}

fn read_transactions(transactions: &mut Vec<TransactionSpan>, c: &mut Cursor<'_>, close_meta_version: u8) -> Result<(), Stop> {
    for _ in 0..c.count(u32::MAX, TransactionResultPair::SIZE_MIN)? {
        if close_meta_version == 2 {
            starmill_xdr::ExtensionPoint::skip(c)?;
        }
        let result = span(c, TransactionResultPair::skip)?;
        let fee_changes = span(c, changes)?;
        let meta = span(c, TransactionMeta::skip)?;
        let post_fee_changes = if close_meta_version == 2 { Some(span(c, changes)?) } else { None };
        transactions.push(TransactionSpan { result, fee_changes, meta, post_fee_changes });
    }
    Ok(())
}

/// An optional fee in stroops.
fn base_fee(c: &mut Cursor<'_>) -> Result<(), Stop> {
    if c.flag()? {
        c.take::<8>()?;
    }
    Ok(())
}

fn changes(c: &mut Cursor<'_>) -> Result<(), Stop> {
    c.skip_list(u32::MAX, LedgerEntryChange::SIZE_MIN, LedgerEntryChange::skip)
}

fn span<'a>(c: &mut Cursor<'a>, skip: impl FnOnce(&mut Cursor<'a>) -> Result<(), Stop>) -> Result<Span, Stop> {
    let start = offset(c);
    skip(c)?;
    Ok(Span { start, end: offset(c) })
}

/// The cursor's offset; `Skim::read` has seen that it fits.
pub(crate) fn offset(c: &Cursor<'_>) -> u32 {
    u32::try_from(c.offset()).unwrap_or(u32::MAX)
}
