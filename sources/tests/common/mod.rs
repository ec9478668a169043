//! Small ledgers made by hand, and the ways they may be written down.
#![allow(dead_code)]

use std::io::{self, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use starmill_sources::{FileLedgers, Frame, Options, SourceError};

/// Everything but the header is empty. The arm changes with the sequence, and so does the length.
pub(crate) fn ledger(sequence: u32) -> Vec<u8> {
    let arm = sequence % 3;
    let mut out = arm.to_be_bytes().to_vec();
    if arm > 0 {
        out.extend([0; 4]); // extension
    }
    out.extend([7; 32]); // hash
    out.extend(22_u32.to_be_bytes());
    out.extend([6; 32]); // hash before
    out.extend([5; 32]); // hash of the transaction set
    out.extend((1_700_000_000 + u64::from(sequence)).to_be_bytes());
    upgrades(sequence, &mut out);
    out.extend([0; 4]); // extension
    out.extend([4; 64]);
    out.extend(sequence.to_be_bytes());
    out.extend([0; 28]);
    out.extend(100_u32.to_be_bytes());
    out.extend(5_000_000_u32.to_be_bytes());
    out.extend(200_u32.to_be_bytes());
    out.extend([0; 128]);
    out.extend([0; 8]); // extensions
    if arm == 0 {
        out.extend([6; 32]); // transaction set
        out.extend([0; 4]);
    } else {
        out.extend(1_u32.to_be_bytes()); // generalized transaction set
        out.extend([6; 32]);
        out.extend([0; 4]);
    }
    out.extend([0; 12]); // processing, upgrades, consensus
    match arm {
        0 => {}
        1 => out.extend([0; 16]), // live state size, evicted keys, evicted entries
        _ => out.extend([0; 12]), // live state size, evicted keys
    }
    out
}

/// Up to two upgrades of any bytes, so that lengths vary.
fn upgrades(sequence: u32, out: &mut Vec<u8>) {
    let count = sequence % 3;
    out.extend(count.to_be_bytes());
    for _ in 0..count {
        out.extend(8_u32.to_be_bytes());
        out.extend([1; 8]);
    }
}

pub(crate) fn mark(length: usize, last: bool) -> [u8; 4] {
    (u32::try_from(length).unwrap() | if last { 1 << 31 } else { 0 }).to_be_bytes()
}

pub(crate) fn framed(sequences: &[u32]) -> Vec<u8> {
    sequences.iter().flat_map(|s| [&mark(ledger(*s).len(), true)[..], &ledger(*s)].concat()).collect()
}

/// Each ledger in fragments of at most `size` bytes.
pub(crate) fn fragments(sequences: &[u32], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for sequence in sequences {
        let body = ledger(*sequence);
        let parts: Vec<&[u8]> = body.chunks(size).collect();
        for (i, part) in parts.iter().enumerate() {
            out.extend(mark(part.len(), i + 1 == parts.len()));
            out.extend(*part);
        }
    }
    out
}

pub(crate) fn bare(sequences: &[u32]) -> Vec<u8> {
    sequences.iter().flat_map(|s| ledger(*s)).collect()
}

pub(crate) fn batch(sequences: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(sequences.first().unwrap().to_be_bytes());
    out.extend(sequences.last().unwrap().to_be_bytes());
    out.extend(u32::try_from(sequences.len()).unwrap().to_be_bytes());
    out.extend(bare(sequences));
    out
}

pub(crate) fn base64(bytes: &[u8]) -> Vec<u8> {
    STANDARD.encode(bytes).into_bytes()
}

pub(crate) fn wrapped(text: &[u8], width: usize) -> Vec<u8> {
    text.chunks(width).flat_map(|line| [line, b"\r\n"].concat()).collect()
}

pub(crate) fn lines(items: &[Vec<u8>]) -> Vec<u8> {
    items.iter().flat_map(|item| [base64(item), b"\n".to_vec()].concat()).collect()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

pub(crate) fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Every way to write down ledgers 11, 12 and 13.
pub(crate) fn contents() -> Vec<(&'static str, Vec<u8>)> {
    let all = &[11, 12, 13][..];
    let each: Vec<Vec<u8>> = all.iter().map(|s| ledger(*s)).collect();
    let two_batches = [batch(&[11, 12]), batch(&[13])].concat();
    vec![
        ("framed", framed(all)),
        ("fragments of 100", fragments(all, 100)),
        ("fragments of 3", fragments(all, 3)),
        ("bare", bare(all)),
        ("batch", batch(all)),
        ("two batches", two_batches.clone()),
        ("base64 of framed", base64(&framed(all))),
        ("base64 of fragments", base64(&fragments(all, 5))),
        ("base64 of bare", base64(&bare(all))),
        ("base64 of batch", wrapped(&base64(&batch(all)), 76)),
        ("base64 cut at odd places", wrapped(&base64(&bare(all)), 61)),
        ("base64, a ledger a line", lines(&each)),
        ("base64, a record a line", lines(&all.iter().map(|s| framed(&[*s])).collect::<Vec<_>>())),
        ("base64, a batch a line", lines(&[batch(&[11, 12]), batch(&[13])])),
        ("base64 of zstd, a batch a line", lines(&[zst(&batch(&[11, 12])), zst(&batch(&[13]))])),
    ]
}

/// Every way to pack bytes.
pub(crate) fn packings(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (left, right) = bytes.split_at(bytes.len() / 3);
    vec![
        ("as it is", bytes.to_vec()),
        ("gzip", gzip(bytes)),
        ("zstd", zst(bytes)),
        ("two gzip members", [gzip(left), gzip(right)].concat()),
        ("two zstd frames", [zst(left), zst(right)].concat()),
        ("zstd behind a skippable frame", [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zst(bytes)].concat()),
        ("gzip of zstd", gzip(&zst(bytes))),
    ]
}

/// Gives at most `chunk` bytes a call, and then an error of the given kind or the end.
pub(crate) struct Slow {
    pub(crate) bytes: io::Cursor<Vec<u8>>,
    pub(crate) chunk: usize,
    pub(crate) end: Option<io::ErrorKind>,
}

impl Slow {
    pub(crate) fn new(bytes: &[u8], chunk: usize) -> Self {
        Self { bytes: io::Cursor::new(bytes.to_vec()), chunk, end: None }
    }
}

impl Read for Slow {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = buf.len().min(self.chunk);
        let got = self.bytes.read(&mut buf[..n])?;
        match self.end {
            Some(kind) if got == 0 => Err(kind.into()),
            _ => Ok(got),
        }
    }
}

/// All frames of a reader.
pub(crate) fn read(bytes: &[u8], options: Options) -> Result<Vec<Frame>, SourceError> {
    FileLedgers::from_reader("test", Slow::new(bytes, usize::MAX), options)?.collect()
}

pub(crate) fn sequences(frames: &[Frame]) -> Vec<u32> {
    frames.iter().map(|frame| frame.head.sequence).collect()
}

/// Checks that frames are exactly the ledgers 11, 12, 13, or the first of them.
pub(crate) fn assert_ledgers(frames: &[Frame], what: &str) {
    for (i, frame) in frames.iter().enumerate() {
        let sequence = 11 + u32::try_from(i).unwrap();
        assert_eq!(frame.bytes, ledger(sequence), "{what}");
        assert_eq!((frame.head.sequence, frame.origin.item), (sequence, i as u64 + 1), "{what}");
        assert_eq!(frame.head.closed_at, 1_700_000_000 + i64::from(sequence));
    }
}
