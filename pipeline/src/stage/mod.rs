//! The stages that a ledger passes between source and sink, in order.
//!
//! [`skim`] finds the parts of a frame, [`hash`] the hashes of its envelopes and which belongs to which result, [`process`] turns
//! transactions into rows, [`fold`] joins them in order, [`batch`] gathers whole ledgers for one commit.

pub mod batch;
pub mod fold;
pub mod hash;
pub mod process;
pub mod skim;
