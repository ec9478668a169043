//! From what was named to files: folders are walked, globs are matched, each in the order of names.
//!
//! A path that exists is that path, whatever characters it has; only then is it tried as a glob. In folders and globs, names that begin with
//! a dot are passed over; named by themselves they are read. A link to a folder that was walked before is not walked again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file::{metadata, unreadable};
use crate::{ErrorKind, STDIN, SourceError, shared};

/// One thing to open.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: Arc<Path>,
    /// Length on disk; `None` for a stream.
    pub(crate) bytes: Option<u64>,
}

/// What the arguments stand for, in their order.
pub(crate) fn expand(arguments: &[String]) -> Result<Vec<Place>, SourceError> {
    let mut places = Vec::new();
    for argument in arguments {
        let path = shared(argument);
        if argument == STDIN {
            if places.iter().any(|place: &Place| place.path.as_ref() == Path::new(STDIN)) {
                return Err(SourceError::about(&path, ErrorKind::StdinTwice));
            }
            places.push(Place { path, bytes: None });
        } else if is_glob(argument) && !Path::new(argument).exists() {
            glob(argument, &mut places)?;
        } else {
            named(path, &mut places)?;
        }
    }
    if places.is_empty() {
        return Err(SourceError { path: None, item: None, offset: None, kind: ErrorKind::NoSource });
    }
    Ok(places)
}

fn is_glob(argument: &str) -> bool {
    argument.contains(['*', '?', '['])
}

fn named(path: Arc<Path>, places: &mut Vec<Place>) -> Result<(), SourceError> {
    let metadata = metadata(&path)?;
    if !metadata.is_dir() {
        let bytes = metadata.is_file().then_some(metadata.len());
        places.push(Place { path, bytes });
        return Ok(());
    }
    let before = places.len();
    walk(&path, &mut BTreeSet::new(), places)?;
    if places.len() == before { Err(SourceError::about(&path, ErrorKind::NoMatch)) } else { Ok(()) }
}

fn glob(pattern: &str, places: &mut Vec<Place>) -> Result<(), SourceError> {
    let argument = shared(pattern);
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let matches = glob::glob_with(pattern, options).map_err(|e| SourceError::about(&argument, ErrorKind::BadGlob(e.to_string())))?;
    let before = places.len();
    for found in matches {
        let found = found.map_err(|e| SourceError::about(&shared(e.path()), ErrorKind::Unreadable(e.into())))?;
        named(shared(found), places)?;
    }
    if places.len() == before { Err(SourceError::about(&argument, ErrorKind::NoMatch)) } else { Ok(()) }
}

/// Walks a folder. The folders still to be walked are a list, so that deep nesting costs no stack.
fn walk(root: &Arc<Path>, walked: &mut BTreeSet<PathBuf>, places: &mut Vec<Place>) -> Result<(), SourceError> {
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
                places.push(Place { path, bytes: Some(metadata.len()) });
            } else {
                return Err(SourceError::about(&path, ErrorKind::NotAFile));
            }
        }
        folders.extend(inner.into_iter().rev());
    }
    Ok(())
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
