//! How an error reaches people and programs: one line with a code, the place, and what to do.

use std::io::ErrorKind;
use std::process::ExitCode;

use starmill_ledger::LedgerError;
use starmill_sources::SourceError;
use thiserror::Error;

use crate::network::NetworkError;
use crate::output::complain;

/// An error with its code, and a second line of advice where there is one.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Failure {
    /// A stable name for programs.
    pub(crate) code: &'static str,
    /// What is wrong and where, one line.
    pub(crate) message: String,
    /// The command to run or the thing to change, where the message does not say it.
    pub(crate) advice: Option<String>,
}

impl Failure {
    /// A failure without further advice.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), advice: None }
    }

    /// What is known of any error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let message = format!("{error:#}");
        if let Some(known) = error.downcast_ref::<Self>() {
            return Self { code: known.code, message, advice: known.advice.clone() };
        }
        let code = code_of(error);
        Self { code, message, advice: None }
    }

    /// Prints it and gives the exit status. A reader who went away (`starmill rows … | head`) is no failure.
    pub(crate) fn report(&self) -> ExitCode {
        if self.code == "broken-pipe" {
            return ExitCode::SUCCESS;
        }
        complain!("error[{}]: {}", self.code, self.message);
        if let Some(advice) = &self.advice {
            complain!("  {advice}");
        }
        ExitCode::FAILURE
    }
}

/// The code of the first error in the chain that has one.
fn code_of(error: &anyhow::Error) -> &'static str {
    for cause in error.chain() {
        if let Some(known) = cause.downcast_ref::<SourceError>() {
            return known.code();
        }
        if let Some(known) = cause.downcast_ref::<LedgerError>() {
            return known.code();
        }
        if let Some(known) = cause.downcast_ref::<NetworkError>() {
            return known.code();
        }
        if let Some(known) = cause.downcast_ref::<starmill_sinks::PostgresError>() {
            return known.code();
        }
        if let Some(known) = cause.downcast_ref::<starmill_sinks::ClusterError>() {
            return known.code();
        }
        if let Some(known) = cause.downcast_ref::<starmill_sinks::JsonlError>() {
            return known.code();
        }
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            return if io.kind() == ErrorKind::BrokenPipe { "broken-pipe" } else { "io" };
        }
    }
    "other"
}
