//! Rows into Postgres: encoder, schema, commit, status, and a private cluster for those who have none.
//!
//! Promises: one commit is one transaction that holds the rows, the current state, the coverage and the cursors of its ledgers; current state
//! only moves forward; one writer per database; a database of another network or of a newer starmill is refused. Plain `PostgreSQL` 13 and later; hypertables where `TimescaleDB` is installed.

pub mod cluster;
mod commit;
mod connect;
mod copy;
mod error;
mod metrics;
mod partitions;
mod schema;
mod session;
mod sink;
mod state;
mod status;

pub use connect::PostgresConfig;
pub use copy::CopyRows;
pub use error::{PostgresError, StatementError};
pub use metrics::PostgresMetrics;
pub use sink::PostgresSink;
pub use status::{PostgresStatus, RowCounts, TableStatus, status};

/// The tables of history, which are divided by close time.
pub const HISTORY_TABLES: [&str; 5] = ["transactions", "transactions_accounts", "operations", "operations_accounts", "state_changes"];
