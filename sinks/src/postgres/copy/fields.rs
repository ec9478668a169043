//! Fields of binary COPY: a length in four bytes, then the value; length -1 is NULL. Written in place, without a buffer of their own.

use std::borrow::Cow;

/// Writes the length of a field at `at`, then its bytes, and returns where the next field begins. Offsets are constants after inlining.
#[inline]
pub(crate) fn field<const ROW: usize, const LEN: usize>(row: &mut [u8; ROW], at: usize, value: [u8; LEN]) -> usize {
    row[at..at + 4].copy_from_slice(&LEN.to_be_bytes()[size_of::<usize>() - 4..]);
    row[at + 4..at + 4 + LEN].copy_from_slice(&value);
    at + 4 + LEN
}

/// A field of variable length.
#[inline]
pub(crate) fn bytes_field(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&length(value.len()));
    out.extend_from_slice(value);
}

/// A field of fixed length, or NULL.
#[inline]
pub(crate) fn optional<const LEN: usize>(out: &mut Vec<u8>, value: Option<[u8; LEN]>) {
    match value {
        Some(value) => bytes_field(out, &value),
        None => null(out),
    }
}

/// NULL.
#[inline]
pub(crate) fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xFF; 4]);
}

/// A field whose length is known once it is written.
#[inline]
pub(crate) fn measured(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let len = length(out.len() - at - 4);
    out[at..at + 4].copy_from_slice(&len);
}

/// A number as decimal text.
#[inline]
pub(crate) fn integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    bytes_field(out, itoa::Buffer::new().format(value).as_bytes());
}

/// Stroops as decimal text with seven digits after the point.
pub(crate) fn seven_decimals(out: &mut Vec<u8>, value: i128) {
    measured(out, |out| {
        if value < 0 {
            out.push(b'-');
        }
        let (whole, mut rest) = (value.unsigned_abs() / 10_000_000, value.unsigned_abs() % 10_000_000);
        out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
        let mut digits = *b".0000000";
        for digit in digits[1..].iter_mut().rev() {
            // Below 10.
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        out.extend_from_slice(&digits);
    });
}

/// 32 bytes as lower-case hex text.
#[inline]
pub(crate) fn hex(out: &mut Vec<u8>, value: &[u8; 32]) {
    let mut text = [0; 64];
    // 32 bytes always fit 64 digits.
    let _ = hex::encode_to_slice(value, &mut text);
    bytes_field(out, &text);
}

/// Text of bytes that should be text.
#[inline]
pub(crate) fn text(out: &mut Vec<u8>, value: &[u8]) {
    bytes_field(out, storable(value).as_bytes());
}

/// Bytes as text that Postgres can hold: what is not UTF-8, and NUL, becomes U+FFFD. No network lets such names through; if one did, a whole
/// batch must not fail because of it.
#[inline]
pub(crate) fn storable(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) if !value.contains(&0) => Cow::Borrowed(text),
        _ => Cow::Owned(String::from_utf8_lossy(value).replace('\0', "\u{FFFD}")),
    }
}

/// A value beyond i32 cannot come from a frame and Postgres would refuse it; a false length makes the whole COPY fail.
fn length(len: usize) -> [u8; 4] {
    i32::try_from(len).unwrap_or(i32::MAX).to_be_bytes()
}
