//! Chain checks: whether ledgers are what their hashes say, and follow each other.
//!
//! A ledger's hash is that of its header (`LedgerHeaderHistoryEntry.hash`), and the header names by hash the ledger before it, the set of
//! transactions that was agreed on (`scpValue.txSetHash`) and what came of them (`txSetResultHash`). Whoever trusts the last hash of a run
//! of ledgers can so trust every header, envelope and result in it. Metas, events and fee changes are named by no hash: no check can
//! tell whether they are true.
//!
//! [`Verify`] says how much is checked; docs/reliability.md says what that costs. The work on one ledger ([`seal`]) needs no other ledger
//! and may run on any thread; what needs their order ([`ChainCheck::link`]) compares 32 bytes. Everything hashed is a span of the frame
//! that skimming found: nothing is decoded, nothing encoded, nothing allocated unless there is a fault to tell.
//!
//! ```
//! use starmill_ledger::{ChainCheck, Skim, Verify};
//! # fn check(frames: &[Vec<u8>]) -> Result<(), starmill_ledger::LedgerError> {
//! let mut chain = ChainCheck::default();
//! for frame in frames {
//!     let (head, skim) = Skim::of(frame)?;
//!     chain.check(frame, &head, &skim, Verify::Full)?;
//! }
//! # Ok(())
//! # }
//! # check(&[]).unwrap();
//! ```

mod fault;
mod hashes;
mod level;
mod link;
mod seal;

pub use fault::ChainFault;
pub use level::{UnknownLevel, Verify};
pub use link::ChainCheck;
pub use seal::{Sealed, seal};
