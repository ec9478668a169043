//! Globs: which paths a pattern stands for. Names are matched by the `glob` crate, one part of the path at a time; the folders are read here, since that
//! crate ends the program at a name that is not UTF-8.
//!
//! `*`, `?` and `[…]` match within a name, `**` any number of folders. A name that begins with a dot is matched only by a part that begins with one. In a name
//! that is not UTF-8 each wrong sequence of bytes counts as one character. The paths come in the order of names, each once.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use crate::file::unreadable;
use crate::{ErrorKind, SourceError, shared};

const FOLDERS: &str = "**";

/// Whether an argument has what only globs have.
pub(crate) fn is_glob(argument: &str) -> bool {
    argument.contains(['*', '?', '['])
}

/// The paths that are there and match.
pub(crate) fn matches(pattern: &str) -> Result<BTreeSet<PathBuf>, SourceError> {
    let bad = |e: glob::PatternError| SourceError::about(&shared(pattern), ErrorKind::BadGlob(e.to_string()));
    Pattern::new(pattern).map_err(bad)?;
    let mut found = BTreeSet::from([if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() }]);
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = if part == FOLDERS {
            below(found)?
        } else if is_glob(part) {
            let part = Pattern::new(part).map_err(bad)?;
            named_like(&part, &found)?
        } else {
            there(found.into_iter().map(|path| path.join(part)))?
        };
    }
    if pattern.ends_with('/') {
        found.retain(|path| path.is_dir());
    }
    Ok(found)
}

fn error(path: &Path, error: io::Error) -> SourceError {
    SourceError::about(&shared(path), unreadable(error))
}

/// Of some paths, those that exist.
fn there(paths: impl Iterator<Item = PathBuf>) -> Result<BTreeSet<PathBuf>, SourceError> {
    let mut found = BTreeSet::new();
    for path in paths {
        match path.symlink_metadata() {
            Ok(_) => _ = found.insert(path),
            Err(e) if is_absent(&e) => {}
            Err(e) => return Err(error(&path, e)),
        }
    }
    Ok(found)
}

/// What has such a name in one of the folders.
fn named_like(part: &Pattern, folders: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, SourceError> {
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
    let mut found = BTreeSet::new();
    for folder in folders {
        found.extend(children(folder)?.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            part.matches_with(&name, options)
        }));
    }
    Ok(found)
}

/// The folders and all folders below them but hidden ones, each once whatever links lead there.
fn below(folders: BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, SourceError> {
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    let mut waiting: Vec<PathBuf> = folders.into_iter().rev().collect();
    while let Some(folder) = waiting.pop() {
        let here = here(&folder);
        if !here.is_dir() || !seen.insert(here.canonicalize().map_err(|e| error(here, e))?) {
            continue;
        }
        let mut inner = children(&folder)?;
        inner.retain(|path| path.is_dir() && !path.file_name().unwrap_or_default().as_encoded_bytes().starts_with(b"."));
        inner.sort();
        waiting.extend(inner.into_iter().rev());
        found.insert(folder);
    }
    Ok(found)
}

/// What is in a folder; nothing for what is none.
fn children(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let entries = match here(folder).read_dir() {
        Ok(entries) => entries,
        Err(e) if is_absent(&e) => return Ok(Vec::new()),
        Err(e) => return Err(error(here(folder), e)),
    };
    entries.map(|entry| Ok(folder.join(entry.map_err(|e| error(here(folder), e))?.file_name()))).collect()
}

/// The empty path stands for the current folder.
fn here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/1.xdr", "a/2.xdr", "a/.hidden", "a/deep/3.xdr", "b/1.xdr", "b/[1].xdr", ".c/1.xdr", "top.xdr"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/deep/around")).unwrap();
        folder
    }

    #[track_caller]
    fn check(pattern: &str, expected: &[&str]) {
        let folder = tree();
        let found = matches(&format!("{}/{pattern}", folder.path().display())).unwrap();
        let found: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, expected, "{pattern}");
    }

    #[test]
    fn patterns_stand_for_what_is_there() {
        check("a/*.xdr", &["a/1.xdr", "a/2.xdr"]);
        check("*/1.xdr", &["a/1.xdr", "b/1.xdr"]);
        check("?/[12].xdr", &["a/1.xdr", "a/2.xdr", "b/1.xdr"]);
        check("b/[[]1].xdr", &["b/[1].xdr"]);
        check("a/.h*", &["a/.hidden"]);
        check("*/", &["a", "b"]);
        check("**/*.xdr", &["a/1.xdr", "a/2.xdr", "a/deep/3.xdr", "b/1.xdr", "b/[1].xdr", "top.xdr"]);
        // Through the link, each folder once.
        check("a/**/**/?.xdr", &["a/1.xdr", "a/2.xdr", "a/deep/3.xdr", "a/deep/around/b/1.xdr"]);
        check("none/*", &[]);
        check("top.xdr/*", &[]);
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_a_name() {
        let folder = tree();
        let name = folder.path().join("b").join(OsStr::from_bytes(b"\xff.xdr"));
        std::fs::write(&name, b"").unwrap();
        for pattern in ["b/?.xdr", "*/*.xdr", "**/*.xdr"] {
            let found = matches(&format!("{}/{pattern}", folder.path().display())).unwrap();
            assert!(found.contains(&name), "{pattern}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for pattern in ["a/[", "a**", "[a/b]*"] {
            assert_eq!(matches(pattern).unwrap_err().code(), "bad-glob", "{pattern}");
        }
    }
}
