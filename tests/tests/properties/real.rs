//! The properties on real ledgers: of the public network, of networks made to carry much, and of stellar-core's own tests, which show every
//! operation in every protocol. Ledgers that others rebuilt out of single transactions are left out: they do not say what fees changed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use starmill_sources::{FileLedgers, Options};
use starmill_tests::shared;

use super::check::{check, check_rows};
use super::seen::Seen;

const PUBLIC: &str = "Public Global Stellar Network ; September 2015";
const TEST: &str = "Test SDF Network ; September 2015";
const LOAD: &str = "load test network";
const STANDALONE: &str = "Standalone Network ; February 2017";
const CORE: &str = "(V) (;,,;) (V)";

/// Checks at most `most` ledgers of each file; returns how many ledgers there were.
fn checked(files: &[PathBuf], passphrase: &str, most: usize, check: fn(&str, &[u8]) -> Seen) -> usize {
    let mut ledgers = 0;
    for file in files {
        for frame in FileLedgers::open(file.to_str().unwrap(), Options::default()).unwrap().take(most) {
            let frame = frame.unwrap();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(passphrase, &frame.bytes))) {
                println!("ledger {} of {}", frame.head.sequence, frame.origin);
                resume_unwind(panic);
            }
            ledgers += 1;
        }
    }
    ledgers
}

/// Files in a folder and below it whose names begin so, sorted.
fn files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut files(&path, prefix));
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)) {
            all.push(path);
        }
    }
    all.sort();
    all
}

#[test]
fn ledgers_of_the_public_network() {
    let Some(fixtures) = shared("ledgers_of_the_public_network", "fixtures") else { return };
    let ledgers = checked(&files(&fixtures.join("wallet-backend"), "ledger-"), PUBLIC, 1, check);
    assert!(ledgers >= 10, "{ledgers}");
}

#[test]
fn ledgers_of_load_tests() {
    let Some(fixtures) = shared("ledgers_of_load_tests", "fixtures") else { return };
    let horizon = fixtures.join("stellar-horizon/load-test");
    let go = fixtures.join("stellar-go/load-test");
    let mut ledgers = checked(&files(&horizon, "load-test-ledgers-v25"), LOAD, 2, check);
    ledgers += checked(&files(&horizon, "load-test-ledgers-v26"), LOAD, 2, check);
    ledgers += checked(&files(&go, "load-test-ledgers-008a8d69"), STANDALONE, 2, check);
    assert!(ledgers >= 8, "{ledgers}");
}

#[test]
fn ledgers_of_the_protocols_own_tests_and_of_faults_long_mended() {
    let test = "ledgers_of_the_protocols_own_tests_and_of_faults_long_mended";
    let (Some(goldens), Some(fixtures)) = (shared(test, "goldens"), shared(test, "fixtures")) else { return };
    let mut ledgers = 0;
    let folders = [
        ("stellar-core/test-lcm-current", "", CORE),
        ("stellar-core/test-lcm-next", "", CORE),
        ("stellar-core/ledger-close-meta", "", CORE),
        ("stellar-go/scenarios-lcm", "", TEST),
        ("stellar-horizon/scenarios-lcm", "", TEST),
        ("stellar-go/ttp-example", "xlm-mint-bug", PUBLIC),
    ];
    for (folder, prefix, passphrase) in folders {
        // Files that hold ledgers have golden rows.
        let files = files(&goldens.join(folder), prefix).into_iter();
        let files = files.filter_map(|path| Some(fixtures.join(path.strip_prefix(&goldens).ok()?.to_str()?.strip_suffix(".jsonl.zst")?)));
        ledgers += checked(&files.collect::<Vec<_>>(), passphrase, usize::MAX, check_rows);
    }
    assert!(ledgers >= 5_000, "{ledgers}");
}
