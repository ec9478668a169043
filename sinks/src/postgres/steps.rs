//! The steps of opening a database, of a commit and of retention, by name, and what tests do there: the places at which a writer may die that differ in what it leaves.
//!
//! [`STEPS`] is the one list; tests go through all of it. A hook ([`Steps`]) ends the writer with an error, or loses its connection. Where the feature
//! `failpoints` is built in, the process itself dies: `STARMILL_FAIL_AT=covered:2` aborts it when it comes to the step `covered` for the second time.

use std::fmt;
use std::sync::Arc;

use super::PostgresError;
use super::config::PostgresConfig;

/// Where a writer is.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The schema is made or found up to date, not committed.
    Migrated,
    /// Earlier writers of the role are fenced off, not committed.
    Fenced,
    /// What an earlier writer left in this table is deleted, not committed.
    Cleaned(&'static str),
    /// All that an earlier writer left is deleted and forgotten; committed.
    TakenOver,
    /// Partitions are made, not committed.
    Partitioned,
    /// The ledgers are in `starmill_pending`.
    Pending,
    /// Half of this table's rows (or of a connection's piece of it) are sent.
    Copying(&'static str),
    /// This table (or a connection's piece of it) is copied, not committed.
    Copied(&'static str),
    /// A connection has committed its pieces.
    CopiesCommitted,
    /// All pieces are committed, or, in a commit of one transaction, sent.
    HistoryWritten,
    /// Current state is written, not committed.
    StateWritten,
    /// Coverage is written, not committed.
    Covered,
    /// The last COMMIT was answered.
    Committed,
    /// Rows are in a partition that nobody sees yet; committed.
    Loaded,
    /// Its indexes are built; committed.
    Indexed,
    /// It is attached and covered, not committed.
    Attached,
    /// Partitions that are too old are dropped and coverage is lowered, not committed.
    Dropped,
    /// That is committed.
    Retained,
}

/// Every step there is, in about the order in which a writer comes to them.
#[doc(hidden)]
pub const STEPS: [Step; 27] = [
    Step::Migrated,
    Step::Fenced,
    Step::Cleaned("transactions"),
    Step::Cleaned("transactions_accounts"),
    Step::Cleaned("operations"),
    Step::Cleaned("operations_accounts"),
    Step::Cleaned("state_changes"),
    Step::TakenOver,
    Step::Partitioned,
    Step::Pending,
    Step::Copying("transactions"),
    Step::Copying("transactions_accounts"),
    Step::Copying("operations"),
    Step::Copying("operations_accounts"),
    Step::Copying("state_changes"),
    Step::Copied("transactions"),
    Step::Copied("transactions_accounts"),
    Step::Copied("operations"),
    Step::Copied("operations_accounts"),
    Step::Copied("state_changes"),
    Step::CopiesCommitted,
    Step::HistoryWritten,
    Step::StateWritten,
    Step::Covered,
    Step::Committed,
    Step::Dropped,
    Step::Retained,
];

/// Steps of a backfill that loads partitions in bulk, beside [`Step::Committed`].
#[doc(hidden)]
pub const BULK_STEPS: [Step; 3] = [Step::Loaded, Step::Indexed, Step::Attached];

impl Step {
    /// Every step of any kind of work.
    #[cfg(feature = "failpoints")]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        STEPS.into_iter().chain(BULK_STEPS)
    }

    /// Whether opening or a commit comes to this step: one that copies history ahead (`ahead`), or one of a single transaction.
    pub fn is_in(self, ahead: bool) -> bool {
        match self {
            Self::Pending | Self::CopiesCommitted => ahead,
            Self::Dropped | Self::Retained | Self::Loaded | Self::Indexed | Self::Attached => false,
            _ => true,
        }
    }
}

/// The name of the step, and of its table.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Migrated => f.write_str("migrated"),
            Self::Fenced => f.write_str("fenced"),
            Self::Cleaned(table) => write!(f, "cleaned-{table}"),
            Self::TakenOver => f.write_str("taken-over"),
            Self::Partitioned => f.write_str("partitioned"),
            Self::Pending => f.write_str("pending"),
            Self::Copying(table) => write!(f, "copying-{table}"),
            Self::Copied(table) => write!(f, "copied-{table}"),
            Self::CopiesCommitted => f.write_str("copies-committed"),
            Self::HistoryWritten => f.write_str("history-written"),
            Self::StateWritten => f.write_str("state-written"),
            Self::Covered => f.write_str("covered"),
            Self::Committed => f.write_str("committed"),
            Self::Loaded => f.write_str("loaded"),
            Self::Indexed => f.write_str("indexed"),
            Self::Attached => f.write_str("attached"),
            Self::Dropped => f.write_str("dropped"),
            Self::Retained => f.write_str("retained"),
        }
    }
}

/// What a test wants to happen there.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepAction {
    /// Nothing.
    GoOn,
    /// The writer dies: no rollback, no cleaning.
    Die,
    /// The connection is lost.
    LoseConnection,
}

/// A test's hook.
#[doc(hidden)]
#[derive(Clone)]
pub struct Steps(pub Arc<dyn Fn(Step) -> StepAction + Send + Sync>);

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Steps(..)")
    }
}

/// Tells the tests where a writer is, and does what they want.
pub(crate) fn at(config: &PostgresConfig, step: Step) -> Result<(), PostgresError> {
    #[cfg(feature = "failpoints")]
    super::failpoints::hit(step);
    match config.steps.as_ref().map_or(StepAction::GoOn, |steps| steps.0(step)) {
        StepAction::GoOn => Ok(()),
        StepAction::Die => Err(PostgresError::Died { step: step.to_string() }),
        StepAction::LoseConnection => Err(PostgresError::Closed),
    }
}

/// In the middle of a COPY: what was sent must have come to the server before a test ends the writer there.
pub(crate) async fn at_when_sent(config: &PostgresConfig, step: Step) -> Result<(), PostgresError> {
    #[cfg(feature = "failpoints")]
    super::failpoints::wait_if_next(step).await;
    at(config, step)
}
