//! Which sources have appeared since the last look.
//!
//! Folders are watched through the system (`notify`), so that a new file is seen at once and the others are not looked at again; since a watch can miss
//! things (its queue is full, the folder lies on another machine), all is listed anew every few seconds, and more often where there is no watch.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::arguments::{Place, expand};
use crate::{ErrorKind, STDIN, SourceError, globs, shared};

/// Between two lists of everything, with a watch and without one.
const LIST_INTERVAL: Duration = Duration::from_secs(5);
const LIST_INTERVAL_UNWATCHED: Duration = Duration::from_millis(100);

/// What was seen of the arguments so far.
pub(crate) struct Appearing {
    arguments: Vec<String>,
    own: Vec<PathBuf>,
    /// Hashes of the paths that were given out: eight bytes for each file of years.
    seen: HashSet<u64>,
    hasher: RandomState,
    watch: Option<Watch>,
    list_at: Instant,
}

struct Watch {
    /// Kept: it ends when dropped.
    _watcher: RecommendedWatcher,
    changed: Receiver<PathBuf>,
    /// The folders among the arguments: as events name them, and as they were named.
    folders: Vec<(PathBuf, PathBuf)>,
}

impl Appearing {
    /// Begins to watch, before the first list is made: what appears meanwhile is seen.
    pub(crate) fn new(arguments: &[String], own: &[PathBuf]) -> Self {
        Self {
            arguments: arguments.to_vec(),
            own: own.to_vec(),
            seen: HashSet::new(),
            hasher: RandomState::new(),
            watch: watch(arguments),
            list_at: Instant::now(),
        }
    }

    /// All that is there, without what was given before. A folder may be empty, and a glob match nothing, as yet.
    pub(crate) fn list(&mut self) -> Result<Vec<Place>, SourceError> {
        self.list_at = Instant::now() + if self.watch.is_some() { LIST_INTERVAL } else { LIST_INTERVAL_UNWATCHED };
        let mut all = Vec::new();
        for argument in &self.arguments {
            match expand(std::slice::from_ref(argument), &self.own) {
                Ok(places) => all.extend(places),
                Err(SourceError { kind: ErrorKind::NoMatch, .. }) => {}
                // A file that was there in the list and is gone again.
                Err(SourceError { kind: ErrorKind::NotFound, path: Some(path), .. }) if path.as_ref() != Path::new(argument) => {}
                Err(error) => return Err(error),
            }
        }
        all.retain(|place| self.seen.insert(self.hasher.hash_one(place.path.as_ref())));
        Ok(all)
    }

    /// Waits until something may have appeared, but not longer than `max`, and says what has.
    pub(crate) fn wait(&mut self, max: Duration) -> Result<Vec<Place>, SourceError> {
        let max = max.min(self.list_at.saturating_duration_since(Instant::now()));
        let mut changed = BTreeSet::new();
        match &self.watch {
            Some(watch) => match watch.changed.recv_timeout(max) {
                Ok(path) => changed.extend(std::iter::once(path).chain(watch.changed.try_iter())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.watch = None,
            },
            None => std::thread::sleep(max),
        }
        // A folder may hold files since before it was watched.
        if Instant::now() >= self.list_at || changed.iter().any(|path| path.is_dir()) {
            return self.list();
        }
        Ok(changed.into_iter().filter_map(|path| self.place(&path)).collect())
    }

    /// A changed path as a source, if it is one that was not given before.
    fn place(&mut self, path: &Path) -> Option<Place> {
        let inner = |(watched, named): &(PathBuf, PathBuf)| Some((named.clone(), path.strip_prefix(watched).ok()?.to_owned()));
        let (named, inner) = self.watch.as_ref()?.folders.iter().find_map(inner)?;
        let path = named.join(&inner);
        let hidden = inner.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let is_new = !hidden && !is_own(&path, &self.own) && self.seen.insert(self.hasher.hash_one(path.as_path()));
        is_new.then(|| Place { path: shared(path), bytes: Some(metadata.len()), named: false })
    }
}

/// Whether a file lies in a folder that the program itself writes to.
fn is_own(path: &Path, own: &[PathBuf]) -> bool {
    let own = own.iter().filter_map(|folder| folder.canonicalize().ok()).collect::<Vec<_>>();
    !own.is_empty() && path.canonicalize().is_ok_and(|path| path.ancestors().any(|folder| own.iter().any(|own| own == folder)))
}

/// Watches the folders among the arguments; `None` where there is none, or the system has no watch to give.
fn watch(arguments: &[String]) -> Option<Watch> {
    let here = std::env::current_dir().ok()?;
    let folders = arguments.iter().map(Path::new).filter(|path| path.is_dir());
    let folders: Vec<_> = folders.map(|path| (here.join(path), path.to_owned())).collect();
    // Whatever a glob may come to match is only found by listing.
    let listed = arguments.iter().any(|argument| argument != STDIN && globs::is_glob(argument) && !Path::new(argument).exists());
    if folders.is_empty() || listed {
        return None;
    }
    let (sender, changed) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        if matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other) {
            // Nobody follows any more.
            event.paths.into_iter().for_each(|path| drop(sender.send(path)));
        }
    })
    .ok()?;
    folders.iter().try_for_each(|(folder, _)| watcher.watch(folder, RecursiveMode::Recursive)).ok()?;
    Some(Watch { _watcher: watcher, changed, folders })
}
