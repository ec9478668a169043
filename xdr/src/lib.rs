//! Bounded zero-copy XDR for Stellar: cursor, arena, and types generated from the protocol's own definitions.
//!
//! A decoded value borrows its bytes from the frame; lists and large union arms live in an [`Arena`]. Every type has `decode` and `skip`,
//! which accept exactly the same inputs. Nothing here knows what a value means.
//!
//! ```
//! use starmill_xdr::{Arena, Memo, decode};
//! let bytes = [0, 0, 0, 1, 0, 0, 0, 2, b'h', b'i', 0, 0]; // MEMO_TEXT "hi"
//! let arena = Arena::default();
//! let memo: Memo = decode(&bytes, &arena)?;
//! assert_eq!(memo, Memo::Text(b"hi"));
//! # Ok::<(), starmill_xdr::XdrError>(())
//! ```

pub mod arena;
pub mod cursor;
mod error;
pub mod frame;
mod generated;

pub use arena::{Arena, ArenaPool, Filled, Slot};
pub use cursor::{Cursor, DEPTH_MAX};
pub use error::{Stop, XdrError};
pub use frame::{FrameBuf, FrameError, FrameReader, FrameSlice};
pub use generated::*;

/// A type that XDR bytes can be read as.
pub trait Xdr<'a>: Copy + 'a {
    /// The XDR name.
    const NAME: &'static str;
    /// Bytes of the smallest encoding.
    const SIZE_MIN: usize;
    /// Reads a value into its place; what it cannot borrow from the input goes into the arena.
    fn decode_into<'f>(cursor: &mut Cursor<'a>, arena: &'a Arena, slot: Slot<'f, Self>) -> Result<Filled<'f>, Stop>;
    /// Reads a value.
    #[inline(always)]
    fn decode(cursor: &mut Cursor<'a>, arena: &'a Arena) -> Result<Self, Stop> {
        arena::by_value(|slot| Self::decode_into(cursor, arena, slot))
    }
    /// Steps over a value, with the same rules as `decode`.
    fn skip(cursor: &mut Cursor<'a>) -> Result<(), Stop>;
}

/// A value and the bytes that it was read from, so that nobody encodes it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spanned<'a, T> {
    /// The XDR of the value.
    pub bytes: &'a [u8],
    /// The value.
    pub value: T,
}

impl<'a, T: Xdr<'a>> Spanned<'a, T> {
    /// Reads a value and remembers its bytes.
    #[inline(always)]
    pub fn decode(cursor: &mut Cursor<'a>, arena: &'a Arena) -> Result<Self, Stop> {
        let mark = cursor.rest();
        let value = T::decode(cursor, arena)?;
        Ok(Self { bytes: cursor.since(mark), value })
    }
}

/// Reads exactly one value from `bytes`.
///
/// Steps over the value first: after that every claimed count is known to be true, so the arena never reserves for a claim.
pub fn decode<'a, T: Xdr<'a>>(bytes: &'a [u8], arena: &'a Arena) -> Result<T, XdrError> {
    check::<T>(bytes)?;
    decode_checked(bytes, arena)
}

/// Reads exactly one value from bytes that [`check`] or a skim has stepped over before. Memory-safe and bounded for any other bytes too,
/// but then up to the arena's budget may be reserved before an error is found.
pub fn decode_checked<'a, T: Xdr<'a>>(bytes: &'a [u8], arena: &'a Arena) -> Result<T, XdrError> {
    let mut cursor = Cursor::new(bytes);
    let value = T::decode(&mut cursor, arena);
    match value.and_then(|value| cursor.finish().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(Stop) => Err(cursor.error()),
    }
}

/// Whether `bytes` are exactly one value; allocates nothing.
pub fn check<'a, T: Xdr<'a>>(bytes: &'a [u8]) -> Result<(), XdrError> {
    let mut cursor = Cursor::new(bytes);
    T::skip(&mut cursor).and_then(|()| cursor.finish()).map_err(|Stop| cursor.error())
}

/// How many bytes the value at the front of `bytes` has; allocates nothing.
pub fn skip_len<'a, T: Xdr<'a>>(bytes: &'a [u8]) -> Result<usize, XdrError> {
    let mut cursor = Cursor::new(bytes);
    T::skip(&mut cursor).map_err(|Stop| cursor.error())?;
    Ok(cursor.offset())
}
