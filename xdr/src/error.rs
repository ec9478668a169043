//! What can be wrong with XDR bytes, and where.
//!
//! While bytes are read a failure is only the zero-sized [`Stop`]; what happened is kept in the cursor, so that the result of every small
//! read fits in registers. [`crate::decode`] and its siblings turn it into an [`XdrError`].

use thiserror::Error;

/// Decoding cannot go on; the cursor knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop;

/// Why bytes are not the XDR of the type asked for. Offsets count from the first byte given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum XdrError {
    /// The input ends inside a value.
    #[error("input ends at byte {offset}: {needed} bytes needed, {remaining} left")]
    Truncated {
        /// Where the value that does not fit begins.
        offset: usize,
        /// How many bytes it needs.
        needed: usize,
        /// How many there are.
        remaining: usize,
    },
    /// A length or count above what the type allows.
    #[error("length {claimed} at byte {offset} is over the maximum of {max}")]
    TooLong {
        /// Where the length stands.
        offset: usize,
        /// What it claims.
        claimed: u32,
        /// What the type allows.
        max: u32,
    },
    /// Padding bytes that are not zero.
    #[error("padding at byte {offset} is not zero")]
    Padding {
        /// Where the padding begins.
        offset: usize,
    },
    /// A boolean, or the flag of an optional, that is neither 0 nor 1.
    #[error("boolean at byte {offset} is {value}, not 0 or 1")]
    Boolean {
        /// Where it stands.
        offset: usize,
        /// What it is.
        value: u32,
    },
    /// An enum value or union arm that this version of the protocol definitions does not know.
    #[error("{type_name} at byte {offset} has the unknown value {value}; a newer protocol needs a newer starmill")]
    Unknown {
        /// XDR name of the enum or union.
        type_name: &'static str,
        /// Where it stands.
        offset: usize,
        /// What it is.
        value: i32,
    },
    /// Recursive types nested deeper than the limit.
    #[error("values nested deeper than {limit} at byte {offset}")]
    TooDeep {
        /// Where the limit was passed.
        offset: usize,
        /// The limit.
        limit: u32,
    },
    /// Bytes after the end of the value.
    #[error("{extra} bytes follow the value, which ends at byte {offset}")]
    Trailing {
        /// Where the value ends.
        offset: usize,
        /// How many bytes follow.
        extra: usize,
    },
    /// The arena's budget for one unit of work is used up.
    #[error("decoding needs more than the arena budget of {budget_bytes} bytes, at byte {offset}")]
    ArenaBudget {
        /// Where in the input.
        offset: usize,
        /// The budget.
        budget_bytes: usize,
    },
}

impl XdrError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "xdr-truncated",
            Self::TooLong { .. } => "xdr-too-long",
            Self::Padding { .. } => "xdr-padding",
            Self::Boolean { .. } => "xdr-boolean",
            Self::Unknown { .. } => "xdr-unknown-value",
            Self::TooDeep { .. } => "xdr-too-deep",
            Self::Trailing { .. } => "xdr-trailing-bytes",
            Self::ArenaBudget { .. } => "xdr-arena-budget",
        }
    }

    /// Where in the input, in bytes from its start.
    pub fn offset(&self) -> usize {
        match *self {
            Self::Truncated { offset, .. }
            | Self::TooLong { offset, .. }
            | Self::Padding { offset }
            | Self::Boolean { offset, .. }
            | Self::Unknown { offset, .. }
            | Self::TooDeep { offset, .. }
            | Self::Trailing { offset, .. }
            | Self::ArenaBudget { offset, .. } => offset,
        }
    }
}
