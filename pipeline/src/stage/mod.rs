//! The stages that a ledger passes between source and sink, in order.
//!
//! [`source`] reads frames ahead, [`skim`] finds the parts of a frame, [`hash`] the hashes of its envelopes and which belongs to which result, [`process`] turns
//! transactions into rows, [`fold`] joins them in order, [`batch`] gathers whole ledgers for one commit, and [`persist`]
//! makes them durable.

pub mod batch;
pub mod fold;
pub mod hash;
pub mod persist;
pub mod process;
pub mod skim;
pub mod source;
