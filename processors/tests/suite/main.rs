//! Rows of hand-shaped ledgers: what each rule of docs/rows.md says, one test a rule.

mod effects;
mod participants;
mod rows;
mod support;
