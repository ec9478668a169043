//! Hash: the hash of every envelope, and the envelope of every result.
//!
//! Envelopes are hashed in contiguous chunks of at least [`CHUNK_MIN`], since a hash takes less time than waking a thread. Fails when a
//! result has no envelope: a ledger of another network, or one that is not whole.

use rayon::prelude::*;
use starmill_ledger::{LedgerError, LedgerHead, Network, Skim, envelope};

/// Fewest envelopes that are worth a thread of their own: hashing them takes about as long as waking it.
pub const CHUNK_MIN: usize = 256;

/// Hashes all envelopes into `hashes`, on the threads of the current pool when `threads` is more than one.
pub fn hash(network: &Network, frame: &[u8], skim: &Skim, threads: usize, hashes: &mut Vec<[u8; 32]>) {
    hashes.clear();
    hashes.resize(skim.envelopes.len(), [0; 32]);
    let chunk = skim.envelopes.len().div_ceil(threads.max(1)).max(CHUNK_MIN);
    let fill = |(hashes, envelopes): (&mut [[u8; 32]], &[starmill_ledger::skim::EnvelopeSpan])| {
        for (hash, envelope) in hashes.iter_mut().zip(envelopes) {
            *hash = envelope::hash(network, frame, envelope);
        }
    };
    if threads <= 1 || skim.envelopes.len() <= chunk {
        fill((hashes, &skim.envelopes));
    } else {
        hashes.par_chunks_mut(chunk).zip(skim.envelopes.par_chunks(chunk)).for_each(fill);
    }
}

/// Finds the envelope of every transaction.
pub fn pair(network: &Network, frame: &[u8], head: &LedgerHead, skim: &Skim, hashes: &[[u8; 32]]) -> Result<Vec<u32>, LedgerError> {
    envelope::pair(network, frame, head.sequence, skim, hashes)
}
