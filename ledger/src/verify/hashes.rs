//! The hashes of a ledger's parts, each from the frame's own bytes.
//!
//! Rules as stellar-core has them, seen to hold on real ledgers of close metas V0, V1 and V2 (docs/reliability.md):
//!
//! - A generalized transaction set (CAP-42, CAP-63) hashes as its XDR.
//! - A plain one hashes as the hash of the ledger before it and then its envelopes, without their count. stellar-core holds the envelopes
//!   sorted by their hash and writes them so; they are hashed as they stand, so that another order is another set.
//! - The results hash as XDR of `TransactionResultSet`: their count and every `TransactionResultPair` in apply order, which is the order of
//!   the transaction processing list. Of close meta V2 they are the results after refunds.
//!
//! Which kind of set a ledger has is told by its close meta, not by the protocol in its header: the ledger that upgrades to protocol 20
//! already says 20 and still has a plain set.

use sha2::{Digest, Sha256};

use crate::head::LedgerHead;
use crate::skim::Skim;

/// Bytes of a hash.
const HASH: usize = 32;
/// Bytes of a count or a union's discriminant.
const WORD: usize = 4;

/// Hash of the header.
pub(super) fn header(frame: &[u8], skim: &Skim) -> [u8; 32] {
    Sha256::digest(skim.header.header.of(frame)).into()
}

/// Hash of the transaction set.
pub(super) fn transaction_set(frame: &[u8], head: &LedgerHead, skim: &Skim) -> [u8; 32] {
    let set = skim.transaction_set.of(frame);
    if head.close_meta_version > 0 {
        return Sha256::digest(set).into();
    }
    let (previous, envelopes) = set.split_at_checked(HASH).unwrap_or_default();
    let mut sha = Sha256::new_with_prefix(previous);
    sha.update(envelopes.get(WORD..).unwrap_or_default());
    sha.finalize().into()
}

/// Hash of the ledger before, as the transaction set says.
pub(super) fn previous_of_set(frame: &[u8], head: &LedgerHead, skim: &Skim) -> [u8; 32] {
    let set = skim.transaction_set.of(frame);
    // A generalized set begins with its version.
    let start = if head.close_meta_version > 0 { WORD } else { 0 };
    first_hash(set.get(start..).unwrap_or_default())
}

/// Hash of the results.
pub(super) fn results(frame: &[u8], skim: &Skim) -> [u8; 32] {
    // Skimming refuses more transactions than a TOID can number, which is far below 32 bits.
    let count = u32::try_from(skim.transactions.len()).unwrap_or(u32::MAX);
    let mut sha = Sha256::new_with_prefix(count.to_be_bytes());
    for transaction in &skim.transactions {
        sha.update(transaction.result.of(frame));
    }
    sha.finalize().into()
}

/// The hash at the start of `bytes`; zeros where there are none, which is no hash of anything.
pub(super) fn first_hash(bytes: &[u8]) -> [u8; 32] {
    bytes.first_chunk().copied().unwrap_or_default()
}
