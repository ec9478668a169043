//! Lines to standard output and standard error that may be closed or full: an error there is an error like any other, never a panic.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to standard output.
pub(crate) fn line(text: Arguments<'_>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Writes a line to standard error; nobody is left to tell when that fails.
pub(crate) fn complaint(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A line to standard output, as `println!` takes it; gives the result of writing.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}

/// A line to standard error, as `eprintln!` takes it.
macro_rules! complain {
    ($($text:tt)*) => { $crate::output::complaint(format_args!($($text)*)) };
}

pub(crate) use {complain, say};
