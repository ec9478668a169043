//! Every kind of content, packed in every way, from file, reader and pipe, is the same frames; what is cut or wrong is an error.

use glob as _;
use notify as _;
use serde_json as _;
use starmill_ledger as _;
use starmill_xdr as _;
use thiserror as _;

mod common;

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use common::*;
use starmill_sources::{FileLedgers, Frame, Options, SourceError, Sources};

#[test]
fn the_small_ledgers_are_ledgers() {
    use stellar_xdr::{LedgerCloseMeta, Limits, ReadXdr, WriteXdr};
    for sequence in 11..=13 {
        let value = LedgerCloseMeta::from_xdr(ledger(sequence), Limits::none()).unwrap();
        assert_eq!(value.to_xdr(Limits::none()).unwrap(), ledger(sequence));
    }
}

fn all(file: Result<FileLedgers, SourceError>) -> Vec<Frame> {
    file.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_content_in_every_packing_is_the_same_frames_from_file_reader_and_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (content, bytes) in contents() {
        for (packing, packed) in packings(&bytes) {
            let what = format!("{content}, {packing}");
            let path = folder.path().join("name-says-nothing.json");
            fs::write(&path, &packed).unwrap();
            let from_file = all(FileLedgers::open(path.to_str().unwrap(), Options::default()));
            assert_eq!(from_file.len(), 3, "{what}");
            assert_ledgers(&from_file, &what);
            for chunk in [1, 1000] {
                let reader = Slow::new(&packed, chunk);
                assert_ledgers(&all(FileLedgers::from_reader("reader", reader, Options::default())), &what);
            }
            let writer = std::thread::spawn({
                let (pipe, packed) = (pipe.clone(), packed.clone());
                move || fs::write(pipe, packed).unwrap()
            });
            let mut sources = Sources::open(&[pipe.to_str().unwrap().to_owned()], Options::default()).unwrap();
            let from_pipe: Vec<Frame> = sources.by_ref().map(Result::unwrap).collect();
            writer.join().unwrap();
            assert_eq!(from_pipe.len(), 3, "{what}");
            assert_ledgers(&from_pipe, &what);
            assert_eq!((sources.progress().total_bytes(), sources.progress().read_bytes()), (None, packed.len() as u64));
        }
    }
}

#[test]
fn every_cut_is_an_error_or_ends_between_two_ledgers() {
    for (content, bytes) in contents() {
        let whole = read(&bytes, Options::default()).unwrap();
        let front = if content == "two batches" { 12 } else { 0 };
        let ends: Vec<u64> = whole.iter().skip(1).map(|frame| frame.origin.offset - front).collect();
        let mut clean = 0;
        for cut in 0..bytes.len() {
            // Where nothing but white space is missing nothing is missing.
            let blank = bytes[cut..].iter().all(u8::is_ascii_whitespace);
            match read(&bytes[..cut], Options::default()) {
                Err(error) => assert!(!error.to_string().contains('\n') && !blank, "{content}, {cut}: {error}"),
                Ok(frames) => {
                    clean += 1;
                    assert_ledgers(&frames, content);
                    let raw = !content.starts_with("base64");
                    assert!(!raw || ends.contains(&(cut as u64)), "{content}, {cut}");
                    assert!(!content.ends_with("batch") || blank, "{content}, {cut}");
                }
            }
        }
        assert!(clean <= 8, "{content}: {clean} cuts unnoticed");
        for packed in [gzip(&bytes), zst(&bytes), gzip(&zst(&bytes))] {
            for cut in 0..packed.len() {
                let error = read(&packed[..cut], Options::default()).expect_err(content);
                assert!(["truncated", "empty-file", "wrong-type"].contains(&error.code()), "{content}, {cut}: {}", error.code());
            }
        }
    }
}

#[test]
fn a_live_stream_gives_each_ledger_as_soon_as_it_is_there() {
    // 12 is the smallest ledger that there can be: 412 bytes.
    for (content, bytes) in [("framed", framed(&[12])), ("fragments", fragments(&[12], 60)), ("zstd", zst(&framed(&[12])))] {
        for chunk in [1, usize::MAX] {
            let mut reader = Slow::new(&bytes, chunk);
            reader.end = Some(io::ErrorKind::WouldBlock);
            let mut file = FileLedgers::from_reader("live", reader, Options::default()).unwrap_or_else(|e| panic!("{content}: {e}"));
            assert_eq!(file.next().unwrap().unwrap().head.sequence, 12, "{content}");
            assert_eq!(file.next().unwrap().unwrap_err().code(), "unreadable", "{content}");
            assert!(file.next().is_none());
        }
    }
}

fn code(bytes: &[u8], options: Options) -> &'static str {
    read(bytes, options).map(|frames| frames.len()).unwrap_err().code()
}

#[test]
fn bombs_stop_at_the_limit() {
    let options = Options { frame_bytes_max: 1 << 20, unpacked_bytes_max: 4 << 20, ..Options::default() };
    let spaces = [&b"AAAA"[..], &vec![b' '; 256 << 20]].concat();
    // A ledger whose consensus part is said to have as many entries as may be, all of them zero.
    let mut endless = ledger(12);
    endless.truncate(408);
    endless.extend((1_u32 << 28).to_be_bytes());
    endless.extend(vec![0; 64 << 20]);
    for pack in [gzip, zst] {
        assert_eq!(code(&pack(&spaces), options), "unpacked-too-large");
        assert_eq!(code(&pack(&pack(&spaces)), options), "unpacked-too-large");
        assert_eq!(code(&pack(&endless), options), "ledger-too-large");
        let long = [&framed(&[11])[..], &mark(2 << 20, true), &vec![0; 2 << 20]].concat();
        assert_eq!(code(&pack(&long), options), "frame-too-large");
        assert_eq!(code(&pack(&pack(&pack(&pack(&pack(&framed(&[11])))))), options), "too-many-packings");
        assert_eq!(code(&pack(&vec![0; 64 << 20]), options), "sequence-zero");
    }
    // The limit is for what has no ledger in it, not for the length of a stream.
    let many: Vec<u32> = (1..=20_000).collect();
    assert_eq!(read(&gzip(&framed(&many)), options).unwrap().len(), 20_000);
    assert_eq!(code(&bare(&[11]), Options { frame_bytes_max: 400, ..options }), "ledger-too-large");
}

#[test]
fn what_is_wrong_is_named() {
    let default = Options::default();
    assert_eq!(code(b"", default), "empty-file");
    assert_eq!(code(b" \n \n", default), "empty-file");
    assert_eq!(code(&gzip(b""), default), "empty-file");
    assert_eq!(code(&zst(b""), default), "empty-file");
    assert_eq!(code(b"{\"ledger\": 1}", default), "wrong-type");
    assert_eq!(code("Lizenz für alle, auch für längere Texte als vierundsechzig Zeichen.".as_bytes(), default), "wrong-type");
    assert_eq!(code(b"\xfd7zXZ\0\0\0", default), "wrong-type");
    assert_eq!(code(&[0xab; 500], default), "wrong-type");
    assert_eq!(code(b"AAAA*", default), "wrong-type");
    assert_eq!(code(b"TheseAreOnlyLetters", default), "bad-base64");
    assert_eq!(code(&[base64(&bare(&[11, 12])), b"*".to_vec()].concat(), default), "bad-base64");
    assert_eq!(code(&[framed(&[11]), mark(0, true).to_vec()].concat(), default), "frame-empty");
    assert_eq!(code(&[framed(&[11]), mark(8, true).to_vec(), vec![9; 8]].concat(), default), "bad-ledger");
    assert_eq!(code(&[bare(&[11]), vec![9; 8]].concat(), default), "bad-ledger");
    assert_eq!(code(&bare(&[0]), default), "sequence-zero");
    assert_eq!(code(&bare(&[0x8000_0001]), default), "bad-ledger");
    let mut damaged = gzip(&framed(&[11, 12]));
    let n = damaged.len();
    damaged[n - 5] ^= 1;
    assert_eq!(code(&damaged, default), "bad-packing");
    assert_eq!(code(&[&[0x28, 0xb5, 0x2f, 0xfd][..], &[0xff; 100]].concat(), default), "bad-packing");
}

#[test]
fn a_batch_must_hold_what_it_says() {
    let default = Options::default();
    let mut wrong_count = batch(&[11, 12, 13]);
    wrong_count[11] = 2;
    assert_eq!(code(&wrong_count, default), "bad-batch");
    assert_eq!(code(&batch(&[11, 13, 12, 14]), default), "bad-batch");
    assert_eq!(code(&[batch(&[11, 12]), vec![0; 4]].concat(), default), "truncated");
    let error = read(&[batch(&[11, 12, 14]), batch(&[13])].concat(), default).unwrap_err();
    assert_eq!(error.to_string(), "test, item 1 at byte 0: the batch of ledgers 11 to 14 says that it holds 3 ledgers; fetch it again");
}

#[test]
fn places_are_counted_in_unpacked_bytes() {
    let good = framed(&[11, 12]);
    let error = read(&zst(&[&good[..], &mark(6, true)].concat()), Options::default()).unwrap_err();
    assert_eq!((error.item, error.offset), (Some(3), Some(good.len() as u64)));
    assert!(error.to_string().starts_with(&format!("test, item 3 at byte {}: ", good.len())), "{error}");
}

#[test]
fn no_garbage_makes_it_panic_or_run_on() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    let options = Options { frame_bytes_max: 1 << 16, unpacked_bytes_max: 1 << 20, ..Options::default() };
    let seeds: Vec<Vec<u8>> = contents().into_iter().flat_map(|(_, bytes)| packings(&bytes)).map(|(_, bytes)| bytes).collect();
    for round in 0..6_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=random() % 4 {
            let at = random() % bytes.len();
            match random() % 4 {
                0 => bytes[at] ^= 1 << (random() % 8),
                1 => bytes[at] = u8::try_from(random() % 256).unwrap(),
                2 => drop(bytes.drain(at..(at + random() % 16).min(bytes.len()))),
                _ => bytes.insert(at, u8::try_from(random() % 256).unwrap()),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        if let Err(error) = read(&bytes, options) {
            assert!(!error.to_string().contains('\n'));
        }
        let noise: Vec<u8> = (0..random() % 600).map(|_| u8::try_from(random() % 256).unwrap()).collect();
        assert!(read(&noise, options).is_err());
    }
}

/// What [`standard_input_is_a_source_like_any_other`] runs in a process of its own.
#[test]
#[ignore = "reads standard input"]
fn child_that_reads_standard_input() {
    let frames: Result<Vec<Frame>, SourceError> = Sources::open(&["-".into()], Options::default()).and_then(Iterator::collect);
    match frames {
        Ok(frames) => println!("ledgers: {:?}", sequences(&frames)),
        Err(error) => println!("error: {error}"),
    }
}

#[test]
fn standard_input_is_a_source_like_any_other() {
    let said = |input: Vec<u8>| {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_reads_standard_input", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&input).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    for input in [framed(&[11, 12, 13]), zst(&framed(&[11, 12, 13])), base64(&batch(&[11, 12, 13]))] {
        assert!(said(input).contains("ledgers: [11, 12, 13]"));
    }
    let gap = format!("error: standard input, item 2 at byte {}: ledgers 12 to 12 are missing", framed(&[11]).len());
    assert!(said(framed(&[11, 13])).contains(&gap));
    assert!(said(Vec::new()).contains("error: standard input: is empty"));
}
