//! The Stellar ledger as a domain, pure: from the bytes of a `LedgerCloseMeta` to views that processors read, and the rows they write.
//!
//! No clock, no I/O, no threads. Nothing is encoded again and nothing copied that a borrow can serve. The way of a ledger: [`Skim`] finds its
//! parts, [`envelope`] hashes and pairs, [`PairedLedger::transaction`] decodes one transaction, [`OperationView`] shows its operations.

pub mod address;
pub mod changes;
pub mod contract_id;
pub mod coverage;
mod current;
pub mod derived_id;
pub mod envelope;
pub mod error;
pub mod head;
pub mod network;
mod operation;
pub mod rows;
pub mod sink;
pub mod skim;
pub mod strkey;
pub mod toid;
pub mod transaction;
pub mod verify;

pub use address::AddressBytes;
pub use changes::Change;
pub use coverage::Coverage;
pub use current::CurrentState;
pub use error::{Fault, LedgerError};
pub use head::{LedgerHead, peek};
pub use network::Network;
pub use operation::OperationView;
pub use skim::Skim;
pub use transaction::{PairedLedger, Transaction};
pub use verify::{ChainCheck, Verify};
