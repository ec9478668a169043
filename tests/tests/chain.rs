//! Chain checks on every real ledger at hand, and on made ones of which something is no longer true.

use std::collections::BTreeMap;
use std::path::Path;

use starmill_fixtures::{Chain, ChainConfig, CloseMetaMix, to_xdr};
use starmill_ledger::{ChainCheck, Skim, Verify};
use starmill_sources::{FileLedgers, Options};
use starmill_tests::shared;

fn list(folder: &Path, see: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list(&path, see) } else { see(&path) }
    }
}

#[test]
fn real_ledgers() {
    let test = "real_ledgers";
    let (Some(goldens), Some(fixtures)) = (shared(test, "goldens"), shared(test, "fixtures")) else { return };
    let mut files = Vec::new();
    list(&goldens, &mut |golden| {
        let relative = golden.strip_prefix(&goldens).unwrap().to_str().unwrap();
        files.extend(relative.strip_suffix(".jsonl.zst").map(str::to_owned));
    });
    files.sort();
    let mut found: BTreeMap<(Verify, &str, &str), u32> = BTreeMap::new();
    for file in &files {
        let made = MADE.iter().find(|folder| file.starts_with(**folder)).copied().unwrap_or("all others");
        for level in [Verify::Chain, Verify::Full] {
            let mut chain = ChainCheck::default();
            for frame in FileLedgers::open(fixtures.join(file).to_str().unwrap(), Options::default()).unwrap() {
                let frame = frame.unwrap();
                let (head, skim) = Skim::of(&frame.bytes).unwrap();
                let code = chain.check(&frame.bytes, &head, &skim, level).map_or_else(|error| error.code(), |()| "true");
                *found.entry((level, made, code)).or_default() += 1;
            }
        }
    }
    let found: Vec<_> = found.into_iter().map(|((level, made, code), ledgers)| (level, made, code, ledgers)).collect();
    assert_eq!(
        found,
        [
            (Verify::Chain, "all others", "true", 13_418),
            (Verify::Chain, "stellar-go/load-test/", "true", 8),
            (Verify::Chain, "stellar-horizon/load-test/", "true", 93),
            (Verify::Chain, "tx-meta-effects-parser/lcm/", "header-hash-mismatch", 44),
            (Verify::Full, "all others", "true", 13_418),
            (Verify::Full, "stellar-go/load-test/", "transaction-set-hash-mismatch", 6),
            (Verify::Full, "stellar-go/load-test/", "true", 2),
            (Verify::Full, "stellar-horizon/load-test/", "transaction-set-hash-mismatch", 2),
            (Verify::Full, "stellar-horizon/load-test/", "true", 91),
            (Verify::Full, "tx-meta-effects-parser/lcm/", "header-hash-mismatch", 44),
        ]
    );
}

/// Where ledgers are that somebody put together without their hashes: load generators leave out those of some transaction sets, and the
/// one-transaction ledgers of an effects parser have no header hash at all.
const MADE: [&str; 3] = ["stellar-go/load-test/", "stellar-horizon/load-test/", "tx-meta-effects-parser/lcm/"];

fn frames() -> Vec<Vec<u8>> {
    let config = ChainConfig { ledgers: 6, transactions_per_ledger: 12, close_meta: CloseMetaMix::Alternating, ..ChainConfig::default() };
    Chain::new(config).unwrap().map(|ledger| to_xdr(&ledger.unwrap()).unwrap()).collect()
}

/// The code of the first fault, and the ledger it is told of.
fn check<'f>(frames: impl IntoIterator<Item = &'f Vec<u8>>, level: Verify) -> Result<(), (&'static str, u32, String)> {
    let mut chain = ChainCheck::default();
    for frame in frames {
        let (head, skim) = Skim::of(frame).unwrap();
        chain.check(frame, &head, &skim, level).map_err(|error| (error.code(), error.ledger, error.to_string()))?;
    }
    Ok(())
}

#[test]
fn made_ledgers_are_true() {
    assert_eq!(check(&frames(), Verify::Full), Ok(()));
}

#[test]
fn a_changed_byte_is_found_where_it_is() {
    let frames = frames();
    let (_, skim) = Skim::of(&frames[3]).unwrap();
    let place_of = |span: &[u8]| span.as_ptr() as usize - frames[3].as_ptr() as usize;
    let envelope = skim.envelopes.last().unwrap().envelope.of(&frames[3]);
    let result = skim.transactions.last().unwrap().result.of(&frames[3]);
    let header = skim.header.header.of(&frames[3]);
    // Last byte of the signature, last byte of the fee, last byte of the set of transactions' size: the frame stays well formed.
    for (byte, code, chain_sees_it) in [
        (place_of(envelope) + envelope.len() - 1, "transaction-set-hash-mismatch", false),
        (place_of(result) + 32 + 7, "result-hash-mismatch", false),
        (place_of(header) + 36 + 5, "header-hash-mismatch", true),
    ] {
        let mut broken = frames.clone();
        broken[3][byte] ^= 1;
        let (found, ledger, text) = check(&broken, Verify::Full).unwrap_err();
        assert_eq!((found, ledger), (code, 5), "{text}");
        assert!(text.matches(|c: char| c.is_ascii_hexdigit()).count() >= 128, "names both hashes: {text}");
        assert_eq!(check(&broken, Verify::Chain).is_err(), chain_sees_it, "{code}");
        assert_eq!(check(&broken, Verify::None), Ok(()));
    }
}

#[test]
fn ledgers_of_another_chain_do_not_follow() {
    let mut frames = frames();
    let other = ChainConfig { ledgers: 6, transactions_per_ledger: 12, seed: 99, ..ChainConfig::default() };
    let other: Vec<Vec<u8>> = Chain::new(other).unwrap().map(|ledger| to_xdr(&ledger.unwrap()).unwrap()).collect();
    frames[4].clone_from(&other[4]);
    let (code, ledger, text) = check(&frames, Verify::Chain).unwrap_err();
    assert_eq!((code, ledger), ("chain-broken", 6), "{text}");
    // A gap is not a break: whether ledgers may be missing is the source's affair.
    frames.remove(4);
    assert_eq!(check(&frames, Verify::Full), Ok(()));
}
