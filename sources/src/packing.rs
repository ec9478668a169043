//! Unpacking: gzip, zstd and base64, each told by its first bytes, in any nesting.
//!
//! Several gzip members, zstd frames or padded base64 pieces behind each other are one content. A [`Meter`] counts what comes out of
//! every layer, and ends the reading when too much comes without a ledger in it. Memory: one zstd window (at most 128 MiB, the library's own
//! limit) a layer.

mod text;

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use crate::ErrorKind;
use crate::peek::Peek;
use crate::progress::SystemError;
use text::{Base64Error, Base64Text};

/// Any reader that may go to another thread.
pub(crate) type Reader = Box<dyn Read + Send>;

/// How many layers are unpacked.
const LAYERS_MAX: usize = 4;

/// Text shorter than this cannot be a ledger in base64; enough to tell text from XDR.
const TEXT_BYTES: usize = 64;

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Base64,
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Base64 => "base64",
        }
    }

    fn of(front: &[u8]) -> Option<Self> {
        match *front {
            [0x1f, 0x8b, 0x08, ..] => Some(Self::Gzip),
            // The second is a skippable frame, which may come first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => text::could_be_base64(front.get(..TEXT_BYTES).unwrap_or(front)).then_some(Self::Base64),
        }
    }
}

/// Counts unpacked bytes since the last ledger.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    since_ledger: Arc<AtomicU64>,
    max: u64,
}

impl Meter {
    pub(crate) fn new(max: u64) -> Self {
        Self { since_ledger: Arc::default(), max }
    }

    /// A ledger is complete.
    pub(crate) fn reset(&self) {
        self.since_ledger.store(0, Ordering::Relaxed);
    }
}

/// More was unpacked than allowed.
#[derive(Debug, Error)]
#[error("too much is unpacked")]
struct OverLimit(u64);

/// An error of the library that unpacks, as opposed to one of the reader below it.
#[derive(Debug, Error)]
#[error("{source}")]
struct Damaged {
    packing: &'static str,
    source: io::Error,
}

/// One layer: what comes out of it is counted and its errors are named.
struct Layer<R> {
    reader: R,
    packing: Packing,
    meter: Meter,
}

impl<R: Read> Read for Layer<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(buf) {
            Ok(n) => {
                let before = self.meter.since_ledger.fetch_add(n as u64, Ordering::Relaxed);
                if before + n as u64 > self.meter.max { Err(io::Error::other(OverLimit(self.meter.max))) } else { Ok(n) }
            }
            Err(error) => Err(self.named(error)),
        }
    }
}

impl<R> Layer<R> {
    /// Errors of the system and of inner layers stay as they are.
    fn named(&self, source: io::Error) -> io::Error {
        let named = source.kind() == io::ErrorKind::Interrupted
            || source.get_ref().is_some_and(|e| e.is::<SystemError>() || e.is::<OverLimit>() || e.is::<Damaged>() || e.is::<Base64Error>());
        if named { source } else { io::Error::new(source.kind(), Damaged { packing: self.packing.name(), source }) }
    }
}

/// Takes off every layer that is there.
pub(crate) fn unpack(raw: Reader, meter: &Meter) -> Result<Peek<Reader>, ErrorKind> {
    let mut peek = Peek::new(raw);
    for _ in 0..=LAYERS_MAX {
        let front = peek.front(TEXT_BYTES).map_err(error_kind)?;
        let Some(packing) = Packing::of(front) else { return Ok(peek) };
        let packed = BufReader::new(peek);
        peek = Peek::new(layer(packing, packed, meter.clone()).map_err(error_kind)?);
    }
    Err(ErrorKind::TooManyPackings { max: LAYERS_MAX })
}

fn layer<R: BufRead + Send + 'static>(packing: Packing, packed: R, meter: Meter) -> io::Result<Reader> {
    let reader: Reader = match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
        Packing::Zstd => Box::new(zstd::Decoder::with_buffer(packed)?),
        Packing::Base64 => Box::new(Base64Text::new(packed)),
    };
    Ok(Box::new(Layer { reader, packing, meter }))
}

/// What an error of an unpacked reader says.
pub(crate) fn error_kind(error: io::Error) -> ErrorKind {
    let ended = error.kind() == io::ErrorKind::UnexpectedEof;
    if let Some(Base64Error { offset, reason }) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return ErrorKind::BadBase64 { offset: *offset, reason };
    }
    if let Some(OverLimit(max)) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return ErrorKind::UnpackedTooLarge { max: *max };
    }
    let error = match error.downcast::<Damaged>() {
        Ok(Damaged { packing, .. }) if ended => return ErrorKind::Truncated(format!("the {packing} data is cut off")),
        Ok(Damaged { packing, source: reason }) => return ErrorKind::BadPacking { packing, reason },
        Err(error) => error,
    };
    ErrorKind::Unreadable(error.downcast::<SystemError>().map_or_else(|error| error, |SystemError(error)| error))
}
