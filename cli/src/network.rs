//! Which network a ledger belongs to, when nobody says: the one by whose passphrase its hashes fit.

use starmill_ledger::{LedgerError, Network, Skim, envelope};
use thiserror::Error;

/// Why no network could be found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NetworkError {
    /// No preset fits.
    #[error("ledger {0} belongs to none of pubnet, testnet, futurenet, local; give its passphrase with --network")]
    NoPreset(u32),
    /// There is no hash to try.
    #[error("none of the first {0} ledgers has a transaction to tell the network by; give it with --network")]
    NoTransaction(usize),
    /// The ledger to look at is malformed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl NetworkError {
    /// A stable name for programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Ledger(error) => error.code(),
            _ => "network-unknown",
        }
    }
}

/// The network that was asked for.
pub(crate) fn given(text: Option<&str>) -> Option<Network> {
    text.map(Network::from_name_or_passphrase)
}

/// Looks at one ledger; `Ok(None)` when it has no transaction.
pub(crate) fn detect(frame: &[u8]) -> Result<Option<Network>, NetworkError> {
    let (head, skim) = Skim::of(frame)?;
    if skim.transactions.is_empty() {
        return Ok(None);
    }
    envelope::detect(Network::presets(), frame, &skim).map(Some).ok_or(NetworkError::NoPreset(head.sequence))
}
