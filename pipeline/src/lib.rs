//! The route of a ledger: source, skim, hash, process, fold, batch, persist (docs/ARCHITECTURE.md).
//!
//! Names no concrete source, processor or sink: frames come from an iterator, rows are made by a [`Process`] and kept by a
//! [`starmill_ledger::sink::Sink`]. The same frames give the same rows in the same order at any number of threads.

pub mod budget;
mod engine;
mod progress;
mod run;
mod shares;
pub mod stage;

pub use engine::{Engine, Process};
pub use progress::{Latency, Progress, QueueGauge, Stage, StageCounters};
pub use run::{FailedLedger, Limits, Outcome, RunError, run};
pub use stage::source::Input;
