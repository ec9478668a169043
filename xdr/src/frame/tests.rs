//! What record marks may do, and what a false one costs (decode.md §6.6, items 1, 3 and 4).

use std::io::{self, Read};

use super::{CAPACITY_CEILING, FrameBuf, FrameError, FrameReader, FrameSlice, LAST, STEP};

/// Gives at most `chunk` bytes a call, and remembers the largest request.
struct Slow<'a> {
    rest: &'a [u8],
    chunk: usize,
    request_max: usize,
    end: Option<io::ErrorKind>,
}

impl<'a> Slow<'a> {
    fn new(rest: &'a [u8], chunk: usize) -> Self {
        Self { rest, chunk, request_max: 0, end: None }
    }
}

impl Read for Slow<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.request_max = self.request_max.max(buf.len());
        if let (true, Some(kind)) = (self.rest.is_empty(), self.end) {
            return Err(kind.into());
        }
        let n = buf.len().min(self.chunk).min(self.rest.len());
        let (now, later) = self.rest.split_at(n);
        buf[..n].copy_from_slice(now);
        self.rest = later;
        Ok(n)
    }
}

fn mark(length: u32, last: bool) -> [u8; 4] {
    (length | if last { LAST } else { 0 }).to_be_bytes()
}

/// One record, cut into fragments of the given lengths.
fn record(body: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = body;
    for cut in cuts {
        let (now, later) = rest.split_at(*cut);
        out.extend(mark(u32::try_from(*cut).unwrap(), false));
        out.extend(now);
        rest = later;
    }
    out.extend(mark(u32::try_from(rest.len()).unwrap(), true));
    out.extend(rest);
    out
}

fn body(n: usize) -> Vec<u8> {
    (0..n).map(|i| u8::try_from(i * 7 % 251).unwrap()).collect()
}

fn read_all(input: &[u8], chunk: usize) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::new(Slow::new(input, chunk));
    let mut buf = FrameBuf::default();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame(&mut buf)? {
        frames.push(frame.to_vec());
    }
    assert_eq!(reader.offset(), input.len() as u64);
    Ok(frames)
}

fn slice_all(input: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut slice = FrameSlice::new(input);
    let mut buf = FrameBuf::default();
    let mut frames = Vec::new();
    while let Some(frame) = slice.next_frame(&mut buf)? {
        frames.push(frame.to_vec());
    }
    Ok(frames)
}

/// What the reader, at any chunk size, and the slice say about an input that is wrong.
fn code(input: &[u8]) -> &'static str {
    let said = slice_all(input).unwrap_err().code();
    for chunk in [1, 7, 4096] {
        assert_eq!(read_all(input, chunk).unwrap_err().code(), said, "chunk {chunk}");
    }
    said
}

#[test]
fn one_and_many_fragments_give_the_same_record() {
    let long = body(300_000);
    for cuts in [vec![], vec![4], vec![1, 2, 3], vec![0, 8], vec![100_000, 100_000], vec![300_000], vec![4; 5_000]] {
        let mut input = record(&long, &cuts);
        input.extend(record(&body(8), &[]));
        let expected = vec![long.clone(), body(8)];
        for chunk in [1, 7, 4096, usize::MAX] {
            assert_eq!(read_all(&input, chunk).unwrap(), expected);
        }
        assert_eq!(slice_all(&input).unwrap(), expected);
    }
    assert!(read_all(&[], 1).unwrap().is_empty());
    assert!(slice_all(&[]).unwrap().is_empty());
}

#[test]
fn a_record_of_one_fragment_is_borrowed_from_the_slice() {
    let input = record(&body(64), &[]);
    let mut buf = FrameBuf::default();
    let mut slice = FrameSlice::new(&input);
    let frame = slice.next_frame(&mut buf).unwrap().unwrap();
    assert_eq!(frame.as_ptr(), input[4..].as_ptr());
    assert_eq!((slice.offset(), slice.rest().len(), buf.capacity()), (68, 0, 0));
}

#[test]
fn each_wrong_mark_has_its_own_error() {
    assert_eq!(code(&mark(0, true)), "frame-empty");
    assert_eq!(code(&[mark(0, false), mark(0, true)].concat()), "frame-empty");
    assert_eq!(code(&[0; 400]), "frame-empty");
    assert_eq!(code(&record(&body(6), &[])), "frame-unaligned");
    assert_eq!(code(&record(&body(6), &[4])), "frame-unaligned");
    assert_eq!(code(&mark((256 << 20) + 4, true)), "frame-too-large");
    assert_eq!(code(&mark(0x7fff_ffff, true)), "frame-too-large");
    assert_eq!(code(&mark(0x7fff_ffff, false)), "frame-too-large");
    assert_eq!(code(&[0x80, 0]), "frame-mark-truncated");
    assert_eq!(code(&[&mark(4, false)[..], &body(4)].concat()), "frame-mark-truncated");
    assert_eq!(code(&mark(8, true)), "frame-truncated");
}

#[test]
fn fragments_together_over_the_limit_are_an_error_before_the_second_is_read() {
    let input = [&mark(8, false)[..], &body(8), &mark(8, true)].concat();
    let mut reader = FrameReader::with_max(&input[..], 12);
    let error = reader.next_frame(&mut FrameBuf::default()).unwrap_err();
    assert!(matches!(error, FrameError::TooLarge { offset: 0, claimed: 16, max: 12 }), "{error}");
    let mut slice = FrameSlice::with_max(&input, 12);
    assert_eq!(slice.next_frame(&mut FrameBuf::default()).unwrap_err().code(), "frame-too-large");
}

#[test]
fn every_cut_is_an_error_that_counts_except_between_records() {
    let input = [record(&body(40), &[]), record(&body(24), &[4, 12])].concat();
    for cut in 0..=input.len() {
        let part = &input[..cut];
        match cut {
            0 | 44 => assert_eq!(slice_all(part).unwrap().len(), usize::from(cut > 0)),
            n if n == input.len() => assert_eq!(read_all(part, 1).unwrap().len(), 2),
            _ => assert!(["frame-truncated", "frame-mark-truncated"].contains(&code(part))),
        }
    }
    // In the second record: mark, 4 bytes, mark, 5 of 12 bytes.
    let error = read_all(&input[..44 + 4 + 4 + 4 + 5], 1).unwrap_err();
    assert!(matches!(error, FrameError::Truncated { offset: 44, claimed: 16, delivered: 9 }), "{error}");
    let error = read_all(&input[..44 + 4 + 4 + 3], 1).unwrap_err();
    assert!(matches!(error, FrameError::MarkTruncated { offset: 52, delivered: 3 }), "{error}");
    assert_eq!(error.offset(), Some(52));
}

#[test]
fn a_false_claim_costs_no_more_than_what_came() {
    for (delivered, chunk) in [(1, 1), (64 << 10, 1 << 20), ((192 << 10) + 7, 1 << 20), ((192 << 10) + 7, 1)] {
        let input = [&mark(0x7fff_fffc, true)[..], &body(delivered)].concat();
        let mut reader = FrameReader::with_max(Slow::new(&input, chunk), u64::MAX);
        let mut buf = FrameBuf::default();
        let error = reader.next_frame(&mut buf).unwrap_err();
        let FrameError::Truncated { offset: 0, claimed: 0x7fff_fffc, delivered: counted } = error else { panic!("{error}") };
        assert_eq!(counted, delivered as u64);
        assert!(buf.capacity() <= 2 * delivered + STEP, "{} reserved for {delivered}", buf.capacity());
        assert!(reader.into_inner().request_max <= delivered + STEP);
    }
    // Over the limit nothing is reserved and nothing asked for behind the mark.
    let input = mark(0x7fff_fffc, true);
    let mut reader = FrameReader::new(Slow::new(&input, 1));
    let mut buf = FrameBuf::default();
    reader.next_frame(&mut buf).unwrap_err();
    assert_eq!((buf.capacity(), reader.into_inner().request_max), (0, 4));
}

#[test]
fn many_small_fragments_keep_the_bound_and_do_not_copy_each_time() {
    let n = 400_000;
    let input = record(&body(n), &vec![4; n / 4 - 1]);
    let mut reader = FrameReader::new(&input[..]);
    let mut buf = FrameBuf::default();
    let start = std::time::Instant::now();
    assert_eq!(reader.next_frame(&mut buf).unwrap().unwrap(), body(n));
    assert!(buf.capacity() <= 2 * n + STEP);
    // Copying at each of 100,000 fragments would move 20 GB.
    assert!(start.elapsed().as_secs() < 2);
}

#[test]
fn the_buffer_is_reused_and_gives_back_what_one_large_record_needed() {
    let small = record(&body(1_000), &[]);
    let large = record(&body(100_000), &[]);
    let input = [&small[..], &small, &large, &small, &small].concat();
    let mut reader = FrameReader::new(&input[..]);
    let mut buf = FrameBuf::with_ceiling(10_000);
    let mut seen = Vec::new();
    while let Some(frame) = reader.next_frame(&mut buf).unwrap() {
        let at = frame.as_ptr();
        seen.push((at, buf.capacity()));
    }
    assert_eq!(seen[0], seen[1], "no new memory for a record that fits");
    assert!(seen[2].1 >= 100_000);
    assert!(seen[3].1 <= 10_000, "the large record's memory is kept");
    assert_eq!(FrameBuf::default().ceiling, CAPACITY_CEILING);
}

#[test]
fn a_taken_record_is_exact() {
    let input = record(&body(1_000_000), &[]);
    let mut buf = FrameBuf::default();
    FrameReader::new(&input[..]).next_frame(&mut buf).unwrap();
    let taken = buf.take();
    assert_eq!((taken.len(), taken.capacity(), buf.capacity()), (1_000_000, 1_000_000, 0));
}

#[test]
fn the_readers_own_errors_pass_as_they_are() {
    for cut in [0, 2, 4, 20] {
        let input = record(&body(40), &[]);
        let mut slow = Slow::new(&input[..cut], 3);
        slow.end = Some(io::ErrorKind::ConnectionReset);
        let error = FrameReader::new(slow).next_frame(&mut FrameBuf::default()).unwrap_err();
        assert!(matches!(&error, FrameError::Io(e) if e.kind() == io::ErrorKind::ConnectionReset), "{error}");
        assert_eq!((error.code(), error.offset()), ("io", None));
    }
}

#[test]
fn after_an_error_the_buffer_serves_the_next_stream() {
    let mut buf = FrameBuf::default();
    let good = record(&body(40), &[]);
    FrameReader::new(&good[..30]).next_frame(&mut buf).unwrap_err();
    assert_eq!(FrameReader::new(&good[..]).next_frame(&mut buf).unwrap().unwrap(), body(40));
}
