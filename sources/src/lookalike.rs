//! What a source is that has no ledgers, for the message that says so.

use starmill_xdr::{
    BucketEntry, Cursor, FrameBuf, FrameSlice, LedgerCloseMeta, LedgerEntry, LedgerEntryChange, LedgerHeader, LedgerHeaderHistoryEntry,
    ScpHistoryEntry, TransactionEnvelope, TransactionHistoryEntry, TransactionHistoryResultEntry, TransactionMeta, TransactionResult,
    TransactionResultPair, Xdr, check,
};

/// First bytes of formats that people may have beside ledgers.
const MAGICS: [(&[u8], &str); 9] = [
    (b"\xfd7zXZ\0", "xz data (unpack it, or pack with gzip or zstd)"),
    (b"BZh", "bzip2 data (unpack it, or pack with gzip or zstd)"),
    (b"\x04\x22\x4d\x18", "lz4 data (unpack it, or pack with gzip or zstd)"),
    (b"PK\x03\x04", "a zip archive (unpack it)"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "a PNG image"),
    (b"%PDF", "a PDF document"),
];

/// A name and whether bytes are exactly that.
type Candidate = (&'static str, fn(&[u8]) -> bool);

/// Types that stand one after the other in files of a history archive.
const RECORDS: [Candidate; 8] = [
    ("BucketEntry", |b| check::<BucketEntry>(b).is_ok()),
    ("LedgerHeaderHistoryEntry", |b| check::<LedgerHeaderHistoryEntry>(b).is_ok()),
    ("TransactionHistoryEntry", |b| check::<TransactionHistoryEntry>(b).is_ok()),
    ("TransactionHistoryResultEntry", |b| check::<TransactionHistoryResultEntry>(b).is_ok()),
    ("SCPHistoryEntry", |b| check::<ScpHistoryEntry>(b).is_ok()),
    ("TransactionMeta", |b| check::<TransactionMeta>(b).is_ok()),
    ("LedgerEntryChanges", is_changes),
    ("LedgerCloseMeta of another shape", |b| check::<LedgerCloseMeta>(b).is_ok()),
];

/// Types that one file or one line may be.
const VALUES: [Candidate; 8] = [
    ("TransactionMeta", |b| check::<TransactionMeta>(b).is_ok()),
    ("a TransactionEnvelope", |b| check::<TransactionEnvelope>(b).is_ok()),
    ("a TransactionResult", |b| check::<TransactionResult>(b).is_ok()),
    ("a TransactionResultPair", |b| check::<TransactionResultPair>(b).is_ok()),
    ("LedgerEntryChanges", is_changes),
    ("a LedgerHeader", |b| check::<LedgerHeader>(b).is_ok()),
    ("a LedgerHeaderHistoryEntry", |b| check::<LedgerHeaderHistoryEntry>(b).is_ok()),
    ("a LedgerEntry", |b| check::<LedgerEntry>(b).is_ok()),
];

/// A list of changes; an empty one is four zeros, which says nothing.
fn is_changes(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    bytes.len() > 4
        && cursor.skip_list(u32::MAX, LedgerEntryChange::SIZE_MIN, LedgerEntryChange::skip).and_then(|()| cursor.finish()).is_ok()
}

/// Whether a long list of changes begins here.
fn begins_as_changes(front: &[u8]) -> bool {
    let mut cursor = Cursor::new(front);
    cursor.u32().is_ok_and(|count| count > 1) && (0..2).all(|_| LedgerEntryChange::skip(&mut cursor).is_ok())
}

/// What a front is, if it is something known; `whole` when nothing comes after it.
pub(crate) fn name(front: &[u8], whole: bool) -> Option<String> {
    if let Some((_, name)) = MAGICS.iter().find(|(magic, _)| front.starts_with(magic)) {
        return Some((*name).into());
    }
    if let Some(name) = text(front) {
        return Some(name.into());
    }
    let records = records(front);
    if let Some((name, _)) = RECORDS.iter().find(|(_, is)| !records.is_empty() && records.iter().all(|record| is(record))) {
        return Some(format!("a stream of {name} records"));
    }
    let value = VALUES.iter().find(|(_, is)| whole && is(front));
    value.map(|(name, _)| *name).or_else(|| begins_as_changes(front).then_some("LedgerEntryChanges")).map(str::to_owned)
}

/// The whole records in a front.
fn records(front: &[u8]) -> Vec<Vec<u8>> {
    let mut slice = FrameSlice::new(front);
    let mut buf = FrameBuf::default();
    let mut records = Vec::new();
    while let Ok(Some(record)) = slice.next_frame(&mut buf) {
        records.push(record.to_vec());
    }
    records
}

fn text(front: &[u8]) -> Option<&'static str> {
    let printable = |b: &u8| matches!(b, b' '..=b'~' | b'\t' | b'\n' | b'\r') || *b >= 0x80;
    if !front.iter().all(printable) || front.iter().filter(|b| **b >= 0x80).count() > front.len() / 4 {
        return None;
    }
    Some(match front.trim_ascii_start() {
        [b'{' | b'[', ..] => "JSON",
        text if text.starts_with(b"--\n-- PostgreSQL database dump") => "a PostgreSQL dump",
        text if text.starts_with(b"<") => "HTML or XML",
        _ => "text",
    })
}

/// What can be said of bytes that are nothing known.
pub(crate) fn unknown(front: &[u8]) -> String {
    use std::fmt::Write;
    let mut name = "unknown data that begins with".to_owned();
    for byte in front.iter().take(8) {
        let _ = write!(name, " {byte:02x}");
    }
    name
}
