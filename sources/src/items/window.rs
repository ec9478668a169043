//! The part of the content that is in memory while values are stepped over.

use std::io::Read;

use starmill_xdr::frame::CAPACITY_CEILING;
use starmill_xdr::{FrameError, XdrError};

use super::ledger_error;
use crate::ErrorKind;
use crate::packing::{Reader, error_kind};
use crate::peek::Peek;

/// Least that is read at once.
const STEP: usize = 64 << 10;

/// Bytes read and not yet given out.
pub(crate) struct Window {
    reader: Peek<Reader>,
    bytes: Vec<u8>,
    used: usize,
    /// Bytes given out.
    offset: u64,
    ended: bool,
    value_bytes_max: u64,
    /// Length of the value before.
    previous: usize,
}

impl Window {
    pub(super) fn new(reader: Peek<Reader>, value_bytes_max: u64) -> Self {
        Self { reader, bytes: Vec::new(), used: 0, offset: 0, ended: false, value_bytes_max, previous: 0 }
    }

    /// Where the next value begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    /// Whether at least `n` bytes are there; reads them if they are not.
    pub(super) fn ensure(&mut self, n: usize) -> Result<bool, ErrorKind> {
        while self.rest().len() < n && !self.ended {
            self.grow()?;
        }
        Ok(self.rest().len() >= n)
    }

    /// Reads as much again as is there, at least [`STEP`]: stepping over a value again after each growth then costs at most twice its length.
    fn grow(&mut self) -> Result<(), ErrorKind> {
        self.bytes.drain(..self.used);
        self.used = 0;
        let step = self.bytes.len().max(STEP);
        let bytes = self.bytes.len() + step;
        if bytes < CAPACITY_CEILING {
            // What one giant needed is given back.
            self.bytes.shrink_to(CAPACITY_CEILING);
        }
        self.bytes.try_reserve_exact(step).map_err(|_| ErrorKind::Frame(FrameError::Memory { offset: self.offset, bytes }))?;
        let got = self.reader.by_ref().take(step as u64).read_to_end(&mut self.bytes).map_err(error_kind)?;
        self.ended = got < step;
        Ok(())
    }

    /// The next `N` bytes, if they are there.
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let taken = *self.rest().first_chunk()?;
        self.used += N;
        self.offset += N as u64;
        Some(taken)
    }

    /// The bytes of the next value, of which `length_of` says how long it is, or that it is cut off.
    pub(super) fn value(&mut self, length_of: impl Fn(&[u8]) -> Result<usize, XdrError>) -> Result<Vec<u8>, ErrorKind> {
        // A value is likely as long as the one before; most are then stepped over only once.
        self.ensure(self.previous)?;
        loop {
            let max = self.value_bytes_max;
            match length_of(self.rest()) {
                Ok(n) if n as u64 > max => return Err(ErrorKind::LedgerTooLarge { max }),
                Ok(n) => return Ok(self.give(n)),
                Err(XdrError::Truncated { .. }) if self.rest().len() as u64 > max => return Err(ErrorKind::LedgerTooLarge { max }),
                Err(XdrError::Truncated { .. }) if !self.ended => self.grow()?,
                Err(error) => return Err(ledger_error(error)),
            }
        }
    }

    /// Gives out `n` bytes, the window itself when there is nothing else in it.
    fn give(&mut self, n: usize) -> Vec<u8> {
        self.offset += n as u64;
        self.previous = n;
        if self.used == 0 && n == self.bytes.len() {
            return std::mem::take(&mut self.bytes);
        }
        let value = self.rest().get(..n).unwrap_or_default().to_vec();
        self.used += n;
        value
    }
}
