//! What unpacked bytes are: a stream of record marks, bare ledgers, or batches.
//!
//! Each kind is tried on the front; it is that kind when a ledger's header stands where the kind puts it. That is some 400 bytes that must
//! fit, so nothing else passes. Only as much of the front is waited for as is needed.

use starmill_ledger::LedgerHead;
use starmill_ledger::error::Fault;
use starmill_xdr::frame::FRAME_BYTES_MAX;
use starmill_xdr::{Cursor, FrameBuf, FrameError, FrameSlice, XdrError};

use crate::ErrorKind;
use crate::lookalike;
use crate::packing::{Reader, error_kind};
use crate::peek::Peek;

/// Sizes of front that are tried. The first is the smallest ledger with its mark: a live stream gives at least that. A header has at
/// most some 1,500 bytes; a front cut into fragments of 4 bytes has twice as many.
const FRONTS: [usize; 5] = [416, 1 << 10, 2 << 10, 4 << 10, 8 << 10];

/// Front that is looked through for what else it could be.
const LOOKALIKE_BYTES: usize = 64 << 10;

/// How ledgers stand in the unpacked bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// RFC 5531 record marks, one ledger a record.
    Framed,
    /// One or more `LedgerCloseMeta`, nothing between them.
    Bare,
    /// One or more `LedgerCloseMetaBatch` (SEP-54), nothing between them.
    Batch,
}

/// What the front of a source says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) content: Content,
    /// The first ledger.
    pub(crate) first: LedgerHead,
    /// The last ledger, where the front says it and nothing follows what it speaks of.
    pub(crate) batch_end: Option<u32>,
}

/// What one kind makes of a front.
enum Try {
    Is(Told),
    /// It may be, with more bytes.
    Short,
    IsNot,
    /// It has the shape, but a ledger cannot say this.
    Wrong(Fault),
}

/// Tells the kind; `patient` when the source has an end, so that more may be waited for to name what it is instead.
pub(crate) fn tell(peek: &mut Peek<Reader>, patient: bool) -> Result<Told, ErrorKind> {
    let mut short = false;
    let mut wrong = None;
    for size in FRONTS {
        let front = peek.front(size).map_err(error_kind)?;
        if front.is_empty() {
            return Err(ErrorKind::Empty);
        }
        short = false;
        for attempt in [framed(front), bare(front), batch(front)] {
            match attempt {
                Try::Is(told) => return Ok(told),
                Try::Short => short = true,
                Try::IsNot => {}
                Try::Wrong(fault) => wrong = Some(fault),
            }
        }
        if !short || peek.is_whole() {
            break;
        }
    }
    let front = peek.front(if patient { LOOKALIKE_BYTES } else { 1 }).map_err(error_kind)?.to_vec();
    Err(match (lookalike::name(&front, peek.is_whole()), wrong) {
        (Some(looks_like), _) => ErrorKind::WrongType { looks_like },
        (None, Some(fault)) => ErrorKind::BadLedger(fault),
        (None, None) if short => ErrorKind::Truncated("the header of the first ledger is cut off".into()),
        (None, None) => ErrorKind::WrongType { looks_like: lookalike::unknown(&front) },
    })
}

fn told(content: Content, bytes: &[u8], batch_end: Option<u32>) -> Try {
    match starmill_ledger::peek(bytes).map_err(|error| error.fault) {
        Ok(first) => Try::Is(Told { content, first, batch_end }),
        Err(Fault::Xdr(XdrError::Truncated { .. })) => Try::Short,
        Err(Fault::Xdr(_)) => Try::IsNot,
        Err(fault) => Try::Wrong(fault),
    }
}

fn bare(front: &[u8]) -> Try {
    told(Content::Bare, front, None)
}

fn batch(front: &[u8]) -> Try {
    let mut cursor = Cursor::new(front);
    let (Ok(start), Ok(end), Ok(count)) = (cursor.u32(), cursor.u32(), cursor.u32()) else { return Try::Short };
    if start > end || count == 0 { Try::IsNot } else { told(Content::Batch, cursor.rest(), Some(end)) }
}

/// A record, of any number of fragments, as far as the front goes.
fn framed(front: &[u8]) -> Try {
    let mut buf = FrameBuf::default();
    let whole = FrameSlice::with_max(front, FRAME_BYTES_MAX).next_frame(&mut buf);
    match whole {
        Ok(Some(record)) => match told(Content::Framed, record, None) {
            Try::Short => Try::IsNot,
            attempt => attempt,
        },
        Ok(None) => Try::Short,
        Err(FrameError::Truncated { .. } | FrameError::MarkTruncated { .. } | FrameError::TooLarge { .. }) => {
            told(Content::Framed, &without_marks(front), None)
        }
        Err(_) => Try::IsNot,
    }
}

/// What a record has in a front that ends inside it.
fn without_marks(front: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    let mut rest = front;
    while let Some((mark, after)) = rest.split_first_chunk::<4>() {
        let length = (u32::from_be_bytes(*mark) & 0x7fff_ffff) as usize;
        let (fragment, after) = after.split_at(length.min(after.len()));
        record.extend_from_slice(fragment);
        rest = after;
    }
    record
}
