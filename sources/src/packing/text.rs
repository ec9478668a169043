//! Base64 text (RFC 4648, standard alphabet) as a stream of bytes.
//!
//! White space counts for nothing, so lines may be cut anywhere. Padding ends a piece and another may follow, so one item a line is the
//! same as the items behind each other.

use std::io::{self, BufRead, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

/// Symbols decoded at once; a multiple of 4.
const SYMBOLS: usize = 16 << 10;

/// White space that may stand behind each other. What nobody ends (`yes ''`) would otherwise be waited for without end.
const SPACE_MAX: u64 = 16 << 20;

/// Text that is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not base64 at byte {offset}: {reason}")]
pub(super) struct Base64Error {
    /// Where in the text.
    pub(super) offset: u64,
    /// What is wrong.
    pub(super) reason: &'static str,
}

/// Whether a front has nothing that base64 text has not. False for an empty front.
pub(super) fn could_be_base64(front: &[u8]) -> bool {
    !front.is_empty() && front.iter().all(|b| is_symbol(*b) || b.is_ascii_whitespace())
}

fn is_symbol(byte: u8) -> bool {
    PLAIN[usize::from(byte)] || byte == b'='
}

/// Decodes what a reader gives.
pub(super) struct Base64Text<R> {
    reader: R,
    /// Bytes of text read.
    offset: u64,
    symbols: Vec<u8>,
    decoded: Vec<u8>,
    used: usize,
}

impl<R: BufRead> Base64Text<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, offset: 0, symbols: Vec::with_capacity(SYMBOLS), decoded: Vec::new(), used: 0 }
    }

    /// Decodes some more text into `decoded`; leaves it empty only at the end.
    fn refill(&mut self) -> io::Result<()> {
        self.decoded.clear();
        self.used = 0;
        let mut space = 0;
        while self.decoded.is_empty() {
            let text = self.reader.fill_buf()?;
            if text.is_empty() {
                return if self.symbols.is_empty() { Ok(()) } else { Err(self.error("the text ends inside a group of 4 characters")) };
            }
            let symbols = self.symbols.len();
            let n = take_symbols(text, &mut self.symbols);
            space = if self.symbols.len() == symbols { space + n as u64 } else { 0 };
            let foreign = self.symbols.pop_if(|last| !is_symbol(*last)).is_some();
            self.reader.consume(n);
            self.offset += n as u64;
            if foreign {
                self.offset -= 1;
                return Err(self.error("a character that is not base64"));
            }
            if space > SPACE_MAX {
                return Err(self.error("white space without end"));
            }
            self.decode()?;
        }
        Ok(())
    }

    /// Decodes the whole groups of 4.
    fn decode(&mut self) -> io::Result<()> {
        let whole = self.symbols.len() & !3;
        let groups = self.symbols.get(..whole).unwrap_or_default();
        if STANDARD.decode_vec(groups, &mut self.decoded).is_err() {
            return Err(self.error("padding or its last bits are wrong"));
        }
        self.symbols.drain(..whole);
        Ok(())
    }

    fn error(&self, reason: &'static str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Base64Error { offset: self.offset, reason })
    }
}

/// Takes symbols until there are enough of them, until padding ends a piece, or up to and with a foreign character; returns how many bytes of
/// text were used.
fn take_symbols(text: &[u8], symbols: &mut Vec<u8>) -> usize {
    let mut used = 0;
    while let Some(rest) = text.get(used..).filter(|rest| !rest.is_empty()) {
        let room = SYMBOLS.saturating_sub(symbols.len());
        let run = rest.iter().take(room).position(|b| !PLAIN[usize::from(*b)]).unwrap_or(room.min(rest.len()));
        let (plain, rest) = rest.split_at(run);
        symbols.extend_from_slice(plain);
        used += run;
        if symbols.len() >= SYMBOLS {
            return used;
        }
        let Some(byte) = rest.first() else { return used };
        used += 1;
        if byte.is_ascii_whitespace() {
            continue;
        }
        symbols.push(*byte);
        if *byte != b'=' || symbols.len().is_multiple_of(4) {
            return used;
        }
    }
    used
}

/// The 64 symbols, without padding.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation)] // below 256
        let value = byte as u8;
        plain[byte] = matches!(value, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/');
        byte += 1;
    }
    plain
};

impl<R: BufRead> Read for Base64Text<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.used == self.decoded.len() {
            self.refill()?;
        }
        let n = self.decoded.get(self.used..).unwrap_or_default().read(buf)?;
        self.used += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::{Base64Error, Base64Text, could_be_base64};

    fn read(text: &str, chunk: usize) -> Result<Vec<u8>, Base64Error> {
        let mut out = Vec::new();
        match Base64Text::new(BufReader::with_capacity(chunk, text.as_bytes())).read_to_end(&mut out) {
            Ok(_) => Ok(out),
            Err(error) => Err(*error.get_ref().unwrap().downcast_ref::<Base64Error>().unwrap()),
        }
    }

    #[test]
    fn lines_white_space_and_pieces_count_for_nothing() {
        let bytes: Vec<u8> = (0..30_001).map(|i| u8::try_from(i % 251).unwrap()).collect();
        let whole = STANDARD.encode(&bytes);
        let wrapped: Vec<&str> = whole.as_bytes().chunks(77).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let pieces: String = bytes.chunks(1_000).flat_map(|piece| [STANDARD.encode(piece), "\r\n".to_owned()]).collect();
        for text in [whole.clone(), wrapped.join("\n"), format!("\n \t{whole}\n\n"), pieces] {
            for chunk in [1, 7, 4096, 100_000] {
                assert_eq!(read(&text, chunk).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn what_is_not_base64_is_named_with_its_place() {
        for chunk in [1, 100] {
            assert_eq!(read("AAAA\nAA*A", chunk).unwrap_err(), Base64Error { offset: 7, reason: "a character that is not base64" });
            assert_eq!(read("AAAA\nAA", chunk).unwrap_err().reason, "the text ends inside a group of 4 characters");
            assert_eq!(read("AAAA\nA=AA", chunk).unwrap_err().reason, "padding or its last bits are wrong");
            assert_eq!(read("AAB=", chunk).unwrap_err().reason, "padding or its last bits are wrong");
        }
        let space = "\n".repeat(17 << 20);
        assert_eq!(read(&space, 4096).unwrap_err().reason, "white space without end");
        assert_eq!(read(&format!("AAAA{space}AAAA"), 4096).unwrap_err().reason, "white space without end");
        assert!(could_be_base64(b"AA +/=\n"));
        assert!(!could_be_base64(b"{}") && !could_be_base64(b"") && !could_be_base64(&[0, 0, 0, 1]));
    }
}
