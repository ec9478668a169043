//! Many sources as one ascending run of frames.
//!
//! Opening looks at the first ledger of each and sorts by it; reading then has one file open at a time. Streams cannot be opened twice,
//! so they stay open from the start.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::arguments::{Place, expand};
use crate::order::Order;
use crate::{ErrorKind, FileLedgers, Frame, Options, Origin, Progress, SourceError};

/// A source, looked at and waiting.
struct Entry {
    place: Place,
    first: u32,
    /// Last ledger of the batch at its front.
    batch_end: Option<u32>,
    /// Open already, because it is a stream or the only one.
    opened: Option<FileLedgers>,
}

/// The frames of all sources, ascending by ledger. After an error or the end there is nothing more.
pub struct Sources {
    waiting: VecDeque<Entry>,
    current: Option<FileLedgers>,
    options: Options,
    order: Order,
    outcome: Outcome,
    progress: Progress,
    done: bool,
}

/// What came out, and which part of the wanted range did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// First ledger given out.
    pub first: Option<u32>,
    /// Last ledger given out.
    pub last: Option<u32>,
    /// How many were given out.
    pub ledgers: u64,
    /// First and last ledger that are wanted but lie before what the sources have; all of the range when they have nothing of it.
    pub missing_at_start: Option<(u32, u32)>,
    /// First and last ledger that are wanted but lie behind what the sources have, or behind what was read so far.
    pub missing_at_end: Option<(u32, u32)>,
}

impl Outcome {
    /// Whether both ends of the wanted range were reached.
    pub fn is_complete(&self) -> bool {
        self.missing_at_start.is_none() && self.missing_at_end.is_none()
    }
}

impl Sources {
    /// Finds what the arguments stand for (files, folders, globs, `-`) and looks at the first ledger of each.
    pub fn open(arguments: &[String], options: Options) -> Result<Self, SourceError> {
        Self::open_beside(arguments, &[], options)
    }

    /// The same for a program that writes to the folders `own`: what is in these is passed over when folders are walked and globs are matched.
    pub fn open_beside(arguments: &[String], own: &[PathBuf], options: Options) -> Result<Self, SourceError> {
        let places = expand(arguments, own)?;
        let total = places.iter().try_fold(0_u64, |sum, place| Some(sum.saturating_add(place.bytes?)));
        let progress = Progress::new(total);
        let only = places.len() == 1;
        let mut entries = Vec::with_capacity(places.len());
        for place in places {
            entries.push(look(place, only, &progress, options)?);
        }
        // Stable: where two begin with the same ledger the order of the arguments stays, and `check` names both.
        entries.sort_by_key(|entry| entry.first);
        check(&entries, options)?;
        Ok(Self::new(entries, progress, options))
    }

    /// The frames of one reader, held to the order and bounds of `options`.
    pub fn from_file(file: FileLedgers, options: Options) -> Result<Self, SourceError> {
        let progress = file.progress();
        let place = Place { path: file.path(), bytes: progress.total_bytes() };
        let entry = Entry { place, first: file.first().sequence, batch_end: None, opened: Some(file) };
        check(std::slice::from_ref(&entry), options)?;
        Ok(Self::new(vec![entry], progress, options))
    }

    fn new(entries: Vec<Entry>, progress: Progress, options: Options) -> Self {
        let (order, outcome) = (Order::default(), Outcome::default());
        Self { waiting: entries.into(), current: None, options, order, outcome, progress, done: false }
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// What came out so far. Final when the iterator has ended.
    pub fn outcome(&self) -> Outcome {
        let Options { from, to, .. } = self.options;
        let mut outcome = self.outcome;
        match (outcome.first, outcome.last) {
            (Some(first), Some(last)) => {
                outcome.missing_at_start = from.filter(|from| *from < first).map(|from| (from, first - 1));
                outcome.missing_at_end = to.filter(|to| *to > last).map(|to| (last + 1, to));
            }
            _ => outcome.missing_at_start = from.or(to).map(|from| (from, to.unwrap_or(from))),
        }
        outcome
    }

    /// The next frame, wanted or not.
    fn read(&mut self) -> Option<Result<Frame, SourceError>> {
        loop {
            if let Some(file) = &mut self.current {
                match file.next() {
                    None => self.current = None,
                    item => return item,
                }
            }
            let entry = self.waiting.pop_front()?;
            let next_first = self.waiting.front().map(|next| next.first);
            if self.options.from.is_some_and(|from| lies_before(&entry, next_first, from)) {
                self.progress.skip(entry.place.bytes.unwrap_or(0));
                continue;
            }
            let Entry { place, opened, .. } = entry;
            match opened.map_or_else(|| FileLedgers::open_counted(&place.path, self.progress.clone(), self.options, true), Ok) {
                Ok(file) => self.current = Some(file),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Reads on to the next wanted frame.
    fn wanted(&mut self) -> Result<Option<Frame>, SourceError> {
        let Options { from, to, .. } = self.options;
        loop {
            if to.is_some() && self.outcome.last == to {
                return self.overlap().map_or(Ok(None), Err);
            }
            let Some(frame) = self.read().transpose()? else { return Ok(None) };
            let sequence = frame.head.sequence;
            if to.is_some_and(|to| sequence > to) {
                return self.overlap().map_or(Ok(None), Err);
            }
            self.order.see(sequence, &frame.origin, &self.options)?;
            if from.is_none_or(|from| sequence >= from) {
                self.outcome.first.get_or_insert(sequence);
                self.outcome.last = Some(sequence);
                self.outcome.ledgers += 1;
                return Ok(Some(frame));
            }
        }
    }

    /// Behind the last wanted ledger: a source that waits and begins inside the range overlaps what was read.
    fn overlap(&mut self) -> Option<SourceError> {
        let next = self.waiting.front().filter(|next| self.options.to.is_some_and(|to| next.first <= to))?;
        let origin = Origin { path: next.place.path.clone(), item: 1, offset: 0 };
        self.order.see(next.first, &origin, &self.options).err()
    }
}

/// Looks at the first ledger of a source. Files are opened again when it is their turn; what was read here does not count.
fn look(place: Place, only: bool, progress: &Progress, options: Options) -> Result<Entry, SourceError> {
    let is_file = place.bytes.is_some();
    let keep = only || !is_file;
    let progress = if keep { progress.clone() } else { Progress::new(None) };
    let file = FileLedgers::open_counted(&place.path, progress, options, is_file)?;
    let (first, batch_end) = (file.first().sequence, file.batch_end());
    Ok(Entry { place, first, batch_end, opened: keep.then_some(file) })
}

/// What can be said before anything is read.
fn check(entries: &[Entry], options: Options) -> Result<(), SourceError> {
    if let (Some(from), Some(to)) = (options.from, options.to)
        && from > to
    {
        return Err(SourceError { path: None, item: None, offset: None, kind: ErrorKind::BadRange { from, to } });
    }
    for (first, second) in entries.iter().zip(entries.iter().skip(1)) {
        if first.first == second.first && options.to.is_none_or(|to| second.first <= to) {
            let kind = ErrorKind::DuplicateLedger { sequence: first.first, path: first.place.path.clone(), item: 1 };
            return Err(SourceError { path: Some(second.place.path.clone()), item: Some(1), offset: None, kind });
        }
    }
    Ok(())
}

/// Whether a batch ends before the first wanted ledger, and the next source begins early enough that nothing wanted can hide behind it.
fn lies_before(entry: &Entry, next_first: Option<u32>, from: u32) -> bool {
    entry.batch_end.is_some_and(|end| end < from) && next_first.is_some_and(|next| next <= from)
}

impl Iterator for Sources {
    type Item = Result<Frame, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let frame = self.wanted().transpose();
        self.done = !matches!(frame, Some(Ok(_)));
        if self.done {
            self.current = None;
            self.waiting.clear();
        }
        frame
    }
}
