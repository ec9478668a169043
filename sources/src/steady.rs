//! One source, read on through faults that pass by themselves: an error of the disk or of the network behind it, a file that is still being written.
//!
//! Promises: after a fault the source is opened again and read on behind the last ledger that it gave, so that none is given twice and none is left out.
//! Waits between attempts grow, and are shaken so that many readers of one disk do not come back at the same moment. An error that stays is given as it is.

use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind::{InvalidData, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied, UnexpectedEof, Unsupported};
use std::time::Duration;

use crate::{ErrorKind, FileLedgers, Frame, SourceError};

/// Attempts at one place of a source before its error counts.
const ATTEMPTS_MAX: u32 = 8;
/// Wait before the second attempt; each further one is twice as long, up to the longest.
const WAIT_MIN: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Opens the source from its beginning.
pub(crate) type Open = Box<dyn FnMut() -> Result<FileLedgers, SourceError> + Send>;

/// Says how long to wait before a source is read again after an error that may be because it is not all there yet; `None` if it is an error.
pub(crate) type Hope<'h> = &'h mut dyn FnMut(&SourceError) -> Option<Duration>;

/// A source and how far it was read.
pub(crate) struct Steady {
    open: Open,
    /// Whether it can be opened again.
    again: bool,
    file: Option<FileLedgers>,
    /// Ledgers given out.
    given: u64,
    attempts: u32,
}

impl Steady {
    /// A source that can be opened again, of which so many ledgers were given already.
    pub(crate) fn behind(given: u64, open: Open) -> Self {
        Self { open, again: true, file: None, given, attempts: 0 }
    }

    /// A stream, which there is only once.
    pub(crate) fn once(open: Open) -> Self {
        Self { open, again: false, file: None, given: 0, attempts: 0 }
    }

    /// How many ledgers it gave.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// The next ledger; `None` at the end.
    pub(crate) fn next(&mut self, hope: Hope<'_>) -> Option<Result<Frame, SourceError>> {
        loop {
            let error = match self.attempt() {
                Ok(Some(frame)) => {
                    self.given += 1;
                    self.attempts = 0;
                    return Some(Ok(frame));
                }
                Ok(None) => return None,
                Err(error) => error,
            };
            self.file = None;
            match self.wait(&error, hope) {
                Some(wait) => std::thread::sleep(wait),
                None => return Some(Err(error)),
            }
        }
    }

    fn attempt(&mut self) -> Result<Option<Frame>, SourceError> {
        if self.file.is_none() {
            let mut file = (self.open)()?;
            for _ in 0..self.given {
                // A file that has become shorter has nothing more to give.
                let Some(before) = file.next() else { return Ok(None) };
                before?;
            }
            self.file = Some(file);
        }
        self.file.as_mut().and_then(Iterator::next).transpose()
    }

    /// How long to wait before the next attempt, if there is to be one.
    fn wait(&mut self, error: &SourceError, hope: Hope<'_>) -> Option<Duration> {
        if !self.again {
            return None;
        }
        if !passes(error) {
            return hope(error);
        }
        self.attempts += 1;
        (self.attempts < ATTEMPTS_MAX).then(|| shaken((WAIT_MIN * 2_u32.pow(self.attempts - 1)).min(WAIT_MAX)))
    }
}

/// Whether an error of the system may be gone at the next attempt.
fn passes(error: &SourceError) -> bool {
    let stays = [NotFound, PermissionDenied, IsADirectory, NotADirectory, InvalidInput, InvalidData, UnexpectedEof, Unsupported];
    matches!(&error.kind, ErrorKind::Unreadable(error) if !stays.contains(&error.kind()))
}

/// From half of a wait to all of it.
fn shaken(wait: Duration) -> Duration {
    // A hasher of the standard library begins with a number that nobody can foresee.
    let random = u32::from_be_bytes(*RandomState::new().hash_one(0).to_be_bytes().first_chunk().unwrap_or(&[0; 4]));
    wait / 2 + (wait / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::Options;

    /// Reads bytes, and fails at some of them once each time that it is opened, as long as faults are left.
    struct Faulty {
        bytes: Arc<Vec<u8>>,
        at: usize,
        fault_at: usize,
        faults: Arc<AtomicU32>,
        kind: io::ErrorKind,
    }

    impl Read for Faulty {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let until = if self.faults.load(Relaxed) > 0 { self.fault_at } else { self.bytes.len() };
            if self.at >= until && until < self.bytes.len() {
                self.faults.fetch_sub(1, Relaxed);
                return Err(io::Error::new(self.kind, "the disk is gone for a moment"));
            }
            let n = self.bytes[self.at..until].as_ref().read(buf)?;
            self.at += n;
            Ok(n)
        }
    }

    /// Empty ledgers 5 to 24 behind record marks.
    fn chain() -> Vec<u8> {
        use stellar_xdr::{LedgerCloseMeta, LedgerCloseMetaV0, LedgerHeader, LedgerHeaderHistoryEntry, Limits, WriteXdr as _};
        let ledger = |ledger_seq| {
            let header = LedgerHeader { ledger_seq, ..LedgerHeader::default() };
            let ledger_header = LedgerHeaderHistoryEntry { header, ..LedgerHeaderHistoryEntry::default() };
            let meta = LedgerCloseMeta::V0(LedgerCloseMetaV0 { ledger_header, ..LedgerCloseMetaV0::default() });
            meta.to_xdr(Limits::none()).unwrap()
        };
        let mark = |length: usize| (u32::try_from(length).unwrap() | 1 << 31).to_be_bytes();
        (5..25).map(ledger).flat_map(|bytes| [&mark(bytes.len())[..], &bytes].concat()).collect()
    }

    /// The sequences that come out when reading at `fault_at` fails `faults` times, and the error, if there is one.
    fn read(fault_at: usize, faults: u32, kind: io::ErrorKind) -> (Vec<u32>, Option<&'static str>) {
        let (bytes, faults) = (Arc::new(chain()), Arc::new(AtomicU32::new(faults)));
        let open = move || {
            let reader = Faulty { bytes: bytes.clone(), at: 0, fault_at, faults: faults.clone(), kind };
            FileLedgers::from_reader("faulty", reader, Options::default())
        };
        let mut steady = Steady::behind(0, Box::new(open));
        let mut out = Vec::new();
        while let Some(frame) = steady.next(&mut |_| None) {
            match frame {
                Ok(frame) => out.push(frame.head.sequence),
                Err(error) => return (out, Some(error.code())),
            }
        }
        (out, None)
    }

    #[test]
    fn a_fault_that_passes_costs_no_ledger_and_doubles_none() {
        let all: Vec<u32> = (5..25).collect();
        let length = chain().len();
        for fault_at in [0, 3, 200, length / 3, length / 2 + 1, length - 1] {
            assert_eq!(read(fault_at, 2, io::ErrorKind::Other), (all.clone(), None), "at byte {fault_at}");
        }
    }

    #[test]
    fn a_fault_that_stays_is_an_error_behind_what_was_read() {
        let (out, error) = read(chain().len() / 2, u32::MAX, io::ErrorKind::TimedOut);
        assert!(!out.is_empty() && out.len() < 20, "{out:?}");
        assert_eq!(error, Some("unreadable"));
    }

    #[test]
    fn what_no_wait_mends_is_not_tried_again() {
        let (_, error) = read(300, 1, io::ErrorKind::PermissionDenied);
        assert_eq!(error, Some("unreadable"));
    }

    #[test]
    fn waits_are_shaken_but_bounded() {
        let waits: Vec<_> = (0..100).map(|_| shaken(WAIT_MAX)).collect();
        assert!(waits.iter().all(|wait| (WAIT_MAX / 2..=WAIT_MAX).contains(wait)));
        assert!(waits.iter().any(|wait| *wait != waits[0]));
    }
}
