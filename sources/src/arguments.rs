//! From what was named to files: folders are walked, globs are matched, each in the order of names.
//!
//! A path that exists is that path, whatever characters it has; only then is it tried as a glob. In folders and globs, names that begin with
//! a dot are passed over; named by themselves they are read. Folders that the program itself writes to are passed over too, wherever they stand;
//! a file in one is read when it is named. A link to a folder that was walked before is not walked again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file::{metadata, unreadable};
use crate::{ErrorKind, STDIN, SourceError, globs, shared};

/// One thing to open.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: Arc<Path>,
    /// Length on disk; `None` for a stream.
    pub(crate) bytes: Option<u64>,
    /// Whether it is an argument itself, and not one of those in a folder or behind a glob.
    pub(crate) named: bool,
}

/// What the arguments stand for, in their order, but nothing in the folders `own`.
pub(crate) fn expand(arguments: &[String], own: &[PathBuf]) -> Result<Vec<Place>, SourceError> {
    // One that is not there yet has nothing to pass over.
    let mut finder = Finder { own: own.iter().filter_map(|folder| folder.canonicalize().ok()).collect(), places: Vec::new() };
    for argument in arguments {
        let path = shared(argument);
        if argument == STDIN {
            if finder.places.iter().any(|place| place.path.as_ref() == Path::new(STDIN)) {
                return Err(SourceError::about(&path, ErrorKind::StdinTwice));
            }
            finder.places.push(Place { path, bytes: None, named: true });
        } else if globs::is_glob(argument) && !Path::new(argument).exists() {
            finder.glob(argument)?;
        } else {
            finder.named(path)?;
        }
    }
    match arguments.first() {
        Some(first) if finder.places.is_empty() => Err(SourceError::about(&shared(first), ErrorKind::NoMatch)),
        None => Err(SourceError { path: None, item: None, offset: None, kind: ErrorKind::NoSource }),
        Some(_) => Ok(finder.places),
    }
}

/// What was found so far, and where not to look.
struct Finder {
    own: BTreeSet<PathBuf>,
    places: Vec<Place>,
}

impl Finder {
    fn named(&mut self, path: Arc<Path>) -> Result<(), SourceError> {
        let metadata = metadata(&path)?;
        if !metadata.is_dir() {
            let bytes = metadata.is_file().then_some(metadata.len());
            self.places.push(Place { path, bytes, named: true });
            return Ok(());
        }
        let before = self.places.len();
        // Such a folder stands among the arguments when a shell has matched a glob; it is nobody's mistake.
        let own = path.canonicalize().is_ok_and(|path| self.own.contains(&path));
        self.walk(&path)?;
        if self.places.len() == before && !own { Err(SourceError::about(&path, ErrorKind::NoMatch)) } else { Ok(()) }
    }

    fn glob(&mut self, pattern: &str) -> Result<(), SourceError> {
        let argument = shared(pattern);
        let found = globs::matches(pattern)?;
        if found.is_empty() {
            return Err(SourceError::about(&argument, ErrorKind::NoMatch));
        }
        for path in found {
            if !self.is_own(&path) {
                let before = self.places.len();
                self.named(shared(path))?;
                self.places.iter_mut().skip(before).for_each(|place| place.named = false);
            }
        }
        Ok(())
    }

    /// Whether a path is one of the folders not to look into, or in one.
    fn is_own(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path.ancestors().any(|folder| self.own.contains(folder)))
    }

    /// Walks a folder. The folders still to be walked are a list, so that deep nesting costs no stack.
    fn walk(&mut self, root: &Arc<Path>) -> Result<(), SourceError> {
        let mut walked = self.own.clone();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            let error = |e| SourceError::about(&folder, unreadable(e));
            if !walked.insert(folder.canonicalize().map_err(error)?) {
                continue;
            }
            let mut inner = Vec::new();
            for path in visible(&folder).map_err(error)? {
                let path = shared(path);
                let metadata = metadata(&path)?;
                if metadata.is_dir() {
                    inner.push(path);
                } else if metadata.is_file() {
                    self.places.push(Place { path, bytes: Some(metadata.len()), named: false });
                } else {
                    return Err(SourceError::about(&path, ErrorKind::NotAFile));
                }
            }
            folders.extend(inner.into_iter().rev());
        }
        Ok(())
    }
}

/// Paths in a folder whose names do not begin with a dot, in the order of names.
fn visible(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
