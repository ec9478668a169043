//! Record marks (RFC 5531 §11): how XDR records follow each other in a stream.
//!
//! A record is one or more fragments; before each stand 4 bytes, big-endian: bit 31 says "last fragment", the other 31 bits are its
//! length. Nothing is reserved for a claim: a record's buffer never has more than twice the bytes that came in, plus 64 KiB, and what
//! is wrong with a claim is said before any byte is reserved for it. The end of the stream at a record mark is the end; anywhere else it is
//! an error that says how many bytes were claimed and how many came.

use std::io::{self, Read};

use thiserror::Error;

/// Largest record, in bytes, unless asked otherwise.
pub const FRAME_BYTES_MAX: u64 = 256 << 20;

/// A [`FrameBuf`] that had to grow over this many bytes gives its memory back before the next record, unless asked otherwise.
pub const CAPACITY_CEILING: usize = 64 << 20;

/// First step in which a record is read; the next ones double.
const STEP: usize = 64 << 10;

/// Empty fragments that a record may have. They are legal, but a stream of zeros would be nothing but empty fragments.
const EMPTY_FRAGMENTS_MAX: u32 = 16;

const LAST: u32 = 1 << 31;

/// What is wrong with a record or its mark. `offset` counts bytes of the stream and is where the record's first mark begins, or, where an
/// error is about one mark, where that mark begins.
#[derive(Debug, Error)]
pub enum FrameError {
    /// A record without a byte in it.
    #[error("record at byte {offset} is empty; this is not a stream of records, or it was written over")]
    Empty {
        /// Where the record begins.
        offset: u64,
    },
    /// A record longer than the limit.
    #[error("record at byte {offset} claims {claimed} bytes, over the limit of {max}; raise the limit if it is real")]
    TooLarge {
        /// Where the record begins.
        offset: u64,
        /// Bytes that the marks read so far claim.
        claimed: u64,
        /// The limit.
        max: u64,
    },
    /// A record whose length cannot be that of XDR.
    #[error("record at byte {offset} claims {claimed} bytes, not a multiple of 4; this is not a stream of XDR records")]
    Unaligned {
        /// Where the record begins.
        offset: u64,
        /// Bytes that the marks claim.
        claimed: u64,
    },
    /// The stream ends inside a mark, or where a mark must follow.
    #[error("stream ends in the record mark at byte {offset}: {delivered} of 4 bytes; the end is missing")]
    MarkTruncated {
        /// Where the mark begins.
        offset: u64,
        /// Bytes of the mark that came.
        delivered: u64,
    },
    /// The stream ends inside a record.
    #[error("stream ends in the record at byte {offset}: {delivered} of {claimed} bytes; the end is missing")]
    Truncated {
        /// Where the record begins.
        offset: u64,
        /// Bytes that the marks read so far claim.
        claimed: u64,
        /// Bytes that came, marks not counted.
        delivered: u64,
    },
    /// The machine has no memory for the record.
    #[error("no memory for {bytes} bytes of the record at byte {offset}; lower the limit or free memory")]
    Memory {
        /// Where the record begins.
        offset: u64,
        /// Bytes asked for.
        bytes: usize,
    },
    /// The reader failed; its error as it is.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FrameError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "frame-empty",
            Self::TooLarge { .. } => "frame-too-large",
            Self::Unaligned { .. } => "frame-unaligned",
            Self::MarkTruncated { .. } => "frame-mark-truncated",
            Self::Truncated { .. } => "frame-truncated",
            Self::Memory { .. } => "frame-memory",
            Self::Io(_) => "io",
        }
    }

    /// Where in the stream, in bytes from its start; `None` when the reader failed.
    pub fn offset(&self) -> Option<u64> {
        match *self {
            Self::Empty { offset }
            | Self::TooLarge { offset, .. }
            | Self::Unaligned { offset, .. }
            | Self::MarkTruncated { offset, .. }
            | Self::Truncated { offset, .. }
            | Self::Memory { offset, .. } => Some(offset),
            Self::Io(_) => None,
        }
    }
}

/// The bytes of one record, reused for the next.
#[derive(Debug)]
pub struct FrameBuf {
    bytes: Vec<u8>,
    ceiling: usize,
}

impl Default for FrameBuf {
    fn default() -> Self {
        Self::with_ceiling(CAPACITY_CEILING)
    }
}

impl FrameBuf {
    /// An empty buffer that keeps at most `ceiling` bytes from one record to the next.
    pub fn with_ceiling(ceiling: usize) -> Self {
        Self { bytes: Vec::new(), ceiling }
    }

    /// The record read last.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of memory held.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets the record; keeps the memory up to the ceiling.
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > self.ceiling {
            self.bytes = Vec::new();
        }
    }

    /// Gives the record away, with its memory.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Makes room for `step` more bytes, exactly.
    fn reserve(&mut self, step: usize, offset: u64) -> Result<(), FrameError> {
        let bytes = self.bytes.len().saturating_add(step);
        self.bytes.try_reserve_exact(step).map_err(|_| FrameError::Memory { offset, bytes })
    }
}

/// The marks of one record, as far as they were read.
#[derive(Debug)]
struct Record {
    offset: u64,
    claimed: u64,
    empty_fragments: u32,
    last: bool,
}

impl Record {
    fn new(offset: u64) -> Self {
        Self { offset, claimed: 0, empty_fragments: 0, last: false }
    }

    /// Takes in the next mark; returns the fragment's length.
    fn mark(&mut self, mark: [u8; 4], max: u64) -> Result<usize, FrameError> {
        let mark = u32::from_be_bytes(mark);
        let length = mark & !LAST;
        let offset = self.offset;
        self.last = mark & LAST != 0;
        self.claimed += u64::from(length);
        self.empty_fragments += u32::from(length == 0);
        let claimed = self.claimed;
        if claimed > max {
            return Err(FrameError::TooLarge { offset, claimed, max });
        }
        if self.empty_fragments > EMPTY_FRAGMENTS_MAX || (self.last && claimed == 0) {
            return Err(FrameError::Empty { offset });
        }
        if self.last && !claimed.is_multiple_of(4) {
            return Err(FrameError::Unaligned { offset, claimed });
        }
        Ok(length as usize)
    }
}

/// Records from a reader of unknown length. After an error the position means nothing more.
#[derive(Debug)]
pub struct FrameReader<R> {
    reader: R,
    offset: u64,
    frame_bytes_max: u64,
}

impl<R: Read> FrameReader<R> {
    /// Reads records of at most [`FRAME_BYTES_MAX`] bytes.
    pub fn new(reader: R) -> Self {
        Self::with_max(reader, FRAME_BYTES_MAX)
    }

    /// Reads records of at most `frame_bytes_max` bytes.
    pub fn with_max(reader: R, frame_bytes_max: u64) -> Self {
        Self { reader, offset: 0, frame_bytes_max }
    }

    /// Bytes read so far, marks counted.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The reader, positioned after the last record.
    pub fn into_inner(self) -> R {
        self.reader
    }

    /// The next record, all its fragments as one, in `buf`; `None` at the end of the stream.
    pub fn next_frame<'b>(&mut self, buf: &'b mut FrameBuf) -> Result<Option<&'b [u8]>, FrameError> {
        buf.clear();
        let mut record = Record::new(self.offset);
        while !record.last {
            let Some(mark) = self.mark(record.offset)? else { return Ok(None) };
            let length = record.mark(mark, self.frame_bytes_max)?;
            self.fragment(length, &record, buf)?;
        }
        Ok(Some(buf.bytes()))
    }

    /// The next mark; `None` where the stream may end.
    fn mark(&mut self, record_offset: u64) -> Result<Option<[u8; 4]>, FrameError> {
        let mut mark = [0; 4];
        let mut filled = 0;
        while let Some(rest) = mark.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.reader.read(rest) {
                Ok(0) if filled == 0 && self.offset == record_offset => return Ok(None),
                Ok(0) => return Err(FrameError::MarkTruncated { offset: self.offset, delivered: filled as u64 }),
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.offset += 4;
        Ok(Some(mark))
    }

    /// Reads one fragment behind what `buf` has, in steps that double, so that a false claim costs no more than what came.
    fn fragment(&mut self, length: usize, record: &Record, buf: &mut FrameBuf) -> Result<(), FrameError> {
        let mut left = length;
        while left > 0 {
            let have = buf.bytes.len();
            let step = left.min(have.saturating_add(STEP));
            if buf.bytes.capacity() - have < step {
                // Behind a fragment that is not the last more will follow: doubling keeps many small fragments from copying each time.
                buf.reserve(if record.last { step } else { step.max(have) }, record.offset)?;
            }
            // `read_to_end` fills spare capacity without zeroing it first, and stops at the limit without reserving more.
            let got = self.reader.by_ref().take(step as u64).read_to_end(&mut buf.bytes)?;
            self.offset += got as u64;
            left -= got;
            if got < step {
                let delivered = buf.bytes.len() as u64;
                return Err(FrameError::Truncated { offset: record.offset, claimed: record.claimed, delivered });
            }
        }
        Ok(())
    }
}

/// Records in a slice. What remains is known, so a claim over it is an error at once and nothing is reserved; a record of one fragment
/// is borrowed, not copied.
#[derive(Clone, Debug)]
pub struct FrameSlice<'a> {
    rest: &'a [u8],
    offset: u64,
    frame_bytes_max: u64,
}

impl<'a> FrameSlice<'a> {
    /// Reads records of at most [`FRAME_BYTES_MAX`] bytes.
    pub fn new(input: &'a [u8]) -> Self {
        Self::with_max(input, FRAME_BYTES_MAX)
    }

    /// Reads records of at most `frame_bytes_max` bytes.
    pub fn with_max(input: &'a [u8], frame_bytes_max: u64) -> Self {
        Self { rest: input, offset: 0, frame_bytes_max }
    }

    /// Bytes read so far, marks counted.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What is still to be read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next record; `None` at the end. Only a record of several fragments is put together in `buf`.
    pub fn next_frame<'b>(&mut self, buf: &'b mut FrameBuf) -> Result<Option<&'b [u8]>, FrameError>
    where
        'a: 'b,
    {
        buf.clear();
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut record = Record::new(self.offset);
        let first = self.fragment(&mut record, 0)?;
        if record.last {
            return Ok(Some(first));
        }
        let mut part = first;
        loop {
            if buf.bytes.capacity() - buf.bytes.len() < part.len() {
                buf.reserve(part.len().max(buf.bytes.len()), record.offset)?;
            }
            buf.bytes.extend_from_slice(part);
            if record.last {
                return Ok(Some(buf.bytes()));
            }
            part = self.fragment(&mut record, buf.bytes.len() as u64)?;
        }
    }

    fn fragment(&mut self, record: &mut Record, have: u64) -> Result<&'a [u8], FrameError> {
        let Some((mark, rest)) = self.rest.split_first_chunk::<4>() else {
            return Err(FrameError::MarkTruncated { offset: self.offset, delivered: self.rest.len() as u64 });
        };
        let length = record.mark(*mark, self.frame_bytes_max)?;
        let Some((fragment, rest)) = rest.split_at_checked(length) else {
            let delivered = have + rest.len() as u64;
            return Err(FrameError::Truncated { offset: record.offset, claimed: record.claimed, delivered });
        };
        self.rest = rest;
        self.offset += 4 + length as u64;
        Ok(fragment)
    }
}

#[cfg(test)]
mod tests;
