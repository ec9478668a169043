//! Why a ledger cannot be processed, and where in it.

use std::fmt;

use starmill_xdr::XdrError;
use thiserror::Error;

use crate::verify::ChainFault;

/// A fault and its place. One line, with a stable [`LedgerError::code`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {fault}", Place(self))]
pub struct LedgerError {
    /// Ledger sequence; 0 when even that could not be read.
    pub ledger: u32,
    /// Transaction, 1-based in apply order.
    pub transaction: Option<u32>,
    /// Operation, 0-based in its transaction.
    pub operation: Option<u32>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The bytes are not what they should be.
    #[error("{0}")]
    Xdr(#[from] XdrError),
    /// A result names a transaction that is not in the transaction set.
    #[error("result for transaction {} but no such envelope in the transaction set", Hex(.0))]
    UnknownTransactionHash([u8; 32]),
    /// No result fits any envelope: the ledger belongs to another network.
    #[error("no transaction hash fits the passphrase {passphrase:?}; give the ledger's own network with --network")]
    NetworkMismatch {
        /// The passphrase that was tried.
        passphrase: String,
    },
    /// An UPDATED or REMOVED change without the state before it.
    #[error("change {index} of the operation's meta is UPDATED or REMOVED without STATE or RESTORED before it")]
    ChangeWithoutState {
        /// Position in the raw list.
        index: usize,
    },
    /// Meta or result lacks what the operation's type demands.
    #[error("{0}")]
    Inconsistent(&'static str),
    /// A sequence number, count or time that no row can hold.
    #[error("{what} is {value}, over the largest that a row can hold ({max})")]
    OutOfRange {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest allowed.
        max: u64,
    },
    /// Fee arithmetic that would go below zero or over 64 bits (differences from the reference: docs/rows.md).
    #[error("fee arithmetic of the transaction does not fit: {0}")]
    Fee(&'static str),
    /// A hash is not that of what it names. Behind a pointer, since two hashes would make every result on the way larger.
    #[error("{0}")]
    Chain(Box<ChainFault>),
}

impl Fault {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Xdr(error) => error.code(),
            Self::UnknownTransactionHash(_) => "unknown-transaction-hash",
            Self::NetworkMismatch { .. } => "network-mismatch",
            Self::ChangeWithoutState { .. } => "change-without-state",
            Self::Inconsistent(_) => "inconsistent-meta",
            Self::OutOfRange { .. } => "out-of-range",
            Self::Fee(_) => "fee-arithmetic",
            Self::Chain(fault) => fault.code(),
        }
    }

    /// The fault as an error of a whole ledger.
    pub fn in_ledger(self, ledger: u32) -> LedgerError {
        LedgerError { ledger, transaction: None, operation: None, fault: self }
    }

    /// The fault as an error of one transaction, 1-based.
    pub fn in_transaction(self, ledger: u32, transaction: u32) -> LedgerError {
        LedgerError { ledger, transaction: Some(transaction), operation: None, fault: self }
    }
}

impl LedgerError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        self.fault.code()
    }
}

/// The place of an error, as people read it.
struct Place<'e>(&'e LedgerError);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.ledger {
            0 => f.write_str("ledger of unknown sequence")?,
            ledger => write!(f, "ledger {ledger}")?,
        }
        if let Some(transaction) = self.0.transaction {
            write!(f, ", transaction {transaction}")?;
        }
        if let Some(operation) = self.0.operation {
            write!(f, ", operation {operation}")?;
        }
        Ok(())
    }
}

/// A hash in lower-case hex.
pub(crate) struct Hex<'h>(pub(crate) &'h [u8; 32]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
