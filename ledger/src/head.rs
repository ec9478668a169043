//! What stands at the front of a `LedgerCloseMeta` frame: enough to order frames and to name a ledger in an error.

use starmill_xdr::{Cursor, Hash, LedgerCloseMetaExt, StellarValueExt, Stop, Xdr, XdrError};

use crate::error::{Fault, LedgerError};
use crate::skim::{Span, offset};
use crate::toid;

/// Latest close time that a Postgres timestamp can hold, Unix seconds (year 294276).
const CLOSED_AT_MAX: u64 = 9_224_318_015_999;

/// Header facts of one ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHead {
    /// Arm of the close meta: 0, 1 or 2.
    pub close_meta_version: u8,
    /// Ledger sequence.
    pub sequence: u32,
    /// Protocol version.
    pub protocol: u32,
    /// Close time, Unix seconds.
    pub closed_at: i64,
    /// Base reserve, stroops.
    pub base_reserve: u32,
    /// Base fee, stroops.
    pub base_fee: u32,
    /// Hash of this ledger's header, as the frame states it.
    pub hash: [u8; 32],
    /// Hash of the previous ledger's header.
    pub previous_hash: [u8; 32],
}

/// Where the header is in its frame, and the hashes in it that name other parts of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderSpans {
    /// `LedgerHeader`: what the ledger's hash is the hash of.
    pub header: Span,
    /// Its `scpValue.txSetHash`.
    pub transaction_set_hash: Span,
    /// Its `txSetResultHash`.
    pub result_hash: Span,
}

/// Reads the head of a frame; looks at nothing behind the header.
pub fn peek(frame: &[u8]) -> Result<LedgerHead, LedgerError> {
    let mut cursor = Cursor::new(frame);
    let (head, _) = read(&mut cursor).map_err(|Stop| Fault::Xdr(cursor.error()).in_ledger(0))?;
    head.check()
}

/// Reads arm, extension and header and leaves the cursor behind the ledger header entry.
pub(crate) fn read(c: &mut Cursor<'_>) -> Result<(LedgerHead, HeaderSpans), Stop> {
    let arm = c.take::<4>()?;
    let close_meta_version = match i32::from_be_bytes(*arm) {
        0 => 0,
        1 => 1,
        2 => 2,
        value => return Err(c.unknown("LedgerCloseMeta", arm, value)),
    };
    if close_meta_version > 0 {
        LedgerCloseMetaExt::skip(c)?;
    }
    let hash: Hash<'_> = c.take()?;
    let header_start = offset(c);
    let protocol = c.u32()?;
    let previous_hash: Hash<'_> = c.take()?;
    let transaction_set_hash = hash_span(c)?;
    let closed_at = u64::from_be_bytes(*c.take()?);
    c.skip_list(6, 4, |c| c.opaque(128).map(|_| ()))?; // upgrades
    StellarValueExt::skip(c)?;
    let result_hash = hash_span(c)?;
    c.take::<32>()?; // bucket list hash
    let sequence = c.u32()?;
    c.take::<28>()?; // total coins, fee pool, inflation sequence, id pool
    let base_fee = c.u32()?;
    let base_reserve = c.u32()?;
    c.take::<132>()?; // largest transaction set, skip list
    starmill_xdr::LedgerHeaderExt::skip(c)?;
    let header = Span { start: header_start, end: offset(c) };
    starmill_xdr::LedgerHeaderHistoryEntryExt::skip(c)?;
    let head = LedgerHead {
        close_meta_version,
        sequence,
        protocol,
        // Out of range times become negative here and are refused by `check`.
        closed_at: i64::try_from(closed_at).unwrap_or(-1),
        base_reserve,
        base_fee,
        hash: *hash,
        previous_hash: *previous_hash,
    };
    Ok((head, HeaderSpans { header, transaction_set_hash, result_hash }))
}

fn hash_span(c: &mut Cursor<'_>) -> Result<Span, Stop> {
    let start = offset(c);
    c.take::<32>()?;
    Ok(Span { start, end: offset(c) })
}

impl LedgerHead {
    /// Refuses a sequence or close time that rows cannot hold.
    pub(crate) fn check(self) -> Result<Self, LedgerError> {
        let over = |what, value, max| Err(Fault::OutOfRange { what, value, max }.in_ledger(self.sequence));
        if self.sequence > toid::LEDGER_MAX {
            return over("ledger sequence", self.sequence.into(), toid::LEDGER_MAX.into());
        }
        match u64::try_from(self.closed_at) {
            Ok(at) if at <= CLOSED_AT_MAX => Ok(self),
            at => over("close time", at.unwrap_or(u64::MAX), CLOSED_AT_MAX),
        }
    }
}

/// The error of a frame at whose front not even a header stands.
impl From<XdrError> for LedgerError {
    fn from(error: XdrError) -> Self {
        Fault::Xdr(error).in_ledger(0)
    }
}
