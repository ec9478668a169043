//! Real files: each one that has a golden gives exactly the golden's ledgers in the order of the file; every other file gives a named error.

use flate2 as _;
use glob as _;
use notify as _;
use starmill_xdr as _;
use stellar_xdr as _;
use tempfile as _;
use thiserror as _;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use base64 as _;
use starmill_ledger as _;
use starmill_sources::{FileLedgers, Options};

/// Folder of real ledgers, if it is there.
fn shared(what: &str) -> Option<PathBuf> {
    let root =
        std::env::var_os("STARMILL_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let path = root.join(what);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
    }
    path.exists().then_some(path)
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// Sequences that a golden lists, in its order.
fn listed(golden: &Path) -> Vec<u64> {
    let lines = BufReader::new(zstd::Decoder::new(fs::File::open(golden).unwrap()).unwrap()).lines();
    let values = lines.map(|line| line.unwrap()).filter(|line| line.starts_with("{\"t\":\"ledger\","));
    values.map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap()["ledger"].as_u64().unwrap()).collect()
}

#[test]
fn every_golden_lists_the_ledgers_that_its_fixture_gives() {
    let (Some(goldens), Some(fixtures)) = (shared("goldens"), shared("fixtures")) else { return };
    let mut paths = Vec::new();
    files(&goldens, &mut paths);
    paths.sort();
    let mut ledgers = 0;
    for golden in &paths {
        let fixture = fixtures.join(golden.strip_prefix(&goldens).unwrap().to_str().unwrap().strip_suffix(".jsonl.zst").unwrap());
        let opened = FileLedgers::open(fixture.to_str().unwrap(), Options::default()).unwrap_or_else(|e| panic!("{}: {e}", e.code()));
        let frames: Vec<_> = opened.map(|frame| frame.unwrap_or_else(|e| panic!("{}: {e}", e.code()))).collect();
        let expected = listed(golden);
        let given: Vec<u64> = frames.iter().map(|frame| u64::from(frame.head.sequence)).collect();
        assert_eq!(given, expected, "{}", fixture.display());
        for frame in &frames {
            starmill_xdr::check::<starmill_xdr::LedgerCloseMeta>(&frame.bytes).unwrap_or_else(|e| panic!("{}: {e}", frame.origin));
        }
        ledgers += frames.len();
    }
    println!("{} files, {ledgers} ledgers", paths.len());
    assert!(paths.len() > 900);
}

/// What must be said of a file that the list of fixtures calls `kind`.
fn expected(kind: &str) -> &'static [&'static str] {
    match kind {
        "LedgerCloseMeta (core JSON)" => &["wrong-type"],
        // Some of these have no line in them.
        "NDJSON golden" => &["wrong-type", "empty-file"],
        _ if kind.contains("empty") => &["empty-file"],
        _ if kind.contains("LedgerCloseMeta") || kind.starts_with("LCM") => &["ledgers"],
        _ => &["wrong-type"],
    }
}

#[test]
fn every_fixture_gives_ledgers_or_says_what_it_is() {
    let Some(fixtures) = shared("fixtures") else { return };
    for line in fs::read_to_string(fixtures.join("MANIFEST.tsv")).unwrap().lines().skip(1) {
        let mut columns = line.split('\t');
        let (Some(file), Some(kind)) = (columns.next(), columns.next()) else { continue };
        let path = fixtures.join(file);
        if !path.is_file() {
            continue;
        }
        let read = FileLedgers::open(path.to_str().unwrap(), Options::default()).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let said = match &read {
            Ok(_) => "ledgers",
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains(file) && !message.contains('\n'), "{message}");
                for name in [
                    "BucketEntry",
                    "LedgerHeaderHistoryEntry",
                    "SCPHistoryEntry",
                    "TransactionHistoryEntry",
                    "TransactionMeta",
                    "LedgerEntryChanges",
                ] {
                    assert!(!kind.starts_with(name) || message.contains(name), "{kind}: {message}");
                }
                error.code()
            }
        };
        assert!(expected(kind).contains(&said), "{file} ({kind}): {said}");
    }
}
