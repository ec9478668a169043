//! Following: what appears is read in the order of ledgers, at once, each once, whatever way it comes into being.

mod common;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::{framed, gzip, zst};
use glob as _;
use notify as _;
use serde_json as _;
use starmill_ledger as _;
use starmill_sources::{Options, Sources};
use starmill_xdr as _;
use stellar_xdr as _;
use tempfile::tempdir;
use thiserror as _;

/// Longest that a ledger may take from its file to its reader here; other tests run beside.
const SOON: Duration = Duration::from_secs(5);

/// What comes out, as it comes out: sequences, then how it ended.
fn follow(argument: impl AsRef<Path>, options: Options) -> Receiver<Result<u32, String>> {
    let (sender, out) = channel();
    let argument = argument.as_ref().to_str().unwrap().to_owned();
    std::thread::spawn(move || {
        let options = Options { follow: true, ..options };
        let sources = match Sources::open(&[argument], options) {
            Ok(sources) => sources,
            Err(error) => return drop(sender.send(Err(error.code().to_owned()))),
        };
        for frame in sources {
            let _ = sender.send(frame.map(|frame| frame.head.sequence).map_err(|error| error.code().to_owned()));
        }
    });
    out
}

#[track_caller]
fn comes(out: &Receiver<Result<u32, String>>, sequences: impl IntoIterator<Item = u32>) {
    for sequence in sequences {
        assert_eq!(out.recv_timeout(SOON), Ok(Ok(sequence)));
    }
}

#[track_caller]
fn nothing_comes(out: &Receiver<Result<u32, String>>) {
    std::thread::sleep(Duration::from_millis(300));
    assert!(out.try_recv().is_err());
}

/// Puts a file there as exporters do: beside its place, then into it.
fn put(path: &Path, bytes: &[u8]) {
    let part = path.with_file_name(format!(".{}", path.file_name().unwrap().to_str().unwrap()));
    std::fs::write(&part, bytes).unwrap();
    std::fs::rename(part, path).unwrap();
}

#[test]
fn files_that_appear_in_a_folder_are_read() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    put(&at("a"), &framed(&[5, 6]));
    let out = follow(folder.path(), Options::default());
    comes(&out, [5, 6]);
    // Names need not follow the ledgers.
    put(&at("0"), &zst(&framed(&[7])));
    comes(&out, [7]);
    std::fs::create_dir(at("deeper")).unwrap();
    put(&at("deeper/x"), &gzip(&framed(&[8, 9])));
    comes(&out, [8, 9]);
    put(&at("deeper/.hidden"), &framed(&[1]));
    nothing_comes(&out);
}

#[test]
fn an_empty_folder_is_one_that_waits() {
    let folder = tempdir().unwrap();
    let out = follow(folder.path(), Options::default());
    nothing_comes(&out);
    put(&folder.path().join("a"), &framed(&[2]));
    comes(&out, [2]);
}

#[test]
fn a_later_ledger_waits_for_the_one_before() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    put(&at("a"), &framed(&[5]));
    let out = follow(folder.path(), Options::default());
    comes(&out, [5]);
    put(&at("c"), &framed(&[7, 8]));
    nothing_comes(&out);
    put(&at("b"), &framed(&[6]));
    comes(&out, [6, 7, 8]);
}

#[test]
fn the_first_wanted_ledger_is_waited_for() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    put(&at("b"), &framed(&[7]));
    let out = follow(folder.path(), Options { from: Some(6), ..Options::default() });
    nothing_comes(&out);
    put(&at("a"), &framed(&[5, 6]));
    comes(&out, [6, 7]);
}

#[test]
fn a_file_in_a_folder_may_be_written_bit_by_bit() {
    let folder = tempdir().unwrap();
    let out = follow(folder.path(), Options::default());
    for (name, bytes, sequences) in
        [("a", framed(&[5, 6, 7]), 5..8), ("b", zst(&framed(&[8, 9])), 8..10), ("c", gzip(&framed(&[10, 11])), 10..12)]
    {
        let mut file = File::create(folder.path().join(name)).unwrap();
        for part in bytes.chunks(bytes.len() / 7 + 1) {
            file.write_all(part).unwrap();
            std::thread::sleep(Duration::from_millis(30));
        }
        comes(&out, sequences);
    }
}

#[test]
fn a_file_that_was_read_may_grow() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a");
    put(&path, &framed(&[5]));
    let out = follow(folder.path(), Options::default());
    comes(&out, [5]);
    for sequence in 6..10 {
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&framed(&[sequence])).unwrap();
        comes(&out, [sequence]);
    }
}

#[test]
fn a_named_file_is_read_as_it_grows_and_each_ledger_once_it_is_whole() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("chain");
    File::create(&path).unwrap();
    let out = follow(&path, Options::default());
    nothing_comes(&out);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    for sequence in 5..60 {
        let bytes = framed(&[sequence]);
        let (front, back) = bytes.split_at(bytes.len() / 2);
        file.write_all(front).unwrap();
        if sequence % 20 == 0 {
            nothing_comes(&out);
        }
        file.write_all(back).unwrap();
        comes(&out, [sequence]);
    }
}

#[test]
fn the_next_writer_of_a_pipe_may_repeat_what_was_read() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let out = follow(&path, Options::default());
    let write = |sequences: &[u32]| OpenOptions::new().write(true).open(&path).unwrap().write_all(&framed(sequences)).unwrap();
    write(&[5, 6, 7]);
    comes(&out, [5, 6, 7]);
    write(&[6, 7, 8]);
    comes(&out, [8]);
    write(&[10]);
    assert_eq!(out.recv_timeout(SOON), Ok(Err("ledger-gap".to_owned())));
}

#[test]
fn the_last_wanted_ledger_is_the_end() {
    let folder = tempdir().unwrap();
    put(&folder.path().join("a"), &framed(&[5]));
    let out = follow(folder.path(), Options { to: Some(6), ..Options::default() });
    comes(&out, [5]);
    put(&folder.path().join("b"), &framed(&[6, 7]));
    comes(&out, [6]);
    assert!(out.recv_timeout(SOON).is_err(), "it goes on");
}

#[test]
fn what_is_no_ledger_is_an_error_once_it_has_stayed_so() {
    let folder = tempdir().unwrap();
    put(&folder.path().join("a"), &framed(&[5]));
    let out = follow(folder.path(), Options::default());
    comes(&out, [5]);
    let start = Instant::now();
    put(&folder.path().join("b"), b"<!doctype html><title>404</title> not found");
    assert_eq!(out.recv_timeout(4 * SOON), Ok(Err("wrong-type".to_owned())));
    assert!(start.elapsed() > Duration::from_secs(9), "given up after {:?}", start.elapsed());
}

#[test]
fn a_thousand_files_are_seen_as_they_come() {
    let folder = tempdir().unwrap();
    let out = follow(folder.path(), Options::default());
    let mut worst = Duration::ZERO;
    for sequence in 5..1_005_u32 {
        let begun = Instant::now();
        put(&folder.path().join(format!("{sequence:010}")), &framed(&[sequence]));
        comes(&out, [sequence]);
        worst = worst.max(begun.elapsed());
    }
    println!("longest from file to ledger: {worst:?}");
    assert!(worst < Duration::from_secs(1), "{worst:?}");
}
