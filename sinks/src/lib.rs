//! Where rows go: Postgres, JSON lines, nothing.
//!
//! Each sink takes [`starmill_ledger::sink::Batch`]es of whole ledgers and makes each durable as a whole or leaves no trace of it. It knows which
//! ledgers are durable ([`Coverage`]), so that a rerun writes nothing twice. The layout of tables and files: docs/rows.md.

pub mod jsonl;
pub mod null;
pub mod postgres;

pub use jsonl::{JsonRows, JsonlError, JsonlSink};

pub use null::{CountRows, NullSink};
pub use postgres::cluster::{ClusterError, PrivateCluster};
pub use postgres::{CopyRows, PostgresConfig, PostgresError, PostgresSink};

#[cfg(test)]
use proptest as _;
#[cfg(test)]
use starmill_xdr as _;
#[cfg(test)]
use tempfile as _;
