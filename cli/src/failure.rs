//! How an error reaches people and programs: one line with a code, the place, and what to do.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::process::ExitCode;

use starmill_fixtures::FixtureError;
use starmill_ledger::LedgerError;
use starmill_sinks::{ClusterError, JsonlError, PostgresError};
use starmill_sources::SourceError;
use thiserror::Error;

use crate::network::NetworkError;
use crate::output::complain;

/// An error with its code.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Failure {
    /// A stable name for programs.
    pub(crate) code: &'static str,
    /// What is wrong, where, and what to do.
    pub(crate) message: String,
}

impl Failure {
    /// A failure.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// What is known of any error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let mut message = String::new();
        for cause in error.chain() {
            add(&mut message, &cause.to_string());
            if let Some(code) = code_of(cause) {
                // Errors with a code say all of their causes themselves.
                return Self { code, message };
            }
        }
        let io = error.chain().find_map(io_kind);
        let code = io.map_or("other", |kind| if kind == ErrorKind::BrokenPipe { "broken-pipe" } else { "io" });
        Self { code, message }
    }

    /// Prints it and gives the exit status. A reader who went away (`starmill rows … | head`) is no failure.
    pub(crate) fn report(&self) -> ExitCode {
        if self.code == "broken-pipe" {
            return ExitCode::SUCCESS;
        }
        complain!("error[{}]: {}", self.code, one_line(&self.message));
        ExitCode::FAILURE
    }
}

/// Adds a cause, unless the message says it already: many errors have their cause's text in their own.
fn add(message: &mut String, cause: &str) {
    if message.is_empty() {
        message.push_str(cause);
    } else if !message.contains(cause) {
        // Writing to a String cannot fail.
        let _ = write!(message, ": {cause}");
    }
}

/// The text with every control character escaped: what stands in a name of a file or in an answer of a server must not begin a line of its own.
fn one_line(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}

/// The code of an error that has one.
fn code_of(cause: &(dyn StdError + 'static)) -> Option<&'static str> {
    if let Some(known) = cause.downcast_ref::<Failure>() {
        return Some(known.code);
    }
    if let Some(known) = cause.downcast_ref::<SourceError>() {
        return Some(known.code());
    }
    if let Some(known) = cause.downcast_ref::<LedgerError>() {
        return Some(known.code());
    }
    if let Some(known) = cause.downcast_ref::<NetworkError>() {
        return Some(known.code());
    }
    if let Some(known) = cause.downcast_ref::<PostgresError>() {
        return Some(known.code());
    }
    if let Some(known) = cause.downcast_ref::<ClusterError>() {
        return Some(known.code());
    }
    if let Some(known) = cause.downcast_ref::<JsonlError>() {
        return Some(known.code());
    }
    // What could not be written is told like any other write.
    cause.downcast_ref::<FixtureError>().filter(|known| !matches!(known, FixtureError::Io(_))).map(FixtureError::code)
}

/// What the system says, also through a library that has it in an error of its own.
fn io_kind(cause: &(dyn StdError + 'static)) -> Option<ErrorKind> {
    if let Some(json) = cause.downcast_ref::<serde_json::Error>() {
        return json.io_error_kind();
    }
    cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
}

/// A word as a shell takes it, on one line: in single quotes, or, where it has control characters, as `$'…'`.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.chars().any(char::is_control) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut out = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn each_cause_is_told_once() {
        let io = || std::io::Error::new(ErrorKind::StorageFull, "no room");
        let error = Err::<(), _>(FixtureError::from(io())).context("writing x").unwrap_err();
        let failure = Failure::of(&error);
        assert_eq!((failure.code, failure.message.as_str()), ("io", "writing x: cannot write the ledger: no room"));
        let error = Err::<(), _>(Failure::new("a-code", "because: no room")).context("place").unwrap_err();
        let failure = Failure::of(&error);
        assert_eq!((failure.code, failure.message.as_str()), ("a-code", "place: because: no room"));
        let error = Err::<(), _>(io()).context("one").context("two").unwrap_err();
        assert_eq!(Failure::of(&error).message, "two: one: no room");
    }

    #[test]
    fn a_closed_output_is_seen_behind_a_library() {
        struct Closed;
        impl std::io::Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let error = anyhow::Error::from(serde_json::to_writer(Closed, &1).unwrap_err());
        assert_eq!(Failure::of(&error).code, "broken-pipe");
    }

    #[test]
    fn messages_have_one_line() {
        assert_eq!(one_line("a\nb\u{1b}[31m é'\\"), "a\\nb\\u{1b}[31m é'\\");
    }

    #[test]
    fn words_are_what_a_shell_reads() {
        for word in ["plain/x.xdr", "", "two words", "it's", "$HOME `x` \"y\" \\", "line\nline", "tab\t'\\ \u{1b}", "é\n\u{85}"] {
            let quoted = shell_word(word);
            assert!(!quoted.contains('\n'), "{quoted}");
            let shell = std::process::Command::new("bash").arg("-c").arg(format!("printf %s {quoted}")).output();
            let Ok(shell) = shell else {
                println!("skipped words_are_what_a_shell_reads: no bash");
                return;
            };
            assert_eq!(String::from_utf8(shell.stdout).unwrap(), word, "{quoted}");
        }
    }
}
