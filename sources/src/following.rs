//! Following: the end of the sources is waited for instead of reached.
//!
//! Next comes the ledger behind the last one: in a new file of a folder, in a file that has grown, from another writer of a named pipe. A file that cannot
//! be read yet is one that is still being written, and is looked at again until it has not changed for [`GROWN_AFTER`]. When a later ledger is there
//! already, the one before it is waited for as long as [`GAP_WAIT`]: several may write at a time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::appear::Appearing;
use crate::arguments::Place;
use crate::sources::{Entry, look};
use crate::{ErrorKind, Options, Progress, STDIN, SourceError};

/// A file that has not changed for so long is all there.
const GROWN_AFTER: Duration = Duration::from_secs(10);
/// How long a ledger is waited for when a later one is there already.
const GAP_WAIT: Duration = Duration::from_mins(1);
/// Between two looks at a file that is still being written.
pub(crate) const GROWING_INTERVAL: Duration = Duration::from_millis(10);
/// Between two looks at whether the last file has grown, while nothing else happens.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// What was seen, and what is waited for.
pub(crate) struct Following {
    appearing: Appearing,
    /// Whether standard input is all there is to read.
    stdin_alone: bool,
    /// Seen, but not all there yet.
    growing: Vec<Place>,
    /// The last source that was read to its end, and how many ledgers it gave.
    last: Option<(Place, u64)>,
    /// Since when a later ledger is there while an earlier one is missing.
    gap_since: Option<Instant>,
}

/// What is read next.
pub(crate) enum Next {
    /// The first source that waits.
    Waiting,
    /// The last one again, behind so many of its ledgers.
    Again(Box<Entry>, u64),
    /// Nothing will come.
    End,
}

impl Following {
    /// Begins to watch, and looks at all that is there.
    pub(crate) fn begin(
        arguments: &[String],
        own: &[PathBuf],
        progress: &Progress,
        options: Options,
    ) -> Result<(Self, VecDeque<Entry>), SourceError> {
        let mut appearing = Appearing::new(arguments, own);
        let places = appearing.list()?;
        let stdin_alone = !arguments.is_empty() && arguments.iter().all(|argument| argument == STDIN);
        let mut this = Self { appearing, stdin_alone, growing: Vec::new(), last: None, gap_since: None };
        let mut entries = VecDeque::new();
        this.look_at(places, &mut entries, progress, options)?;
        Ok((this, entries))
    }

    /// A source was read to its end.
    pub(crate) fn ended(&mut self, place: Place, given: u64) {
        self.last = Some((place, given));
    }

    /// Waits until the ledger `wanted`, or any where none is, can be read.
    pub(crate) fn next(
        &mut self,
        waiting: &mut VecDeque<Entry>,
        wanted: Option<u32>,
        progress: &Progress,
        options: Options,
    ) -> Result<Next, SourceError> {
        loop {
            if let Some(next) = waiting.front() {
                let gap = wanted.is_some_and(|wanted| next.first > wanted) && !options.allow_gaps;
                if !gap || self.gap_since.get_or_insert_with(Instant::now).elapsed() > GAP_WAIT {
                    self.gap_since = None;
                    return Ok(Next::Waiting);
                }
            }
            if let Some((place, given)) = self.last.take() {
                match again(place, given, progress, options)? {
                    Ok(next) => return Ok(next),
                    Err(last) => self.last = last,
                }
            }
            if self.stdin_alone && waiting.is_empty() && self.last.is_none() {
                return Ok(Next::End);
            }
            let mut places = self.appearing.wait(if self.growing.is_empty() { LOOK_INTERVAL } else { GROWING_INTERVAL })?;
            places.append(&mut self.growing);
            self.look_at(places, waiting, progress, options)?;
        }
    }

    /// Puts new sources in their place.
    fn look_at(
        &mut self,
        places: Vec<Place>,
        waiting: &mut VecDeque<Entry>,
        progress: &Progress,
        options: Options,
    ) -> Result<(), SourceError> {
        for place in places {
            match look(place.clone(), false, progress, options) {
                Ok(entry) => waiting.insert(waiting.partition_point(|other| other.first <= entry.first), entry),
                // A file of a folder that is gone again is none that must be read.
                Err(SourceError { kind: ErrorKind::NotFound, .. }) if !place.named => {}
                Err(error) if may_grow(&place, &error) => self.growing.push(place),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The last source once more, if it has more or may come to have; else it, to be asked again, unless it is over.
fn again(place: Place, given: u64, progress: &Progress, options: Options) -> Result<Result<Next, Option<(Place, u64)>>, SourceError> {
    let Some(bytes) = place.bytes else {
        if place.path.as_ref() == Path::new(STDIN) {
            return Ok(Err(None));
        }
        // Opening a pipe waits for somebody who writes.
        return Ok(Ok(Next::Again(Box::new(look(place, false, progress, options)?), 0)));
    };
    let now = std::fs::metadata(&place.path).map_or(0, |metadata| metadata.len());
    if now <= bytes {
        return Ok(Err(Some((place, given))));
    }
    let place = Place { bytes: Some(now), ..place };
    let entry = Entry { place, first: 0, batch_end: None, opened: None };
    Ok(Ok(Next::Again(Box::new(entry), given)))
}

/// Whether an error may be because a file is not all there yet.
pub(crate) fn may_grow(place: &Place, error: &SourceError) -> bool {
    match error.kind {
        _ if place.bytes.is_none() => false,
        ErrorKind::Unreadable(_) | ErrorKind::NotFound => false,
        // Whoever names a file may do so before anybody writes it.
        ErrorKind::Empty if place.named => true,
        _ => {
            let changed = std::fs::metadata(&place.path).and_then(|metadata| metadata.modified());
            changed.is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age < GROWN_AFTER))
        }
    }
}
