//! Whether uploaded contract code is a SEP-41 token, by the specification that it carries itself (SEP-48): the custom section
//! `contractspecv0`, a sequence of `SCSpecEntry`.
//!
//! Code is a token if the specification has each of ten functions with exactly these parameters, in this order, and this output
//! (docs/rows.md, SEP-41 tokens). It may have more. Function bodies are not looked at: the network has validated code before it is in a
//! ledger.
//!
//! Code is anybody's to upload, so work and memory are bounded: two passes over at most [`CODE_BYTES_MAX`], one decoded entry at a time, in
//! at most a few times its own size. What cannot be read is not a token; it is never an error of the ledger.

mod signatures;

use starmill_xdr::{Arena, ScSpecEntry, ScSpecFunctionV0, XdrError, decode_checked, skip_len};
use thiserror::Error;
use wasmparser::{BinaryReaderError, Chunk, Encoding, Parser, Payload};

use signatures::FUNCTIONS;

/// Longest code that is looked at, in bytes. The network's own limit is far below.
pub const CODE_BYTES_MAX: usize = 2 << 20;

/// Most entries that a specification may have.
pub const ENTRIES_MAX: usize = 10_000;

/// Most sections that code may have: each costs time, and a few bytes make one. Code within the network's own limit of 128 KiB cannot
/// have so many.
pub const SECTIONS_MAX: usize = 100_000;

/// The custom section that holds the specification. Of several the first counts.
const SECTION: &str = "contractspecv0";

/// Why code is not a SEP-41 token.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotSep41 {
    /// Longer than [`CODE_BYTES_MAX`].
    #[error("code of {bytes} bytes is over the limit of {CODE_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The sections cannot be told apart.
    #[error("not a WebAssembly module: {message} at byte {offset}")]
    NotAModule {
        /// Where in the code.
        offset: u64,
        /// What is wrong there.
        message: String,
    },
    /// More than [`SECTIONS_MAX`] sections.
    #[error("code has more than {SECTIONS_MAX} sections")]
    TooManySections,
    /// No section `contractspecv0`.
    #[error("no section {SECTION}")]
    NoSpecification,
    /// The section has something else than entries.
    #[error("entry at byte {at} of section {SECTION}: {error}")]
    Malformed {
        /// Where the entry begins.
        at: usize,
        /// What is wrong with it; offsets count from its beginning.
        error: XdrError,
    },
    /// More than [`ENTRIES_MAX`] entries.
    #[error("section {SECTION} has more than {ENTRIES_MAX} entries")]
    TooManyEntries,
    /// A function that a token needs is not there.
    #[error("no function {0}")]
    Missing(&'static str),
    /// A function that a token needs has other parameters or another output.
    #[error("function {0} has another signature")]
    Differs(&'static str),
}

impl NotSep41 {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "code-too-long",
            Self::NotAModule { .. } => "not-a-module",
            Self::TooManySections => "too-many-sections",
            Self::NoSpecification => "no-specification",
            Self::Malformed { .. } => "malformed-specification",
            Self::TooManyEntries => "too-many-entries",
            Self::Missing(_) => "missing-function",
            Self::Differs(_) => "different-function",
        }
    }
}

impl From<BinaryReaderError> for NotSep41 {
    fn from(error: BinaryReaderError) -> Self {
        // The library's messages may have more lines; the first says what is wrong.
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        Self::NotAModule { offset: error.offset(), message }
    }
}

/// Whether code is a SEP-41 token.
pub fn is_sep41(code: &[u8]) -> bool {
    check(code).is_ok()
}

/// Whether code is a SEP-41 token, and if not, why.
pub fn check(code: &[u8]) -> Result<(), NotSep41> {
    if code.len() > CODE_BYTES_MAX {
        return Err(NotSep41::TooLong { bytes: code.len() });
    }
    match_functions(specification(code)?)
}

/// The specification's bytes. Walks all sections: code that is broken after it is not a module either.
fn specification(code: &[u8]) -> Result<&[u8], NotSep41> {
    let short = || NotSep41::NotAModule { offset: code.len() as u64, message: "unexpected end".to_owned() };
    let (mut parser, mut rest, mut found) = (Parser::new(0), code, None);
    // One turn for the header, one for each section, one for the end.
    for _ in 0..SECTIONS_MAX + 2 {
        let Chunk::Parsed { consumed, payload } = parser.parse(rest, true)? else { return Err(short()) };
        rest = rest.get(consumed..).ok_or_else(short)?;
        match payload {
            Payload::Version { encoding: Encoding::Component, .. } => {
                return Err(NotSep41::NotAModule { offset: 0, message: "a component".to_owned() });
            }
            Payload::CustomSection(section) if section.name() == SECTION => found = found.or(Some(section.data())),
            Payload::CodeSectionStart { size, .. } => {
                parser.skip_section();
                rest = rest.get(size as usize..).ok_or_else(short)?;
            }
            Payload::End(_) => return found.ok_or(NotSep41::NoSpecification),
            _ => {}
        }
    }
    Err(NotSep41::TooManySections)
}

/// Looks for each needed function among the entries. Of a function that stands there twice one right signature is enough.
fn match_functions(specification: &[u8]) -> Result<(), NotSep41> {
    let (mut seen, mut right) = ([false; FUNCTIONS.len()], [false; FUNCTIONS.len()]);
    let mut arena = Arena::default();
    let (mut rest, mut entries) = (specification, 0);
    while !rest.is_empty() {
        if entries == ENTRIES_MAX {
            return Err(NotSep41::TooManyEntries);
        }
        let malformed = |error| NotSep41::Malformed { at: specification.len() - rest.len(), error };
        let (entry, later) = rest.split_at(skip_len::<ScSpecEntry<'_>>(rest).map_err(malformed)?);
        arena.rewind();
        if let Some(function) = function_of(entry, &arena).map_err(malformed)?
            && let Some(i) = FUNCTIONS.iter().position(|needed| needed.name.as_bytes() == function.name)
        {
            seen[i] = true;
            right[i] |= FUNCTIONS[i].matches(function);
        }
        (rest, entries) = (later, entries + 1);
    }
    match right.iter().position(|right| !right) {
        None => Ok(()),
        Some(i) if seen[i] => Err(NotSep41::Differs(FUNCTIONS[i].name)),
        Some(i) => Err(NotSep41::Missing(FUNCTIONS[i].name)),
    }
}

/// Decodes an entry that was stepped over, if it is a function.
fn function_of<'a>(entry: &'a [u8], arena: &'a Arena) -> Result<Option<&'a ScSpecFunctionV0<'a>>, XdrError> {
    if !entry.starts_with(&[0; 4]) {
        return Ok(None);
    }
    match decode_checked(entry, arena)? {
        ScSpecEntry::FunctionV0(function) => Ok(Some(function)),
        _ => Ok(None),
    }
}
