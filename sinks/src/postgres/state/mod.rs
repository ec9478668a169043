//! Current state and SEP-41 tokens at the commit: what earlier ledgers have taught, what a batch comes to, and the statements that write it.
//!
//! Promises: ledgers are judged in their order, so that two batches leave the same tables as one; current state only moves forward: a ledger
//! below the highest that is covered adds history alone (docs/rows.md, current state).

mod apply;
mod columns;
mod encode;
mod known;
mod latest;
mod plan;
mod tables;

pub(crate) use apply::{Stage, apply, delete_expired};
pub(crate) use known::Known;
pub(crate) use plan::Plan;
pub(crate) use tables::{STATE_TABLES, StateStatements, prepare};
