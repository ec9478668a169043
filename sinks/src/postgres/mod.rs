//! Rows into Postgres: encoder, schema, commit, status, and a private cluster for those who have none.
//!
//! Promises: what `ledger_coverage` covers is whole: history, current state and cursors of its ledgers became visible as committed in one transaction;
//! history above it is there for moments only (a large batch is copied ahead of its commit), and none is left when a writer opens. Current state only
//! moves forward. A backfill loads whole partitions where nobody sees them and attaches them (`bulk`). One writer per role, tip and backfill, side by side. A database of another network or of a newer starmill is refused. Plain
//! `PostgreSQL` 13 and later; hypertables where `TimescaleDB` is installed.

mod ahead;
mod bulk;
pub mod cluster;
mod commit;
mod config;
mod connect;
mod copy;
mod cover;
mod error;
#[cfg(feature = "failpoints")]
mod failpoints;
mod metrics;
mod partitions;
mod pending;
mod pieces;
mod retain;
mod retry;
mod schema;
mod send;
mod session;
mod sink;
mod state;
mod status;
mod steps;
mod verify;
mod writer;

pub use config::{PostgresConfig, Standby, WriterRole};
pub use copy::CopyRows;
pub use error::{PostgresError, StatementError};
pub use metrics::{Covered, PostgresMetrics, TableTotals};
pub use retain::Retained;
pub use sink::PostgresSink;
pub use status::{PostgresStatus, RowCounts, TableStatus, network, status};
#[doc(hidden)]
pub use steps::{BULK_STEPS, STEPS, Step, StepAction, Steps};
pub use verify::{Difference, StateCheck, Verified, Verifier};

/// The tables of history, which are divided by close time.
pub const HISTORY_TABLES: [&str; 5] = ["transactions", "transactions_accounts", "operations", "operations_accounts", "state_changes"];
