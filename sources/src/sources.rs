//! Many sources as one ascending run of frames.
//!
//! Opening looks at the first ledger of each and sorts by it; reading then has one file open at a time. Streams cannot be opened twice,
//! so they stay open from the start. Newest first, the files come the other way round. When following, what appears later is looked at in the same way, and read when its turn has come.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::arguments::{Place, expand};
use crate::file::Kind;
use crate::following::{Following, GROWING_INTERVAL, Next, may_grow};
use crate::newest::NewestFirst;
use crate::order::Order;
use crate::steady::Steady;
use crate::{ErrorKind, FileLedgers, Frame, Options, Origin, Progress, SourceError};

/// A source, looked at and waiting.
pub(crate) struct Entry {
    pub(crate) place: Place,
    pub(crate) first: u32,
    /// Last ledger of the batch at its front.
    pub(crate) batch_end: Option<u32>,
    /// Open already, because it is a stream or the only one.
    pub(crate) opened: Option<FileLedgers>,
}

/// The source that is being read.
struct Current {
    steady: Steady,
    place: Place,
    /// Whether what was read before may come again: a followed pipe, whose writer may start anew.
    repeats: bool,
}

/// The frames of all sources, ascending by ledger. After an error or the end there is nothing more.
pub struct Sources {
    waiting: VecDeque<Entry>,
    current: Option<Current>,
    following: Option<Following>,
    newest: Option<NewestFirst>,
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
        if options.follow {
            let progress = Progress::new(None);
            let (following, entries) = Following::begin(arguments, own, &progress, options)?;
            check(entries.iter().map(|entry| (entry.first, &entry.place)), options)?;
            return Ok(Self { following: Some(following), ..Self::new(entries, progress, options) });
        }
        let places = expand(arguments, own)?;
        let total = places.iter().try_fold(0_u64, |sum, place| Some(sum.saturating_add(place.bytes?)));
        let progress = Progress::new(total);
        let only = places.len() == 1;
        let mut entries = places.into_iter().map(|place| look(place, only, &progress, options)).collect::<Result<Vec<_>, _>>()?;
        // Stable: where two begin with the same ledger the order of the arguments stays, and `check` names both.
        entries.sort_by_key(|entry| entry.first);
        check(entries.iter().map(|entry| (entry.first, &entry.place)), options)?;
        if options.newest_first {
            let newest = NewestFirst::new(entries, progress.clone(), options)?;
            return Ok(Self { newest: Some(newest), ..Self::new(VecDeque::new(), progress, options) });
        }
        Ok(Self::new(entries.into(), progress, options))
    }

    /// The frames of one reader, held to the order and bounds of `options`.
    pub fn from_file(file: FileLedgers, options: Options) -> Result<Self, SourceError> {
        let progress = file.progress();
        let place = Place { path: file.path(), bytes: None, named: true };
        check(std::iter::once((file.first().sequence, &place)), options)?;
        let entry = Entry { first: file.first().sequence, place, batch_end: None, opened: Some(file) };
        Ok(Self::new(VecDeque::from([entry]), progress, options))
    }

    pub(crate) fn new(waiting: VecDeque<Entry>, progress: Progress, options: Options) -> Self {
        let (order, outcome) = (Order::default(), Outcome::default());
        Self { waiting, current: None, following: None, newest: None, options, order, outcome, progress, done: false }
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// What came out so far. Final when the iterator has ended.
    pub fn outcome(&self) -> Outcome {
        let Options { from, to, .. } = self.options;
        let mut outcome = self.newest.as_ref().map_or(self.outcome, NewestFirst::outcome);
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
            if let Some(Current { steady, place, .. }) = &mut self.current {
                let follows = self.following.is_some();
                let frame = steady.next(&mut |error| (follows && may_grow(place, error)).then_some(GROWING_INTERVAL));
                if frame.is_some() {
                    return frame;
                }
                self.end_current();
            }
            if let Some(following) = &mut self.following {
                let wanted = self.order.last().map(|last| last.saturating_add(1)).max(self.options.from);
                match following.next(&mut self.waiting, wanted, &self.progress, self.options) {
                    Ok(Next::Waiting) => {}
                    Ok(Next::Again(entry, given)) => {
                        self.begin(*entry, given);
                        continue;
                    }
                    Ok(Next::End) => return None,
                    Err(error) => return Some(Err(error)),
                }
            }
            let entry = self.waiting.pop_front()?;
            let next_first = self.waiting.front().map(|next| next.first);
            if self.options.from.is_some_and(|from| lies_before(&entry, next_first, from)) {
                self.progress.skip(entry.place.bytes.unwrap_or(0));
                continue;
            }
            self.begin(entry, 0);
        }
    }

    /// Begins to read a source behind its first `given` ledgers.
    fn begin(&mut self, entry: Entry, given: u64) {
        let Entry { place, mut opened, .. } = entry;
        let (path, progress, options) = (place.path.clone(), self.progress.clone(), self.options);
        let kind = match place.bytes {
            None => Kind::Stream,
            Some(_) if self.following.is_some() && place.named && self.waiting.is_empty() => Kind::Growing,
            Some(_) => Kind::File,
        };
        let open = move || opened.take().map_or_else(|| FileLedgers::open_counted(&path, progress.clone(), options, kind), Ok);
        let steady = if kind == Kind::Stream { Steady::once(Box::new(open)) } else { Steady::behind(given, Box::new(open)) };
        self.current = Some(Current { steady, place, repeats: self.following.is_some() && kind == Kind::Stream });
    }

    fn end_current(&mut self) {
        if let (Some(following), Some(Current { steady, place, .. })) = (&mut self.following, self.current.take()) {
            following.ended(place, steady.given());
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
            if self.current.as_ref().is_some_and(|current| current.repeats) && self.order.last().is_some_and(|last| sequence <= last) {
                continue;
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
pub(crate) fn look(place: Place, only: bool, progress: &Progress, options: Options) -> Result<Entry, SourceError> {
    let is_file = place.bytes.is_some();
    let keep = only || !is_file;
    let progress = if keep { progress.clone() } else { Progress::new(None) };
    let file = FileLedgers::open_counted(&place.path, progress, options, if is_file { Kind::File } else { Kind::Stream })?;
    let (first, batch_end) = (file.first().sequence, file.batch_end());
    Ok(Entry { place, first, batch_end, opened: keep.then_some(file) })
}

/// What can be said before anything is read.
fn check<'e>(entries: impl Iterator<Item = (u32, &'e Place)>, options: Options) -> Result<(), SourceError> {
    if let (Some(from), Some(to)) = (options.from, options.to)
        && from > to
    {
        return Err(SourceError { path: None, item: None, offset: None, kind: ErrorKind::BadRange { from, to } });
    }
    let mut before: Option<(u32, &Place)> = None;
    for (first, place) in entries {
        if let Some((sequence, other)) = before
            && sequence == first
            && options.to.is_none_or(|to| first <= to)
        {
            let kind = ErrorKind::DuplicateLedger { sequence, path: other.path.clone(), item: 1 };
            return Err(SourceError { path: Some(place.path.clone()), item: Some(1), offset: None, kind });
        }
        before = Some((first, place));
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
        let frame = match &mut self.newest {
            Some(newest) => newest.next(),
            None => self.wanted(),
        };
        let frame = frame.transpose();
        self.done = !matches!(frame, Some(Ok(_)));
        if self.done {
            self.current = None;
            self.waiting.clear();
        }
        frame
    }
}
