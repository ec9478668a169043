//! The files of a folder of JSON lines: their names, how they come to be whole, what they cover.
//!
//! A batch is one file per table that it has rows of, `transactions-0063092982-0063092991.jsonl`, and one of its ledgers, `ledgers-…`. Each is written and flushed under a
//! name that ends in `.unfinished`; then the tables are renamed, and the ledgers last. Only a batch whose ledgers file is there counts; the rest of an
//! interrupted batch is removed at the next start. A batch with holes has `-gaps` in its names, and its ledgers are read from its ledgers file.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::JsonlError;
use starmill_ledger::coverage::{Coverage, LedgerRange};

/// Files of a batch, in the order in which they are renamed.
pub(super) const KINDS: [&str; 19] = [
    "transactions",
    "transactions_accounts",
    "operations",
    "operations_accounts",
    "state_changes",
    "contract_events",
    "native_balances",
    "trustline_assets",
    "trustline_balances",
    "sac_balances",
    "liquidity_pools",
    "liquidity_pool_balances",
    "contract_tokens",
    "protocol_wasms",
    "protocol_contracts",
    "sep41_all.state_changes",
    "sep41_all.balance_deltas",
    "sep41_all.allowances",
    "ledgers",
];
const UNFINISHED: &str = ".unfinished";

/// The ledgers of a batch as file names say them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchName {
    pub(super) range: LedgerRange,
    pub(super) gaps: bool,
}

impl BatchName {
    pub(super) fn file(self, kind: &str) -> String {
        let LedgerRange { lo, hi } = self.range;
        format!("{kind}-{lo:010}-{hi:010}{}.jsonl", if self.gaps { "-gaps" } else { "" })
    }

    /// The kind and batch of a name that [`BatchName::file`] made.
    fn parse(name: &str) -> Option<(&'static str, Self)> {
        let (kind, rest) = name.split_once('-')?;
        let kind = KINDS.into_iter().find(|known| *known == kind)?;
        let rest = rest.strip_suffix(".jsonl")?;
        let (numbers, gaps) = rest.strip_suffix("-gaps").map_or((rest, false), |numbers| (numbers, true));
        let (lo, hi) = numbers.split_once('-')?;
        let batch = Self { range: LedgerRange { lo: lo.parse().ok()?, hi: hi.parse().ok()? }, gaps };
        (batch.range.lo <= batch.range.hi && batch.file(kind) == name).then_some((kind, batch))
    }
}

/// Removes what an interrupted commit has left and says what is covered. Files that are not ours are left alone.
pub(super) fn recover(folder: &Path) -> Result<Coverage, JsonlError> {
    let io = |source| JsonlError::io("reading", folder, source);
    let mut coverage = Coverage::new();
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some(whole) = name.strip_suffix(UNFINISHED) {
            if BatchName::parse(whole).is_some() {
                remove(&folder.join(name))?;
            }
        } else if let Some((kind, batch)) = BatchName::parse(name) {
            match (kind, batch.gaps) {
                ("ledgers", false) => coverage.insert(batch.range),
                ("ledgers", true) => coverage.insert_all(read_ledgers(&folder.join(name))?),
                _ => tables.push((kind, batch)),
            }
        }
    }
    for (kind, batch) in tables {
        if !folder.join(batch.file("ledgers")).exists() {
            remove(&folder.join(batch.file(kind)))?;
        }
    }
    Ok(coverage)
}

/// Writes a batch's files, the contents in the order of [`KINDS`].
pub(super) fn write(folder: &Path, batch: BatchName, contents: &[Vec<u8>; KINDS.len()]) -> Result<(), JsonlError> {
    let path = |kind: &str| folder.join(batch.file(kind));
    let unfinished = |kind: &str| folder.join(batch.file(kind) + UNFINISHED);
    let kept = || KINDS.into_iter().zip(contents).filter(|(kind, content)| *kind == "ledgers" || !content.is_empty());
    for (kind, content) in kept() {
        let path = unfinished(kind);
        let written = File::create(&path).and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
        written.map_err(|source| JsonlError::io("writing", &path, source))?;
    }
    for (kind, _) in kept() {
        if kind == "ledgers" {
            // What was renamed so far is on disk before the file that vouches for it.
            sync(folder)?;
        }
        std::fs::rename(unfinished(kind), path(kind)).map_err(|source| JsonlError::io("renaming", &unfinished(kind), source))?;
    }
    sync(folder)
}

/// Removes whatever a failed [`write`] has left, as far as possible: the next start removes the rest.
pub(super) fn discard(folder: &Path, batch: BatchName) {
    // The ledgers first: without them the tables count for nothing.
    for kind in KINDS.into_iter().rev() {
        let _ = std::fs::remove_file(folder.join(batch.file(kind)));
        let _ = std::fs::remove_file(folder.join(batch.file(kind) + UNFINISHED));
    }
}

fn sync(folder: &Path) -> Result<(), JsonlError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(|source| JsonlError::io("flushing", folder, source))
}

fn remove(path: &PathBuf) -> Result<(), JsonlError> {
    std::fs::remove_file(path).map_err(|source| JsonlError::io("removing", path, source))
}

/// The ledgers that a ledgers file lists.
fn read_ledgers(path: &Path) -> Result<Vec<u32>, JsonlError> {
    let text = std::fs::read_to_string(path).map_err(|source| JsonlError::io("reading", path, source))?;
    let sequence = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok()?["ledger"].as_u64()?.try_into().ok();
    text.lines().map(|line| sequence(line).ok_or_else(|| JsonlError::NotOurs { path: path.to_owned() })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_range() {
        let batch = BatchName { range: LedgerRange { lo: 3, hi: u32::MAX }, gaps: false };
        assert_eq!(batch.file("operations"), "operations-0000000003-4294967295.jsonl");
        for batch in [batch, BatchName { gaps: true, ..batch }] {
            for kind in KINDS {
                assert_eq!(BatchName::parse(&batch.file(kind)), Some((kind, batch)));
            }
        }
        for name in
            ["operations-3-4.jsonl", "ledgers-0000000004-0000000003.jsonl", "other-0000000003-0000000003.jsonl", "ledgers.jsonl", ""]
        {
            assert_eq!(BatchName::parse(name), None, "{name}");
        }
    }
}
