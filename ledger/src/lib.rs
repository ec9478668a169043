//! The Stellar ledger as a domain, pure: from the bytes of a `LedgerCloseMeta` to views that processors read, and the rows they write.
//!
//! No clock, no I/O, no threads. Nothing is encoded again and nothing copied that a borrow can serve.

pub mod address;
pub mod head;
pub mod rows;
pub mod sink;

pub use address::AddressBytes;
pub use head::LedgerHead;

use once_cell as _;
use sha2 as _;
use starmill_xdr as _;
use thiserror as _;
