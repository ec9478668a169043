//! Looking at the front of a stream without using it up.

use std::io::{self, Read};

/// Asked of the reader at once; it may give less.
const CHUNK: usize = 4 << 10;

/// A reader whose first bytes can be looked at before they are read.
pub(crate) struct Peek<R> {
    front: Vec<u8>,
    used: usize,
    reader: R,
    ended: bool,
}

impl<R: Read> Peek<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { front: Vec::new(), used: 0, reader, ended: false }
    }

    /// The front: at least `n` bytes, or all there are. Waits for no more than `n` bytes, so that a live stream is not held up.
    pub(crate) fn front(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.front.len() - self.used < n && !self.ended {
            let have = self.front.len();
            self.front.resize(have + CHUNK, 0);
            let got = self.reader.read(self.front.get_mut(have..).unwrap_or_default());
            self.front.truncate(have + *got.as_ref().unwrap_or(&0));
            match got {
                Ok(got) => self.ended = got == 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.rest())
    }

    /// Whether the front is all there is.
    pub(crate) fn is_whole(&self) -> bool {
        self.ended
    }

    fn rest(&self) -> &[u8] {
        self.front.get(self.used..).unwrap_or_default()
    }
}

impl<R: Read> Read for Peek<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.rest().is_empty() {
            // The front has served; its memory is not needed any more.
            self.front = Vec::new();
            self.used = 0;
            return if self.ended { Ok(0) } else { self.reader.read(buf) };
        }
        let n = self.rest().read(buf)?;
        self.used += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::Peek;

    #[test]
    fn what_was_looked_at_is_read_again() {
        let input: Vec<u8> = (0..20_000).map(|i| u8::try_from(i % 251).unwrap()).collect();
        for (first, second) in [(0, 0), (4, 10_000), (20_000, 30_000)] {
            let mut peek = Peek::new(&input[..]);
            assert_eq!(peek.front(first).unwrap()[..first], input[..first]);
            assert!(peek.front(second).unwrap().len() >= second.min(input.len()));
            assert_eq!(peek.is_whole(), second > input.len());
            let mut out = Vec::new();
            peek.read_to_end(&mut out).unwrap();
            assert_eq!(out, input);
        }
    }
}
