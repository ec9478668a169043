//! The checks on one ledger alone.

use crate::error::LedgerError;
use crate::head::LedgerHead;
use crate::skim::Skim;

use super::fault::ChainFault;
use super::hashes;
use super::level::Verify;

/// Ledger 1 is made by stellar-core from nothing: no set was agreed on, so its header names neither set nor results.
const GENESIS: u32 = 1;
/// What a header has where it names nothing.
const NOTHING: [u8; 32] = [0; 32];

/// A ledger whose own hashes were found true, as far as its level asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Ledger sequence.
    pub sequence: u32,
    /// Its hash.
    pub hash: [u8; 32],
    /// Hash of the ledger before, as its header says.
    pub previous: [u8; 32],
    /// What was checked.
    pub level: Verify,
}

/// Checks all that needs no other ledger. `head` and `skim` are what skimming `frame` gave; with those of another frame it fails.
///
/// # Errors
/// `header-hash-mismatch`; at [`Verify::Full`] also `transaction-set-hash-mismatch`, `chain-broken` when the transaction set names another
/// ledger before it than the header does, and `result-hash-mismatch`. The first in this order is told.
pub fn seal(frame: &[u8], head: &LedgerHead, skim: &Skim, level: Verify) -> Result<Sealed, LedgerError> {
    let checked = match level {
        Verify::None => Ok(()),
        Verify::Chain => header(frame, head, skim),
        Verify::Full => header(frame, head, skim).and_then(|()| contents(frame, head, skim)),
    };
    checked.map_err(|fault| crate::Fault::from(fault).in_ledger(head.sequence))?;
    Ok(Sealed { sequence: head.sequence, hash: head.hash, previous: head.previous_hash, level })
}

fn header(frame: &[u8], head: &LedgerHead, skim: &Skim) -> Result<(), ChainFault> {
    let (named, found) = (head.hash, hashes::header(frame, skim));
    if named == found { Ok(()) } else { Err(ChainFault::Header { named, found }) }
}

fn contents(frame: &[u8], head: &LedgerHead, skim: &Skim) -> Result<(), ChainFault> {
    let set = hashes::first_hash(skim.header.transaction_set_hash.of(frame));
    let results = hashes::first_hash(skim.header.result_hash.of(frame));
    if head.sequence == GENESIS && (set, results) == (NOTHING, NOTHING) && skim.envelopes.is_empty() && skim.transactions.is_empty() {
        return Ok(());
    }
    let found = hashes::transaction_set(frame, head, skim);
    if set != found {
        return Err(ChainFault::TransactionSet { named: set, found });
    }
    let (named, found) = (head.previous_hash, hashes::previous_of_set(frame, head, skim));
    if named != found {
        return Err(ChainFault::SetLink { named, found });
    }
    let found = hashes::results(frame, skim);
    if results == found { Ok(()) } else { Err(ChainFault::Results { named: results, found }) }
}
