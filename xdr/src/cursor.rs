//! The one place where XDR bytes are bounded: lengths, counts, padding, booleans, depth (RFC 4506).
//!
//! A cursor never reads past its input, never trusts a claimed length before the bytes are seen to be there, and remembers the first thing
//! that was wrong. After an error its position means nothing more.

use crate::arena::{Filled, Slot};
use crate::{Arena, Stop, XdrError};

/// How deep recursive types (values, claim predicates, invocation trees, quorum sets) may nest unless asked otherwise.
pub const DEPTH_MAX: u32 = 500;

/// A position in XDR bytes.
#[derive(Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    input: &'a [u8],
    depth_left: u32,
    depth_max: u32,
    error: Option<XdrError>,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte, with the default depth limit.
    pub fn new(input: &'a [u8]) -> Self {
        Self::with_depth(input, DEPTH_MAX)
    }

    /// A cursor at the first byte that lets recursive types nest `depth_max` deep.
    pub fn with_depth(input: &'a [u8], depth_max: u32) -> Self {
        Self { rest: input, input, depth_left: depth_max, depth_max, error: None }
    }

    /// Bytes read so far.
    pub fn offset(&self) -> usize {
        self.input.len() - self.rest.len()
    }

    /// What is still to be read. Also a mark for [`Cursor::since`].
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The bytes between a mark, an earlier [`Cursor::rest`], and here.
    #[inline]
    pub fn since(&self, mark: &'a [u8]) -> &'a [u8] {
        &mark[..mark.len().saturating_sub(self.rest.len())]
    }

    /// What went wrong, after a [`Stop`].
    pub fn error(&self) -> XdrError {
        self.error.unwrap_or(XdrError::Truncated { offset: self.offset(), needed: 0, remaining: self.rest.len() })
    }

    /// Fails unless everything was read.
    pub fn finish(&mut self) -> Result<(), Stop> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.fail(XdrError::Trailing { offset: self.offset(), extra: self.rest.len() })) }
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, error: XdrError) -> Stop {
        self.error.get_or_insert(error);
        Stop
    }

    #[cold]
    #[inline(never)]
    fn truncated(&mut self, needed: usize) -> Stop {
        self.fail(XdrError::Truncated { offset: self.offset(), needed, remaining: self.rest.len() })
    }

    /// Offset of `part`, a slice of this cursor's input.
    fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr().addr().saturating_sub(self.input.as_ptr().addr())
    }

    /// Records an unknown enum value or union arm that stood at the start of `part`.
    #[cold]
    #[inline(never)]
    pub fn unknown(&mut self, type_name: &'static str, part: &[u8], value: i32) -> Stop {
        self.fail(XdrError::Unknown { type_name, offset: self.offset_of(part), value })
    }

    /// Records a boolean at the start of `part` that is neither 0 nor 1.
    #[cold]
    #[inline(never)]
    pub fn not_boolean(&mut self, part: &[u8], value: u32) -> Stop {
        self.fail(XdrError::Boolean { offset: self.offset_of(part), value })
    }

    /// The next `N` bytes.
    #[inline(always)]
    pub fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Stop> {
        match self.rest.split_first_chunk::<N>() {
            Some((chunk, rest)) => {
                self.rest = rest;
                Ok(chunk)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// The next `n` bytes.
    #[inline(always)]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Stop> {
        match self.rest.split_at_checked(n) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.truncated(n)),
        }
    }

    /// An unsigned 32-bit integer.
    #[inline(always)]
    pub fn u32(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_be_bytes(*self.take()?))
    }

    /// A signed 32-bit integer; also how a discriminant stands.
    #[inline(always)]
    pub fn i32(&mut self) -> Result<i32, Stop> {
        Ok(i32::from_be_bytes(*self.take()?))
    }

    /// A boolean, or the flag before an optional.
    #[inline(always)]
    pub fn flag(&mut self) -> Result<bool, Stop> {
        let at = self.rest;
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(self.not_boolean(at, value)),
        }
    }

    /// A length or count, at most `max`.
    #[inline(always)]
    fn length(&mut self, max: u32) -> Result<usize, Stop> {
        let at = self.rest;
        let claimed = self.u32()?;
        if claimed > max {
            let offset = self.offset_of(at);
            return Err(self.fail(XdrError::TooLong { offset, claimed, max }));
        }
        Ok(claimed as usize)
    }

    /// Variable opaque or string: its bytes, without length and padding.
    #[inline]
    pub fn opaque(&mut self, max: u32) -> Result<&'a [u8], Stop> {
        let n = self.length(max)?;
        let bytes = self.bytes(n)?;
        self.padding(n)?;
        Ok(bytes)
    }

    #[inline(always)]
    fn padding(&mut self, n: usize) -> Result<(), Stop> {
        let pad = n.wrapping_neg() & 3;
        if pad != 0 {
            let at = self.rest;
            if self.bytes(pad)?.iter().any(|b| *b != 0) {
                let offset = self.offset_of(at);
                return Err(self.fail(XdrError::Padding { offset }));
            }
        }
        Ok(())
    }

    /// The count before a variable array, at most `max` and at most what the remaining bytes could hold at `element_size_min` each.
    #[inline(always)]
    pub fn count(&mut self, max: u32, element_size_min: usize) -> Result<usize, Stop> {
        let n = self.length(max)?;
        match n.checked_mul(element_size_min) {
            Some(needed) if needed <= self.rest.len() => Ok(n),
            needed => Err(self.truncated(needed.unwrap_or(usize::MAX))),
        }
    }

    /// A variable array, its elements in the arena.
    #[inline(always)]
    pub fn list<T: Copy>(
        &mut self,
        arena: &'a Arena,
        max: u32,
        element_size_min: usize,
        element: impl for<'f> FnMut(&mut Self, Slot<'f, T>) -> Result<Filled<'f>, Stop>,
    ) -> Result<&'a [T], Stop> {
        let n = self.count(max, element_size_min)?;
        if n == 0 {
            return Ok(&[]);
        }
        arena.list(n, self, element)
    }

    /// Steps over a variable array.
    #[inline(always)]
    pub fn skip_list(
        &mut self,
        max: u32,
        element_size_min: usize,
        mut element: impl FnMut(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        for _ in 0..self.count(max, element_size_min)? {
            element(self)?;
        }
        Ok(())
    }

    /// Steps over a variable array whose elements have one size and no rules of their own.
    #[inline(always)]
    pub fn skip_flat_list(&mut self, max: u32, element_size: usize) -> Result<(), Stop> {
        let n = self.count(max, element_size)?;
        self.bytes(n * element_size).map(|_| ())
    }

    /// A value in the arena, written by `fill` where it stays.
    #[inline(always)]
    pub fn keep<T: Copy>(
        &mut self,
        arena: &'a Arena,
        fill: impl for<'f> FnOnce(&mut Self, Slot<'f, T>) -> Result<Filled<'f>, Stop>,
    ) -> Result<&'a T, Stop> {
        arena.keep_with(self, fill)
    }

    #[cold]
    pub(crate) fn over_budget(&mut self, arena: &Arena) -> Stop {
        self.fail(XdrError::ArenaBudget { offset: self.offset(), budget_bytes: arena.budget_bytes() })
    }

    /// Goes one level down in a recursive type.
    #[inline(always)]
    pub fn enter(&mut self) -> Result<(), Stop> {
        if self.depth_left == 0 {
            return Err(self.fail(XdrError::TooDeep { offset: self.offset(), limit: self.depth_max }));
        }
        self.depth_left -= 1;
        Ok(())
    }

    /// Comes one level up again.
    #[inline(always)]
    pub fn leave(&mut self) {
        self.depth_left += 1;
    }
}

/// `N` bytes at `AT` of a run of `M`; that they are there is checked at compile time.
#[inline(always)]
pub fn part<const AT: usize, const N: usize, const M: usize>(run: &[u8; M]) -> &[u8; N] {
    const { assert!(AT + N <= M) };
    match run[AT..].first_chunk::<N>() {
        Some(chunk) => chunk,
        None => unreachable!(),
    }
}
