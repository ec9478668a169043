//! How far reading has come, for whoever shows it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

/// Bytes read so far and in all, as they lie on disk. Clones look at the same counters, also from other threads.
#[derive(Clone, Debug)]
pub struct Progress {
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self { read: Arc::default(), total }
    }

    /// Bytes read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes of all sources together; `None` when one of them is a stream, whose end nobody knows.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total
    }

    /// Counts bytes that need not be read.
    pub(crate) fn skip(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// An error of the system, told apart from those of the libraries that read above it.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct SystemError(pub(crate) io::Error);

/// A reader whose bytes are counted and whose errors are marked.
pub(crate) struct Counted<R> {
    pub(crate) reader: R,
    pub(crate) progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, SystemError(error)),
        })?;
        self.progress.skip(n as u64);
        Ok(n)
    }
}
