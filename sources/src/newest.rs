//! Newest first: files from the last to the first, the ledgers of each in their order.
//!
//! The same is demanded as of an ascending run: no ledger twice, none missing between the first and the last, and both ends of the range there. Streams
//! cannot be read so.

use std::collections::VecDeque;

use crate::sources::{Entry, Outcome, Sources};
use crate::{ErrorKind, Frame, Options, Origin, Progress, SourceError};

/// The frames of files, file by file from the newest on.
pub(crate) struct NewestFirst {
    /// Ascending: the next one is the last.
    waiting: Vec<Entry>,
    current: Option<Current>,
    /// Where the file read before begins, in what is wanted of it.
    above: Option<(u32, Origin)>,
    options: Options,
    outcome: Outcome,
    progress: Progress,
}

/// The file that is being read.
struct Current {
    sources: Box<Sources>,
    first: Option<(u32, Origin)>,
    last: Option<(u32, Origin)>,
}

impl NewestFirst {
    /// `entries` ascend by their first ledgers.
    pub(crate) fn new(entries: Vec<Entry>, progress: Progress, options: Options) -> Result<Self, SourceError> {
        if let Some(stream) = entries.iter().find(|entry| entry.place.bytes.is_none()) {
            return Err(SourceError::about(&stream.place.path, ErrorKind::StreamBackwards));
        }
        let options = Options { newest_first: false, ..options };
        Ok(Self { waiting: entries, current: None, above: None, options, outcome: Outcome::default(), progress })
    }

    /// What came out so far.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The next frame; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, SourceError> {
        loop {
            if let Some(current) = &mut self.current {
                let Some(frame) = current.sources.next().transpose()? else {
                    self.end_current()?;
                    continue;
                };
                let (sequence, origin) = (frame.head.sequence, frame.origin.clone());
                if let Some((above, other)) = &self.above
                    && sequence >= *above
                {
                    // A file holds all from its first to its last, or has ended with an error.
                    let item = other.item + u64::from(sequence - above);
                    let kind = ErrorKind::DuplicateLedger { sequence, path: other.path.clone(), item };
                    return Err(SourceError::at(&origin, kind));
                }
                current.first.get_or_insert_with(|| (sequence, origin.clone()));
                current.last = Some((sequence, origin));
                self.outcome.first = Some(self.outcome.first.map_or(sequence, |first| first.min(sequence)));
                self.outcome.last = self.outcome.last.max(Some(sequence));
                self.outcome.ledgers += 1;
                return Ok(Some(frame));
            }
            let Some(entry) = self.waiting.pop() else { return Ok(None) };
            let Options { from, to, .. } = self.options;
            let over = from.is_some_and(|from| self.above.as_ref().is_some_and(|(above, _)| *above <= from));
            if over {
                return Ok(None);
            }
            if to.is_some_and(|to| entry.first > to) || from.is_some_and(|from| entry.batch_end.is_some_and(|end| end < from)) {
                self.progress.skip(entry.place.bytes.unwrap_or(0));
                continue;
            }
            let sources = Sources::new(VecDeque::from([entry]), self.progress.clone(), self.options);
            self.current = Some(Current { sources: Box::new(sources), first: None, last: None });
        }
    }

    /// Looks whether the file ended where the one read before begins.
    fn end_current(&mut self) -> Result<(), SourceError> {
        let Some(Current { first: Some(first), last: Some((last, before)), .. }) = self.current.take() else { return Ok(()) };
        if let Some((above, origin)) = &self.above
            && last.saturating_add(1) < *above
            && !self.options.allow_gaps
        {
            let kind = ErrorKind::LedgerGap { first_missing: last + 1, last_missing: above - 1, sequence: *above, before };
            return Err(SourceError::at(origin, kind));
        }
        self.above = Some(first);
        Ok(())
    }
}
