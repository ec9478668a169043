//! `JsonlSink`: batches as files of JSON lines in a folder.
//!
//! Promises: a commit is flushed to disk before it returns, and a batch is there as a whole or not at all (see [`super::files`]); what is there is not
//! processed again; one writer per folder; a folder holds one network.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use starmill_ledger::rows::LedgerRow;
use starmill_ledger::sink::{Batch, Sink};
use thiserror::Error;

use super::JsonRows;
use super::files::{self, BatchName, KINDS};
use starmill_ledger::coverage::{Coverage, LedgerRange};

/// Says which network a folder holds.
const NETWORK_FILE: &str = "network.txt";
/// Held by the writer.
const LOCK_FILE: &str = "starmill.lock";

/// Why a folder could not be opened or a batch not be kept.
#[derive(Debug, Error)]
pub enum JsonlError {
    /// Another process writes.
    #[error("another starmill writes to {folder}; wait for it, or choose another folder", folder = folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds another network.
    #[error("{folder} holds the network {stored:?}, not {wanted:?}; choose another folder", folder = folder.display())]
    NetworkMismatch {
        /// The folder.
        folder: PathBuf,
        /// Passphrase found.
        stored: String,
        /// Passphrase asked for.
        wanted: String,
    },
    /// A file with one of our names that we did not write.
    #[error("{path} is not a file that starmill wrote; move it away", path = path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// Reading or writing files.
    #[error("{what} {path}: {source}; make room or mend the folder, then start again: what is whole is not written twice", path = path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl JsonlError {
    /// Stable name of the fault, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "writer-busy",
            Self::NetworkMismatch { .. } => "network-mismatch",
            Self::NotOurs { .. } => "not-ours",
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => "disk-full",
            Self::Io { .. } => "io",
        }
    }

    pub(super) fn io(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), source }
    }
}

/// The one writer of a folder.
#[derive(Debug)]
pub struct JsonlSink {
    folder: PathBuf,
    coverage: Coverage,
    /// Contents of the batch at hand, in the order of [`KINDS`]; kept for their buffers.
    contents: [Vec<u8>; KINDS.len()],
    /// Held as long as we write.
    _lock: File,
}

impl JsonlSink {
    /// Opens or makes the folder, removes what an interrupted commit has left, and learns what is covered.
    ///
    /// # Errors
    /// `writer-busy`, `network-mismatch`, `io`.
    pub fn open(folder: &Path, network: &str) -> Result<Self, JsonlError> {
        std::fs::create_dir_all(folder).map_err(|source| JsonlError::io("making", folder, source))?;
        let lock = lock(folder)?;
        check_network(folder, network)?;
        let coverage = files::recover(folder)?;
        Ok(Self { folder: folder.to_owned(), coverage, contents: Default::default(), _lock: lock })
    }

    /// Divides lines by table.
    fn divide(&mut self, lines: &[u8]) {
        self.contents.iter_mut().for_each(Vec::clear);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let table = line.strip_prefix(b"{\"t\":\"").unwrap_or_default();
            let table = &table[..table.iter().position(|byte| *byte == b'"').unwrap_or(0)];
            // Ledger lines are what is left, the last kind.
            let kind = KINDS.iter().position(|kind| kind.as_bytes() == table).unwrap_or(KINDS.len() - 1);
            self.contents[kind].extend_from_slice(line);
        }
    }
}

impl Sink for JsonlSink {
    type Rows = JsonRows;
    type Error = JsonlError;

    fn coverage(&self) -> Coverage {
        self.coverage.clone()
    }

    fn commit(&mut self, batch: &mut Batch<JsonRows>) -> Result<(), JsonlError> {
        let Some(name) = batch_name(&batch.ledgers) else { return Ok(()) };
        self.divide(batch.rows.lines());
        if let Err(error) = files::write(&self.folder, name, &self.contents) {
            files::discard(&self.folder, name);
            return Err(error);
        }
        self.coverage.insert_all(batch.ledgers.iter().map(|ledger| ledger.sequence));
        Ok(())
    }
}

/// The name of a batch; `None` for one without ledgers.
fn batch_name(ledgers: &[LedgerRow]) -> Option<BatchName> {
    let lo = ledgers.iter().map(|ledger| ledger.sequence).min()?;
    let hi = ledgers.iter().map(|ledger| ledger.sequence).max()?;
    let gaps = u64::from(hi - lo) + 1 != ledgers.len() as u64;
    Some(BatchName { range: LedgerRange { lo, hi }, gaps })
}

fn lock(folder: &Path) -> Result<File, JsonlError> {
    let path = folder.join(LOCK_FILE);
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|source| JsonlError::io("opening", &path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(JsonlError::Busy { folder: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(JsonlError::io("locking", &path, source)),
    }
}

fn check_network(folder: &Path, wanted: &str) -> Result<(), JsonlError> {
    let path = folder.join(NETWORK_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim_end_matches('\n') == wanted => Ok(()),
        Ok(text) => {
            let stored = text.trim_end_matches('\n').to_owned();
            Err(JsonlError::NetworkMismatch { folder: folder.to_owned(), stored, wanted: wanted.to_owned() })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let unfinished = folder.join("network.txt.unfinished");
            let written = std::fs::write(&unfinished, format!("{wanted}\n")).and_then(|()| std::fs::rename(&unfinished, &path));
            written.map_err(|source| JsonlError::io("writing", &path, source))
        }
        Err(source) => Err(JsonlError::io("reading", &path, source)),
    }
}

#[cfg(test)]
mod tests {
    use starmill_ledger::rows::{Category, Place, ProtocolWasmRow, Reason, Rows as _, StateChangeRow, TransactionAccountRow};

    use super::*;

    const NETWORK: &str = "Test SDF Network ; September 2015";

    fn batch(sequences: impl IntoIterator<Item = u32>) -> Batch<JsonRows> {
        let mut batch = Batch::<JsonRows>::new();
        for sequence in sequences {
            let row = LedgerRow { sequence, protocol: 22, closed_at: 0, close_meta_version: 1, base_reserve: 1, transactions: 1 };
            batch.ledgers.push(row);
            batch.rows.ledger(&row);
            let account_id = starmill_ledger::AddressBytes::account(&[1; 32]);
            batch.rows.transaction_account(&TransactionAccountRow { tx_to_id: i64::from(sequence) << 32, account_id, closed_at: 0 });
        }
        batch
    }

    #[test]
    fn each_table_has_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = JsonlSink::open(dir.path(), NETWORK).unwrap();
        let mut batch = batch(5..6);
        let holder = starmill_ledger::AddressBytes::account(&[1; 32]);
        let place = Place { to_id: 1, operation_id: 2, ledger: 5, closed_at: 0 };
        let row = StateChangeRow::new(place, 1, Category::Balance, Reason::Credit, holder);
        batch.rows.state_change(&row);
        batch.rows.sep41_state_change(holder, &row);
        batch.rows.protocol_wasm(&ProtocolWasmRow { wasm_hash: [1; 32], bytecode_len: 4, is_sep41: false });
        sink.commit(&mut batch).unwrap();
        let kinds = ["ledgers", "protocol_wasms", "sep41_all.state_changes", "state_changes", "transactions_accounts"];
        assert_eq!(names(dir.path()), kinds.map(|kind| format!("{kind}-0000000005-0000000005.jsonl")));
        drop(sink);
        assert_eq!(JsonlSink::open(dir.path(), NETWORK).unwrap().coverage().ledgers(), 1);
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != LOCK_FILE && name != NETWORK_FILE);
        names.sort();
        names
    }

    #[test]
    fn covers_what_is_whole_and_forgets_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = JsonlSink::open(dir.path(), NETWORK).unwrap();
        sink.commit(&mut batch(5..8)).unwrap();
        sink.commit(&mut batch([10, 12])).unwrap();
        sink.commit(&mut batch([])).unwrap();
        let covered = sink.coverage();
        assert_eq!((covered.ledgers(), sink.coverage().contains(6), sink.coverage().contains(11)), (5, true, false));
        // Two files each: tables without rows have none.
        assert_eq!(names(dir.path()).len(), 4);
        let rows = std::fs::read_to_string(dir.path().join("transactions_accounts-0000000010-0000000012-gaps.jsonl")).unwrap();
        assert_eq!(rows.lines().count(), 2);
        assert!(rows.lines().all(|line| line.starts_with("{\"t\":\"transactions_accounts\"")));
        drop(sink);
        // As if killed between writing and renaming, and between renaming the tables and the ledgers.
        std::fs::write(dir.path().join("ledgers-0000000020-0000000021.jsonl.unfinished"), "x").unwrap();
        std::fs::write(dir.path().join("operations-0000000020-0000000021.jsonl"), "x").unwrap();
        std::fs::write(dir.path().join("notes.txt"), "not ours").unwrap();
        let sink = JsonlSink::open(dir.path(), NETWORK).unwrap();
        assert_eq!(sink.coverage(), covered);
        assert_eq!(names(dir.path()).len(), 5);
        assert!(names(dir.path()).contains(&"notes.txt".to_owned()));
    }

    #[test]
    fn a_failed_commit_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = JsonlSink::open(dir.path(), NETWORK).unwrap();
        // A folder where the last file should go makes the last rename fail.
        let obstacle = dir.path().join("ledgers-0000000005-0000000007.jsonl");
        std::fs::create_dir(&obstacle).unwrap();
        let error = sink.commit(&mut batch(5..8)).unwrap_err();
        assert_eq!(error.code(), "io");
        assert!(error.to_string().contains("renaming"), "{error}");
        assert!(!sink.coverage().contains(5));
        std::fs::remove_dir(&obstacle).unwrap();
        assert_eq!(names(dir.path()), [""; 0]);
        sink.commit(&mut batch(5..8)).unwrap();
        assert!(sink.coverage().contains(5));
    }

    #[test]
    fn one_writer_and_one_network_per_folder() {
        let dir = tempfile::tempdir().unwrap();
        let sink = JsonlSink::open(dir.path(), NETWORK).unwrap();
        assert_eq!(JsonlSink::open(dir.path(), NETWORK).unwrap_err().code(), "writer-busy");
        drop(sink);
        assert_eq!(JsonlSink::open(dir.path(), "another").unwrap_err().code(), "network-mismatch");
        JsonlSink::open(dir.path(), NETWORK).unwrap();
    }
}
