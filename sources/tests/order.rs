//! Many sources are one ascending run of ledgers, whatever their names; gaps, repeats and steps back are errors that name their places.

use glob as _;
use notify as _;
use serde_json as _;
use starmill_ledger as _;
use starmill_xdr as _;
use stellar_xdr as _;
use thiserror as _;

mod common;

use std::fs;
use std::path::Path;

use common::*;
use starmill_sources::{FileLedgers, Options, Outcome, SourceError, Sources};
use tempfile::TempDir;

/// A folder with the given files.
fn folder(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn argument(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn run(arguments: &[String], options: Options) -> Result<(Vec<u32>, Outcome), SourceError> {
    let mut sources = Sources::open(arguments, options)?;
    let frames = sources.by_ref().collect::<Result<Vec<_>, _>>()?;
    assert!(sources.next().is_none());
    Ok((sequences(&frames), sources.outcome()))
}

fn all(folder: &TempDir, options: Options) -> Result<(Vec<u32>, Outcome), SourceError> {
    run(&[argument(folder.path())], options)
}

fn bounds(from: u32, to: u32) -> Options {
    Options { from: Some(from), to: Some(to), ..Options::default() }
}

fn mixed() -> TempDir {
    folder(&[
        ("a", zst(&framed(&[14, 15]))),
        ("b/c/d.json", gzip(&bare(&[11, 12, 13]))),
        ("b/e", lines(&[ledger(18), ledger(19)])),
        ("z", batch(&[16, 17])),
        (".hidden", b"not a ledger".to_vec()),
        (".git/config", b"not a ledger".to_vec()),
    ])
}

#[test]
fn a_folder_is_read_in_the_order_of_ledgers() {
    let folder = mixed();
    let (sequences, outcome) = all(&folder, Options::default()).unwrap();
    assert_eq!(sequences, (11..=19).collect::<Vec<u32>>());
    assert_eq!((outcome.first, outcome.last, outcome.ledgers, outcome.is_complete()), (Some(11), Some(19), 9, true));
    // Files one by one, in any order, and a glob are the same.
    let named = ["z", "b/e", "a", "b/c/d.json"].map(|name| argument(&folder.path().join(name)));
    assert_eq!(run(&named, Options::default()).unwrap().0, sequences);
    assert_eq!(run(&[argument(&folder.path().join("*"))], Options::default()).unwrap().0, sequences);
    let (some, _) = run(&[argument(&folder.path().join("[az]")), argument(&folder.path().join("b"))], Options::default()).unwrap();
    assert_eq!(some, sequences);
}

#[test]
fn progress_ends_at_the_length_of_all_files() {
    let folder = mixed();
    for options in [Options::default(), Options { from: Some(19), ..Options::default() }] {
        let mut sources = Sources::open(&[argument(folder.path())], options).unwrap();
        let progress = sources.progress();
        assert_eq!(progress.read_bytes(), 0);
        assert!(sources.by_ref().all(|frame| frame.is_ok()));
        assert_eq!(Some(progress.read_bytes()), progress.total_bytes());
    }
}

#[test]
fn bounds_cut_both_ends_and_say_what_was_not_there() {
    let folder = mixed();
    let (sequences, outcome) = all(&folder, bounds(13, 16)).unwrap();
    assert_eq!((sequences, outcome.is_complete()), (vec![13, 14, 15, 16], true));
    let (sequences, outcome) = all(&folder, bounds(9, 21)).unwrap();
    assert_eq!(sequences.len(), 9);
    assert_eq!((outcome.missing_at_start, outcome.missing_at_end), (Some((9, 10)), Some((20, 21))));
    let (sequences, outcome) = all(&folder, bounds(30, 40)).unwrap();
    assert_eq!((sequences.len(), outcome.missing_at_start, outcome.is_complete()), (0, Some((30, 40)), false));
    let (sequences, outcome) = all(&folder, bounds(1, 5)).unwrap();
    assert_eq!((sequences.len(), outcome.missing_at_start, outcome.is_complete()), (0, Some((1, 5)), false));
    assert_eq!(all(&folder, bounds(5, 4)).unwrap_err().code(), "bad-range");
}

#[test]
fn reading_stops_behind_the_last_wanted_ledger() {
    let mut reader = Slow::new(&framed(&[11, 12]), usize::MAX);
    reader.end = Some(std::io::ErrorKind::WouldBlock);
    let file = FileLedgers::from_reader("live", reader, Options::default()).unwrap();
    let mut sources = Sources::from_file(file, Options { to: Some(12), ..Options::default() }).unwrap();
    assert_eq!(sequences(&sources.by_ref().map(Result::unwrap).collect::<Vec<_>>()), [11, 12]);
    assert!(sources.outcome().is_complete());
}

#[test]
fn a_gap_is_an_error_that_names_the_ledgers_unless_allowed() {
    let folder = folder(&[("a", framed(&[11, 12])), ("b", framed(&[15, 16, 18]))]);
    let error = all(&folder, Options::default()).unwrap_err();
    assert_eq!(error.code(), "ledger-gap");
    let message = error.to_string();
    assert!(
        message.contains("b, item 1 at byte 0: ledgers 13 to 14 are missing before ledger 15 (") && message.contains("a, item 2 at byte"),
        "{message}"
    );
    let allowed = Options { allow_gaps: true, ..Options::default() };
    assert_eq!(all(&folder, allowed).unwrap().0, [11, 12, 15, 16, 18]);
    // Outside of what is wanted a gap is nobody's business; at its edge it is.
    assert_eq!(all(&folder, bounds(15, 16)).unwrap().0, [15, 16]);
    assert_eq!(all(&folder, bounds(11, 12)).unwrap().0, [11, 12]);
    assert_eq!(all(&folder, bounds(15, 18)).unwrap_err().code(), "ledger-gap");
    let error = all(&folder, bounds(14, 16)).unwrap_err();
    assert!(error.to_string().contains("ledgers 14 to 14 are missing"), "{error}");
    let (sequences, outcome) = all(&folder, bounds(11, 13)).unwrap();
    assert_eq!((sequences, outcome.missing_at_end), (vec![11, 12], Some((13, 13))));
}

#[test]
fn the_same_ledger_twice_is_an_error_that_names_both_places() {
    for (files, first, second) in [
        (vec![("a", framed(&[11, 12])), ("b", framed(&[11]))], "a, item 1", "b, item 1"),
        (vec![("a", framed(&[11, 12, 13])), ("b", bare(&[12, 13]))], "a, item 2", "b, item 1"),
        (vec![("a", framed(&[11, 12, 13, 13]))], "a, item 3", "a, item 4"),
        (vec![("a", framed(&[11, 12, 13, 12]))], "a, item 2", "a, item 4"),
        (vec![("b", framed(&[11, 12])), ("a", framed(&[12, 13]))], "b, item 2", "a, item 1"),
    ] {
        let folder = folder(&files);
        let error = all(&folder, Options::default()).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.code(), "duplicate-ledger", "{message}");
        let (at, before) = message.split_once("was there before").unwrap();
        assert!(at.contains(second) && before.contains(first), "{message}");
    }
    // Also when reading ends at a bound before it gets there.
    let folder = folder(&[("a", framed(&[11, 12, 13, 14])), ("b", framed(&[12]))]);
    assert_eq!(all(&folder, bounds(11, 13)).unwrap_err().code(), "duplicate-ledger");
    assert_eq!(all(&folder, bounds(11, 11)).unwrap().0, [11]);
    let one = argument(&folder.path().join("b"));
    assert_eq!(run(&[one.clone(), one], Options::default()).unwrap_err().code(), "duplicate-ledger");
}

#[test]
fn a_step_back_is_an_error_and_so_are_files_that_interleave() {
    let allowed = Options { allow_gaps: true, ..Options::default() };
    let back = folder(&[("a", framed(&[11, 13, 12]))]);
    assert_eq!(all(&back, allowed).unwrap_err().code(), "wrong-order");
    let interleaved = folder(&[("a", framed(&[11, 13])), ("b", framed(&[12, 14]))]);
    assert_eq!(all(&interleaved, allowed).unwrap_err().code(), "wrong-order");
    // As it stands, a file may have any order.
    let file = FileLedgers::open(&argument(&back.path().join("a")), Options::default()).unwrap();
    assert_eq!(sequences(&file.map(Result::unwrap).collect::<Vec<_>>()), [11, 13, 12]);
}

#[test]
fn after_an_error_there_is_nothing_more() {
    let folder = folder(&[("a", framed(&[11])), ("b", framed(&[13]))]);
    let mut sources = Sources::open(&[argument(folder.path())], Options::default()).unwrap();
    assert!(sources.next().unwrap().is_ok());
    assert_eq!(sources.next().unwrap().unwrap_err().code(), "ledger-gap");
    assert!(sources.next().is_none());
}

#[test]
fn batches_before_the_first_wanted_ledger_are_not_read() {
    // Damaged behind the first ledger: an error when read, so that it shows whether it was.
    let cut = |sequences: &[u32]| {
        let bytes = batch(sequences);
        bytes[..bytes.len() - 4].to_vec()
    };
    let folder = folder(&[("a", cut(&[11, 12])), ("b", cut(&[13, 14])), ("c", batch(&[15, 16]))]);
    assert_eq!(all(&folder, bounds(15, 16)).unwrap().0, [15, 16]);
    assert_eq!(all(&folder, bounds(14, 16)).unwrap_err().code(), "truncated");
}

#[test]
fn what_is_not_a_ledger_in_a_folder_is_an_error_with_its_name() {
    let folder = folder(&[("a", framed(&[11])), ("notes/readme.txt", b"These are my ledgers; (c) me.".to_vec())]);
    let error = all(&folder, Options::default()).unwrap_err();
    assert_eq!(error.code(), "wrong-type");
    assert!(error.to_string().contains("notes/readme.txt: holds no ledgers: it looks like text"), "{error}");
    fs::write(folder.path().join("notes/readme.txt"), b"").unwrap();
    assert_eq!(all(&folder, Options::default()).unwrap_err().code(), "empty-file");
    fs::remove_file(folder.path().join("notes/readme.txt")).unwrap();
    let pipe = folder.path().join("notes/pipe");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    assert_eq!(all(&folder, Options::default()).unwrap_err().code(), "not-a-file");
}

#[test]
fn arguments_that_lead_nowhere_are_named() {
    let folder = folder(&[("a", framed(&[11])), ("empty/.keep", Vec::new())]);
    let at = |name: &str| argument(&folder.path().join(name));
    let code = |arguments: &[String]| run(arguments, Options::default()).unwrap_err().code();
    assert_eq!(code(&[]), "no-source");
    assert_eq!(code(&[at("b")]), "not-found");
    assert_eq!(code(&[at("b*")]), "no-match");
    assert_eq!(code(&[at("empty")]), "no-match");
    assert_eq!(code(&[at("a***b")]), "bad-glob");
    assert_eq!(code(&[at("a/b")]), "unreadable");
    assert_eq!(code(&["-".into(), "-".into()]), "stdin-twice");
    assert_eq!(FileLedgers::open(&at("empty"), Options::default()).map(|_| ()).unwrap_err().code(), "wrong-type");
    // Named by itself a hidden file is read, and a name with glob characters that is there is that file.
    fs::write(at(".b[1]"), framed(&[12])).unwrap();
    assert_eq!(run(&[at("a"), at(".b[1]")], Options::default()).unwrap().0, [11, 12]);
}

#[cfg(unix)]
#[test]
fn links_in_circles_are_walked_once() {
    let folder = folder(&[("b/a", framed(&[11]))]);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("b/up")).unwrap();
    assert_eq!(all(&folder, Options::default()).unwrap().0, [11]);
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
    assert_eq!(all(&folder, Options::default()).unwrap_err().code(), "not-found");
}

#[test]
fn many_files_need_only_one_open_at_a_time() {
    let files: Vec<(String, Vec<u8>)> = (1..=2_000).map(|s| (format!("{}", 9_999 - s), framed(&[s]))).collect();
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    let folder = folder(&files);
    let mut sources = Sources::open(&[argument(folder.path())], Options::default()).unwrap();
    assert_eq!(sources.by_ref().take(1_000).flatten().count(), 1_000);
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    assert!(open < 100, "{open} files are open");
    assert_eq!(sources.flatten().count(), 1_000);
}

#[test]
fn folders_of_the_program_itself_are_passed_over() {
    let folder = folder(&[("a", framed(&[2, 3])), ("own/lock", b"not a ledger".to_vec()), ("own/b", framed(&[4]))]);
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink(at("own"), at("link")).unwrap();
    let own = [at("own"), at("not-there-yet")];
    let read = |names: &[&str]| {
        let arguments: Vec<String> = names.iter().map(|name| argument(&at(name))).collect();
        let sources = Sources::open_beside(&arguments, &own, Options::default()).map_err(|e| e.code())?;
        Ok(sequences(&sources.collect::<Result<Vec<_>, _>>().map_err(|e| e.code())?))
    };
    for names in [&[""][..], &["*"], &["**/*"], &["a", "link", "own"]] {
        assert_eq!(read(names), Ok(vec![2, 3]), "{names:?}");
    }
    // A file is read when it is named.
    assert_eq!(read(&["a", "own/b"]), Ok(vec![2, 3, 4]));
    assert_eq!(read(&["own"]), Err("no-match"));
    std::fs::create_dir(at("empty")).unwrap();
    assert_eq!(read(&["a", "empty"]), Err("no-match"));
}

fn newest_first(options: Options) -> Options {
    Options { newest_first: true, ..options }
}

#[test]
fn newest_first_goes_from_the_last_file_to_the_first() {
    let folder = mixed();
    let (sequences, outcome) = all(&folder, newest_first(Options::default())).unwrap();
    assert_eq!(sequences, [18, 19, 16, 17, 14, 15, 11, 12, 13]);
    assert_eq!((outcome.first, outcome.last, outcome.ledgers, outcome.is_complete()), (Some(11), Some(19), 9, true));
    let (sequences, outcome) = all(&folder, newest_first(bounds(12, 16))).unwrap();
    assert_eq!((sequences, outcome.is_complete()), (vec![16, 14, 15, 12, 13], true));
    let (sequences, outcome) = all(&folder, newest_first(bounds(9, 21))).unwrap();
    assert_eq!((sequences.len(), outcome.missing_at_start, outcome.missing_at_end), (9, Some((9, 10)), Some((20, 21))));
}

#[test]
fn newest_first_finds_what_is_missing_or_twice_between_files() {
    let gap = folder(&[("a", framed(&[5, 6])), ("b", framed(&[8, 9]))]);
    let error = all(&gap, newest_first(Options::default())).unwrap_err();
    assert_eq!(error.code(), "ledger-gap");
    assert!(error.to_string().contains("ledgers 7 to 7 are missing before ledger 8"), "{error}");
    let (sequences, _) = all(&gap, newest_first(Options { allow_gaps: true, ..Options::default() })).unwrap();
    assert_eq!(sequences, [8, 9, 5, 6]);
    // What is missing outside of the range is not asked for.
    assert_eq!(all(&gap, newest_first(bounds(8, 9))).unwrap().0, [8, 9]);
    let twice = folder(&[("a", framed(&[5, 6, 7, 8])), ("b", framed(&[7, 8, 9]))]);
    let error = all(&twice, newest_first(Options::default())).unwrap_err();
    assert_eq!(error.code(), "duplicate-ledger");
    assert!(error.to_string().contains("ledger 7 was there before") && error.to_string().contains("b, item 1"), "{error}");
    let inner = folder(&[("a", framed(&[5, 7])), ("b", framed(&[8]))]);
    assert_eq!(all(&inner, newest_first(Options::default())).unwrap_err().code(), "ledger-gap");
}

#[test]
fn a_stream_cannot_be_read_newest_first() {
    let folder = folder(&[("a", framed(&[5]))]);
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, framed(&[6]))
    });
    let error = run(&[argument(&folder.path().join("a")), argument(&pipe)], newest_first(Options::default())).unwrap_err();
    assert_eq!(error.code(), "stream-backwards");
    writer.join().unwrap().unwrap();
}
