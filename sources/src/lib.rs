//! Where ledger frames come from: files, folders, globs, pipes.
//!
//! A source is told by its content, never by its name: packed with gzip, zstd or base64, or not; and inside that a stream of record marks
//! (what stellar-core writes), `LedgerCloseMeta` values one after the other, or the batches of SEP-54. [`Sources`] gives the frames of
//! many sources in ascending order of ledger and fails at a gap, a repeat or a step back; [`FileLedgers`] gives the frames of one source as
//! they stand. One ledger is held at a time, one file open at a time, whatever the size of the input. Nothing is skipped in silence.
//!
//! ```no_run
//! use starmill_sources::{Options, Sources};
//! let mut sources = Sources::open(&["ledgers/".to_owned()], Options::default())?;
//! while let Some(frame) = sources.next().transpose()? {
//!     println!("ledger {} has {} bytes", frame.head.sequence, frame.bytes.len());
//! }
//! assert!(sources.outcome().is_complete());
//! # Ok::<(), starmill_sources::SourceError>(())
//! ```

mod appear;
mod arguments;
mod content;
mod error;
mod file;
mod following;
mod globs;
mod items;
mod lookalike;
mod newest;
mod order;
mod packing;
mod peek;
mod progress;
mod sources;
mod steady;
mod tail;

#[cfg(test)]
use {serde_json as _, stellar_xdr as _, tempfile as _};

pub use error::{ErrorKind, SourceError};
pub use file::FileLedgers;
pub use progress::Progress;
pub use sources::{Outcome, Sources};

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use starmill_ledger::LedgerHead;
use starmill_xdr::frame::FRAME_BYTES_MAX;

/// The argument that stands for standard input.
pub const STDIN: &str = "-";

/// Bytes that unpacking may give without a ledger being complete, unless asked otherwise.
pub const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// What to read and how much to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// First ledger wanted; those before it are passed over.
    pub from: Option<u32>,
    /// Last ledger wanted; reading stops behind it.
    pub to: Option<u32>,
    /// Whether ledgers may be missing between others.
    pub allow_gaps: bool,
    /// Whether the end is waited for instead of reached: new files in folders, more in a file that grows, another writer of a named pipe.
    pub follow: bool,
    /// Whether files are read from the newest to the oldest, the ledgers of each in their order.
    pub newest_first: bool,
    /// Largest ledger, in bytes.
    pub frame_bytes_max: u64,
    /// Most bytes that gzip, zstd and base64 together may give out before one more ledger is complete. Ends the reading of a file that
    /// unpacks to endless nothing.
    pub unpacked_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            from: None,
            to: None,
            allow_gaps: false,
            follow: false,
            newest_first: false,
            frame_bytes_max: FRAME_BYTES_MAX,
            unpacked_bytes_max: UNPACKED_BYTES_MAX,
        }
    }
}

/// The XDR of one `LedgerCloseMeta` and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The value's bytes, nothing before and nothing behind them, when its source says where it ends by itself; in a stream of record marks,
    /// the bytes of the record, which whoever reads them must find to be exactly one value.
    pub bytes: Vec<u8>,
    /// What its front says.
    pub head: LedgerHead,
    /// Where it stood.
    pub origin: Origin,
}

/// Where a ledger stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file, or [`STDIN`].
    pub path: Arc<Path>,
    /// Which ledger of the file, from 1.
    pub item: u64,
    /// Where it begins, in bytes of the unpacked content.
    pub offset: u64,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, item {} at byte {}", Shown(&self.path), self.item, self.offset)
    }
}

/// A path as people should see it.
struct Shown<'a>(&'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Path::new(STDIN) { f.write_str("standard input") } else { self.0.display().fmt(f) }
    }
}

/// Makes the shared form of a path.
fn shared(path: impl Into<PathBuf>) -> Arc<Path> {
    path.into().into()
}
