//! What a check found: always two hashes that should be one.

use thiserror::Error;

use crate::error::{Fault, Hex};

/// Two hashes that differ. The ledger stands in the error around it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainFault {
    /// The ledger does not follow the one before it.
    #[error(
        "header names {} as the hash of ledger {before}, but ledger {before} came with hash {}; read both from one source of one network",
        Hex(.named), Hex(.found)
    )]
    Link {
        /// Sequence of the ledger before.
        before: u32,
        /// Its hash as this ledger's header says.
        named: [u8; 32],
        /// Its hash as it came.
        found: [u8; 32],
    },
    /// The transaction set was made for another ledger before this one than the header names.
    #[error(
        "header names {} as the hash of the ledger before, but its transaction set {}; this ledger was never closed so: fetch it again",
        Hex(.named), Hex(.found)
    )]
    SetLink {
        /// Hash of the ledger before as the header says.
        named: [u8; 32],
        /// The same as the transaction set says.
        found: [u8; 32],
    },
    /// The header is not the one that the ledger's hash is of.
    #[error("ledger hash is {}, but its header hashes to {}; the frame was changed after the ledger closed: fetch it again", Hex(.named), Hex(.found))]
    Header {
        /// The ledger's hash as the frame says.
        named: [u8; 32],
        /// Hash of the header in the frame.
        found: [u8; 32],
    },
    /// The transaction set is not the one that the header names.
    #[error("header names transaction set {}, but the one in the frame hashes to {}; it was changed after the ledger closed: fetch it again", Hex(.named), Hex(.found))]
    TransactionSet {
        /// The header's `scpValue.txSetHash`.
        named: [u8; 32],
        /// Hash of the set in the frame.
        found: [u8; 32],
    },
    /// The results are not those that the header names.
    #[error("header names results {}, but those in the frame hash to {}; they were changed after the ledger closed: fetch it again", Hex(.named), Hex(.found))]
    Results {
        /// The header's `txSetResultHash`.
        named: [u8; 32],
        /// Hash of the results in the frame.
        found: [u8; 32],
    },
}

impl ChainFault {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Link { .. } | Self::SetLink { .. } => "chain-broken",
            Self::Header { .. } => "header-hash-mismatch",
            Self::TransactionSet { .. } => "transaction-set-hash-mismatch",
            Self::Results { .. } => "result-hash-mismatch",
        }
    }
}

impl From<ChainFault> for Fault {
    fn from(fault: ChainFault) -> Self {
        Self::Chain(Box::new(fault))
    }
}
