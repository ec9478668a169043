//! The ledgers of one source as they stand, whatever their order.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use starmill_ledger::LedgerHead;

use crate::content::{Told, tell};
use crate::items::{Item, ItemError, Items};
use crate::packing::{Meter, Reader, unpack};
use crate::progress::Counted;
use crate::tail::Tail;
use crate::{ErrorKind, Frame, Options, Origin, Progress, STDIN, SourceError, shared};

/// Bytes asked of the system at once.
const READ_BYTES: usize = 128 << 10;

/// What a path is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Up to its end.
    File,
    /// A pipe, a socket, a terminal.
    Stream,
    /// A file that is read on as it grows.
    Growing,
}

/// The frames of one file, pipe or reader. Opening it looks at the first ledger, no further; the order of ledgers is not looked at, and
/// the bounds of [`Options`] do not count. After an error or the end there is nothing more.
pub struct FileLedgers {
    path: Arc<Path>,
    items: Option<Items>,
    told: Told,
    item: u64,
    meter: Meter,
    progress: Progress,
}

impl FileLedgers {
    /// Opens a file or pipe, or standard input for [`STDIN`].
    pub fn open(source: &str, options: Options) -> Result<Self, SourceError> {
        let path = shared(source);
        if source == STDIN {
            return Self::stream(path, Box::new(io::stdin()), Progress::new(None), options, false);
        }
        let metadata = metadata(&path)?;
        if metadata.is_dir() {
            return Err(SourceError::about(&path, ErrorKind::WrongType { looks_like: "a folder".into() }));
        }
        let progress = Progress::new(metadata.is_file().then_some(metadata.len()));
        Self::open_counted(&path, progress, options, if metadata.is_file() { Kind::File } else { Kind::Stream })
    }

    /// Reads what `reader` gives; `name` stands in errors.
    pub fn from_reader(name: &str, reader: impl Read + Send + 'static, options: Options) -> Result<Self, SourceError> {
        Self::stream(shared(name), Box::new(reader), Progress::new(None), options, false)
    }

    /// Opens a path whose bytes another's progress counts.
    pub(crate) fn open_counted(path: &Arc<Path>, progress: Progress, options: Options, kind: Kind) -> Result<Self, SourceError> {
        let raw: Reader = if path.as_ref() == Path::new(STDIN) {
            Box::new(io::stdin())
        } else {
            let file = File::open(path).map_err(|error| SourceError::about(path, unreadable(error)))?;
            if kind == Kind::Growing { Box::new(Tail(file)) } else { Box::new(file) }
        };
        Self::stream(path.clone(), raw, progress, options, kind == Kind::File)
    }

    fn stream(path: Arc<Path>, raw: Reader, progress: Progress, options: Options, patient: bool) -> Result<Self, SourceError> {
        let meter = Meter::new(options.unpacked_bytes_max);
        let counted = Counted { reader: raw, progress: progress.clone() };
        let opened = unpack(Box::new(BufReader::with_capacity(READ_BYTES, counted)), &meter)
            .and_then(|mut peek| tell(&mut peek, patient).map(|told| (told, peek)));
        let (told, peek) = opened.map_err(|kind| SourceError::about(&path, kind))?;
        let items = Some(Items::new(told.content, peek, options.frame_bytes_max));
        Ok(Self { path, items, told, item: 0, meter, progress })
    }

    /// What the front of the first ledger says.
    pub fn first(&self) -> LedgerHead {
        self.told.first
    }

    /// What it was opened as.
    pub(crate) fn path(&self) -> Arc<Path> {
        self.path.clone()
    }

    /// The last ledger of the first batch, if this is one.
    pub(crate) fn batch_end(&self) -> Option<u32> {
        self.told.batch_end
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    fn frame(&self, items: &Items, item: Item) -> Result<Frame, ErrorKind> {
        let head = starmill_ledger::peek(&item.bytes).map_err(|error| ErrorKind::BadLedger(error.fault))?;
        if head.sequence == 0 {
            return Err(ErrorKind::SequenceZero);
        }
        items.saw(head.sequence)?;
        let origin = Origin { path: self.path.clone(), item: self.item, offset: item.offset };
        Ok(Frame { bytes: item.bytes, head, origin })
    }
}

impl Iterator for FileLedgers {
    type Item = Result<Frame, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut items = self.items.take()?;
        self.item += 1;
        let (offset, result) = match items.next_item() {
            Ok(None) => return None,
            Ok(Some(item)) => (item.offset, self.frame(&items, item)),
            Err(ItemError { offset, kind }) => (offset, Err(kind)),
        };
        if result.is_ok() {
            self.meter.reset();
            self.items = Some(items);
        }
        let origin = || Origin { path: self.path.clone(), item: self.item, offset };
        Some(result.map_err(|kind| SourceError::at(&origin(), kind)))
    }
}

/// What the system says of a path.
pub(crate) fn metadata(path: &Arc<Path>) -> Result<std::fs::Metadata, SourceError> {
    std::fs::metadata(path).map_err(|error| SourceError::about(path, unreadable(error)))
}

/// A system error on opening.
pub(crate) fn unreadable(error: io::Error) -> ErrorKind {
    if error.kind() == io::ErrorKind::NotFound { ErrorKind::NotFound } else { ErrorKind::Unreadable(error) }
}
