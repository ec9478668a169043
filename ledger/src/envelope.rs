//! Envelope hashes, straight from the bytes of the frame, and which envelope each result belongs to.
//!
//! The hash is SHA-256 of `TransactionSignaturePayload`: network id, envelope type, transaction. The transaction stands in the frame in that
//! very form, so nothing is encoded. A V0 transaction is hashed as the V1 transaction that it stands for (CAP-15): four zero bytes, the
//! type of its source key, go before it; its optional time bounds already read as preconditions.

use sha2::{Digest, Sha256};

use crate::error::{Fault, LedgerError};
use crate::network::Network;
use crate::skim::{EnvelopeKind, EnvelopeSpan, Skim};

/// Envelope type of a transaction in the signature payload.
const TYPE_TX: [u8; 4] = [0, 0, 0, 2];
/// Envelope type of a fee bump.
const TYPE_FEE_BUMP: [u8; 4] = [0, 0, 0, 5];
/// Key type before an ed25519 source.
const KEY_TYPE_ED25519: [u8; 4] = [0, 0, 0, 0];

/// The hash of one envelope.
pub fn hash(network: &Network, frame: &[u8], envelope: &EnvelopeSpan) -> [u8; 32] {
    let mut sha = Sha256::new_with_prefix(network.id());
    match envelope.kind {
        EnvelopeKind::V0 => {
            sha.update(TYPE_TX);
            sha.update(KEY_TYPE_ED25519);
        }
        EnvelopeKind::V1 => sha.update(TYPE_TX),
        EnvelopeKind::FeeBump => sha.update(TYPE_FEE_BUMP),
    }
    sha.update(envelope.transaction.of(frame));
    sha.finalize().into()
}

/// The envelope of every transaction, as an index into the skim's envelopes.
///
/// `hashes` are those of the envelopes, in the same order. When one hash stands twice, both results get the last envelope of that hash.
pub fn pair(network: &Network, frame: &[u8], sequence: u32, skim: &Skim, hashes: &[[u8; 32]]) -> Result<Vec<u32>, LedgerError> {
    // Numbers sort faster than hashes, and the first eight bytes tell nearly all hashes apart.
    let mut by_prefix: Vec<(u64, u32)> = hashes.iter().zip(0..).map(|(hash, index)| (prefix(hash), index)).collect();
    by_prefix.sort_unstable();
    let find = |hash: &[u8; 32]| {
        let prefix = prefix(hash);
        let end = by_prefix.partition_point(|(other, _)| *other <= prefix);
        let alike = by_prefix[..end].iter().rev().take_while(|(other, _)| *other == prefix);
        alike.map(|(_, index)| *index).find(|index| hashes.get(*index as usize) == Some(hash))
    };
    let mut pairs = Vec::with_capacity(skim.transactions.len());
    for (i, transaction) in skim.transactions.iter().enumerate() {
        let hash = result_hash(transaction.result.of(frame));
        match find(&hash) {
            Some(index) => pairs.push(index),
            None if none_fits(frame, skim, &find) => {
                return Err(Fault::NetworkMismatch { passphrase: network.passphrase().to_owned() }.in_ledger(sequence));
            }
            None => {
                let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
                return Err(Fault::UnknownTransactionHash(hash).in_transaction(sequence, number));
            }
        }
    }
    Ok(pairs)
}

/// Whether no result at all belongs to an envelope.
fn none_fits(frame: &[u8], skim: &Skim, find: &impl Fn(&[u8; 32]) -> Option<u32>) -> bool {
    skim.transactions.iter().all(|t| find(&result_hash(t.result.of(frame))).is_none())
}

/// The network among `candidates` by which the ledger's first result has an envelope; `None` when none fits or there is no transaction.
pub fn detect(candidates: impl IntoIterator<Item = Network>, frame: &[u8], skim: &Skim) -> Option<Network> {
    let first = result_hash(skim.transactions.first()?.result.of(frame));
    candidates.into_iter().find(|network| skim.envelopes.iter().any(|e| hash(network, frame, e) == first))
}

/// The first bytes of a hash, as a number.
fn prefix(hash: &[u8; 32]) -> u64 {
    hash.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// A result pair begins with the hash.
fn result_hash(pair: &[u8]) -> [u8; 32] {
    pair.first_chunk().copied().unwrap_or_default()
}
