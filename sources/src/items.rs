//! One ledger after the other out of unpacked bytes.
//!
//! In a stream of record marks the marks say where a ledger ends; elsewhere the value is stepped over, in a window that grows to the
//! largest ledger and no further. What is claimed is never reserved.

mod window;

use starmill_xdr::{FrameBuf, FrameError, FrameReader, LedgerCloseMeta, XdrError, skip_len};

use crate::ErrorKind;
use crate::content::Content;
use crate::packing::{Reader, error_kind};
use crate::peek::Peek;
use window::Window;

/// The bytes of an item and where in the unpacked content it begins.
pub(crate) struct Item {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: u64,
}

/// What went wrong and where in the unpacked content.
pub(crate) struct ItemError {
    pub(crate) offset: u64,
    pub(crate) kind: ErrorKind,
}

/// Where items come from.
pub(crate) enum Items {
    Framed(FrameReader<Peek<Reader>>),
    Bare(Window),
    Batch(Window, Batch),
}

/// The batch that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batch {
    start: u32,
    end: u32,
    /// Ledgers still to come.
    left: u32,
}

impl Items {
    pub(crate) fn new(content: Content, reader: Peek<Reader>, frame_bytes_max: u64) -> Self {
        match content {
            Content::Framed => Self::Framed(FrameReader::with_max(reader, frame_bytes_max)),
            Content::Bare => Self::Bare(Window::new(reader, frame_bytes_max)),
            Content::Batch => Self::Batch(Window::new(reader, frame_bytes_max), Batch::default()),
        }
    }

    /// The next item; `None` at the end.
    pub(crate) fn next_item(&mut self) -> Result<Option<Item>, ItemError> {
        match self {
            Self::Framed(reader) => record(reader),
            Self::Bare(window) => match window.ensure(1) {
                Ok(true) => ledger(window).map(Some),
                Ok(false) => Ok(None),
                Err(kind) => Err(ItemError { offset: window.offset(), kind }),
            },
            Self::Batch(window, batch) => batch.next_item(window),
        }
    }

    /// Looks at the sequence of the item just given.
    pub(crate) fn saw(&self, sequence: u32) -> Result<(), ErrorKind> {
        match self {
            Self::Batch(_, batch) => batch.saw(sequence),
            Self::Framed(_) | Self::Bare(_) => Ok(()),
        }
    }
}

fn record(reader: &mut FrameReader<Peek<Reader>>) -> Result<Option<Item>, ItemError> {
    let offset = reader.offset();
    let mut buf = FrameBuf::default();
    match reader.next_frame(&mut buf) {
        Ok(None) => Ok(None),
        Ok(Some(_)) => Ok(Some(Item { bytes: buf.take(), offset })),
        Err(FrameError::Io(error)) => Err(ItemError { offset, kind: error_kind(error) }),
        Err(error) => Err(ItemError { offset, kind: ErrorKind::Frame(error) }),
    }
}

fn ledger(window: &mut Window) -> Result<Item, ItemError> {
    let offset = window.offset();
    let bytes = window.value(|bytes| skip_len::<LedgerCloseMeta>(bytes)).map_err(|kind| ItemError { offset, kind })?;
    Ok(Item { bytes, offset })
}

impl Batch {
    fn next_item(&mut self, window: &mut Window) -> Result<Option<Item>, ItemError> {
        if self.left == 0 {
            let offset = window.offset();
            match self.open(window) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(kind) => return Err(ItemError { offset, kind }),
            }
        }
        self.left -= 1;
        ledger(window).map(Some)
    }

    /// Reads a batch's front; false when there is no other batch.
    fn open(&mut self, window: &mut Window) -> Result<bool, ErrorKind> {
        if !window.ensure(1)? {
            return Ok(false);
        }
        if !window.ensure(12)? {
            return Err(ErrorKind::Truncated("the front of a batch is cut off".into()));
        }
        let mut number = || window.take().map_or(0, u32::from_be_bytes);
        let (start, end, count) = (number(), number(), number());
        if start > end || u64::from(count) != u64::from(end - start) + 1 {
            return Err(ErrorKind::BadBatch { start, end, problem: format!("says that it holds {count} ledgers") });
        }
        *self = Self { start, end, left: count };
        Ok(true)
    }

    fn saw(&self, sequence: u32) -> Result<(), ErrorKind> {
        let Self { start, end, left } = *self;
        let expected = end - left;
        let problem = || format!("has ledger {sequence} where {expected} must be");
        if sequence == expected { Ok(()) } else { Err(ErrorKind::BadBatch { start, end, problem: problem() }) }
    }
}

/// What an XDR error means for content that had more to come or not.
fn ledger_error(error: XdrError) -> ErrorKind {
    match error {
        XdrError::Truncated { .. } => ErrorKind::Truncated(format!("in the middle of a ledger ({error})")),
        _ => ErrorKind::BadLedger(error.into()),
    }
}
