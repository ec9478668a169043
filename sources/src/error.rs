//! What can go wrong while frames are looked for, and where.
//!
//! Every error is one line: the file, which ledger of it and at which byte, what is wrong, and what to do. The codes are stable.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use starmill_ledger::error::Fault;
use starmill_xdr::FrameError;
use thiserror::Error;

use crate::{Origin, Shown};

/// An error and its place.
#[derive(Debug)]
pub struct SourceError {
    /// The file or argument; `None` where an error is about the options.
    pub path: Option<Arc<Path>>,
    /// Which ledger of the file, from 1, when one was being read.
    pub item: Option<u64>,
    /// Where, in bytes of the unpacked content.
    pub offset: Option<u64>,
    /// What is wrong. Its message is part of this error's, so it is no separate source.
    pub kind: ErrorKind,
}

impl SourceError {
    pub(crate) fn about(path: &Arc<Path>, kind: ErrorKind) -> Self {
        Self { path: Some(path.clone()), item: None, offset: None, kind }
    }

    pub(crate) fn at(origin: &Origin, kind: ErrorKind) -> Self {
        Self { path: Some(origin.path.clone()), item: Some(origin.item), offset: Some(origin.offset), kind }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

impl std::error::Error for SourceError {}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}", Shown(path))?;
            if let Some(item) = self.item {
                write!(f, ", item {item}")?;
            }
            if let Some(offset) = self.offset {
                write!(f, " at byte {offset}")?;
            }
            f.write_str(": ")?;
        }
        self.kind.fmt(f)
    }
}

/// What is wrong with a source.
#[derive(Debug, Error)]
pub enum ErrorKind {
    /// No source was named.
    #[error("no source is named; give files, folders, globs, or - for standard input")]
    NoSource,
    /// `from` lies behind `to`.
    #[error("the range from ledger {from} to ledger {to} is empty; put the smaller one first")]
    BadRange {
        /// First ledger wanted.
        from: u32,
        /// Last ledger wanted.
        to: u32,
    },
    /// Standard input was named more than once.
    #[error("standard input can be read only once; name it once")]
    StdinTwice,
    /// A stream that was to be read backwards.
    #[error("is a stream, which comes in its own order; newest first needs files")]
    StreamBackwards,
    /// A glob that cannot be read.
    #[error("not a valid glob: {0}; to name a file with these characters, put them in [brackets]")]
    BadGlob(String),
    /// A glob or folder without a file.
    #[error("no file is found here; check the path (hidden files, and folders that starmill writes to, are passed over)")]
    NoMatch,
    /// The file is not there.
    #[error("no such file; check the path")]
    NotFound,
    /// Something in a folder that is neither file nor folder.
    #[error("is neither a file nor a folder; move it away, or name it by itself to read it as a stream")]
    NotAFile,
    /// The system does not let it be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// Nothing in it.
    #[error("is empty; remove it or fetch it again")]
    Empty,
    /// Not ledgers.
    #[error(
        "holds no ledgers: it looks like {looks_like}; give LedgerCloseMeta XDR: record marks, bare, SEP-54 batches, or base64 of these"
    )]
    WrongType {
        /// What it looks like.
        looks_like: String,
    },
    /// The content ends in the middle of a ledger, of a batch, or of packed data.
    #[error("the content ends early: {0}; fetch it again")]
    Truncated(String),
    /// Packed data that cannot be unpacked.
    #[error("the {packing} data is damaged: {reason}; fetch it again")]
    BadPacking {
        /// Its kind: gzip or zstd.
        packing: &'static str,
        /// What the library says.
        reason: io::Error,
    },
    /// A byte that is not base64, or an end that is not one of base64.
    #[error("not base64 from text byte {offset} on: {reason}; fetch it again, or give the XDR itself")]
    BadBase64 {
        /// Where in the text, white space counted.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// Packed in packed in packed …
    #[error("is packed more than {max} times over; unpack it first")]
    TooManyPackings {
        /// How many layers are read.
        max: usize,
    },
    /// Unpacking gives more and more without a ledger.
    #[error("unpacks to more than {max} bytes without a complete ledger; fetch the file again, or unpack it first")]
    UnpackedTooLarge {
        /// The limit.
        max: u64,
    },
    /// A bare ledger longer than the limit.
    #[error("the ledger has more than {max} bytes, as no ledger of a network has; the file is damaged, fetch it again")]
    LedgerTooLarge {
        /// The limit.
        max: u64,
    },
    /// What is wrong with a record or its mark.
    #[error("{}", Record(.0))]
    Frame(FrameError),
    /// Bytes that are not a `LedgerCloseMeta`.
    #[error("not a LedgerCloseMeta: {0}")]
    BadLedger(Fault),
    /// A ledger that says it has the sequence 0; the first ledger of a network is 1.
    #[error("the ledger has sequence 0, which no ledger has; the file is zeroed or not made of ledgers")]
    SequenceZero,
    /// A batch that does not hold what its front says.
    #[error("the batch of ledgers {start} to {end} {problem}; fetch it again")]
    BadBatch {
        /// First ledger that it claims.
        start: u32,
        /// Last ledger that it claims.
        end: u32,
        /// What does not fit.
        problem: String,
    },
    /// The same ledger twice.
    #[error("ledger {sequence} was there before ({}, item {item}); remove one of the two", Shown(path))]
    DuplicateLedger {
        /// Its sequence.
        sequence: u32,
        /// The file where it was first.
        path: Arc<Path>,
        /// Which ledger of that file, from 1.
        item: u64,
    },
    /// A ledger before one that comes earlier in the order of the network.
    #[error("ledger {sequence} comes after ledger {after} ({before}); put the ledgers of a file in order, and let files not interleave")]
    WrongOrder {
        /// Its sequence.
        sequence: u32,
        /// The higher one that came before it.
        after: u32,
        /// Where that one was.
        before: Origin,
    },
    /// Ledgers are missing.
    #[error(
        "ledgers {first_missing} to {last_missing} are missing before ledger {sequence} ({before} is the one before); add them, or allow gaps (--allow-gaps)"
    )]
    LedgerGap {
        /// First ledger that is missing.
        first_missing: u32,
        /// Last ledger that is missing.
        last_missing: u32,
        /// The ledger behind the gap.
        sequence: u32,
        /// Where the ledger before the gap was.
        before: Origin,
    },
}

/// An error of a record as people see it. Its limit cannot be set from the command line, so raising it is no advice here.
struct Record<'e>(&'e FrameError);

impl fmt::Display for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FrameError::TooLarge { claimed, max, .. } => {
                write!(
                    f,
                    "the record claims {claimed} bytes, over the limit of {max} that no ledger reaches; the file is damaged, fetch it again"
                )
            }
            error => error.fmt(f),
        }
    }
}

impl ErrorKind {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSource => "no-source",
            Self::BadRange { .. } => "bad-range",
            Self::StdinTwice => "stdin-twice",
            Self::StreamBackwards => "stream-backwards",
            Self::BadGlob(_) => "bad-glob",
            Self::NoMatch => "no-match",
            Self::NotFound => "not-found",
            Self::NotAFile => "not-a-file",
            Self::Unreadable(_) => "unreadable",
            Self::Empty => "empty-file",
            Self::WrongType { .. } => "wrong-type",
            Self::Truncated(_) => "truncated",
            Self::BadPacking { .. } => "bad-packing",
            Self::BadBase64 { .. } => "bad-base64",
            Self::TooManyPackings { .. } => "too-many-packings",
            Self::UnpackedTooLarge { .. } => "unpacked-too-large",
            Self::LedgerTooLarge { .. } => "ledger-too-large",
            Self::Frame(error) => error.code(),
            Self::BadLedger(_) => "bad-ledger",
            Self::SequenceZero => "sequence-zero",
            Self::BadBatch { .. } => "bad-batch",
            Self::DuplicateLedger { .. } => "duplicate-ledger",
            Self::WrongOrder { .. } => "wrong-order",
            Self::LedgerGap { .. } => "ledger-gap",
        }
    }
}
