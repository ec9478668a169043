//! The zero-copy decoder against the owned types of stellar-xdr, on every real ledger at hand: both accept, both say the same; and a
//! ledger cut off at any byte is an error for both, never a panic.

use std::path::{Path, PathBuf};

use starmill_ledger::Skim;
use starmill_sources::{FileLedgers, Options};
use starmill_tests::shared;
use starmill_xdr::{Arena, DEPTH_MAX, LedgerCloseMeta, XdrError};
use stellar_xdr::ReadXdr;

/// Every fixture that is known to hold ledgers: the ones that have golden rows.
fn ledger_files(test: &str) -> Vec<PathBuf> {
    let (Some(goldens), Some(fixtures)) = (shared(test, "goldens"), shared(test, "fixtures")) else { return Vec::new() };
    let mut files = Vec::new();
    list(&goldens, &mut |golden| {
        let relative = golden.strip_prefix(&goldens).unwrap().to_str().unwrap();
        if let Some(fixture) = relative.strip_suffix(".jsonl.zst") {
            files.push(fixtures.join(fixture));
        }
    });
    files.sort();
    files
}

fn list(folder: &Path, see: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list(&path, see) } else { see(&path) }
    }
}

fn owned(frame: &[u8]) -> Result<stellar_xdr::LedgerCloseMeta, stellar_xdr::Error> {
    stellar_xdr::LedgerCloseMeta::from_xdr(frame, stellar_xdr::Limits { depth: DEPTH_MAX, len: frame.len() })
}

#[test]
fn every_real_ledger_decodes_to_what_stellar_xdr_says() {
    let files = ledger_files("every_real_ledger_decodes_to_what_stellar_xdr_says");
    let mut ledgers = 0;
    for file in &files {
        let mut arena = Arena::default();
        for frame in FileLedgers::open(file.to_str().unwrap(), Options::default()).unwrap() {
            let frame = frame.unwrap();
            arena.rewind();
            let ours: LedgerCloseMeta<'_> = starmill_xdr::decode(&frame.bytes, &arena).unwrap_or_else(|e| panic!("{}: {e}", frame.origin));
            let theirs = owned(&frame.bytes).unwrap_or_else(|e| panic!("{}: {e}", frame.origin));
            assert!(ours.to_owned_xdr().unwrap() == theirs, "{} decodes differently", frame.origin);
            let (head, skim) = Skim::of(&frame.bytes).unwrap();
            assert_eq!(head, frame.head, "{}", frame.origin);
            assert_eq!(skim.transactions.len(), transactions(&theirs), "{}", frame.origin);
            ledgers += 1;
        }
    }
    println!("{ledgers} ledgers of {} files decoded alike", files.len());
    assert!(files.is_empty() || ledgers >= 13_000, "only {ledgers} ledgers were compared");
}

fn transactions(meta: &stellar_xdr::LedgerCloseMeta) -> usize {
    match meta {
        stellar_xdr::LedgerCloseMeta::V0(v) => v.tx_processing.len(),
        stellar_xdr::LedgerCloseMeta::V1(v) => v.tx_processing.len(),
        stellar_xdr::LedgerCloseMeta::V2(v) => v.tx_processing.len(),
    }
}

#[test]
fn a_ledger_cut_off_at_any_byte_is_an_error() {
    let test = "a_ledger_cut_off_at_any_byte_is_an_error";
    let Some(fixtures) = shared(test, "fixtures") else { return };
    // One of each close meta and of metas V1 to V4; each small enough to be cut at every byte.
    let five = [
        "stellar-go/lighthorizon-ledgers/1410048",
        "stellar-go/testbucket/FFFFFC1A--997.xdr.zst",
        "stellar-core/ledger-close-meta/ledger-close-meta-v2-protocol-29.xdr",
        "wallet-backend/lcm-648cd426.xdr",
        "stellar-go/ttp-example/xlm-mint-bug-ledger-9710976.xdr.zst",
    ];
    for name in five {
        let path = fixtures.join(name);
        let frame = FileLedgers::open(path.to_str().unwrap(), Options::default()).unwrap().next().unwrap().unwrap();
        let mut arena = Arena::default();
        println!("{name}: cut at each of {} bytes", frame.bytes.len());
        for cut in 0..frame.bytes.len() {
            let short = &frame.bytes[..cut];
            let error = starmill_xdr::check::<LedgerCloseMeta<'_>>(short).expect_err("a cut ledger was accepted");
            assert!(matches!(error, XdrError::Truncated { .. }), "{name} cut at {cut}: {error}");
            assert!(error.offset() <= cut);
            assert!(Skim::of(short).is_err(), "{name} cut at {cut} was skimmed");
            // Decoding without stepping over the value first must be as safe.
            arena.rewind();
            assert!(starmill_xdr::decode_checked::<LedgerCloseMeta<'_>>(short, &arena).is_err(), "{name} cut at {cut} was decoded");
        }
    }
}
