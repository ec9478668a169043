//! Hash: the hash of every envelope, and the envelope of every result.
//!
//! Envelopes are hashed in contiguous chunks of at least [`CHUNK_MIN`], since a hash takes less time than waking a thread; the caller takes
//! the first. Fails when a result has no envelope: a ledger of another network, or one that is not whole.

use rayon::ThreadPool;
use starmill_ledger::skim::EnvelopeSpan;
use starmill_ledger::{LedgerError, LedgerHead, Network, Skim, envelope};

/// Fewest envelopes that are worth a thread of their own: hashing them takes about as long as waking it.
pub const CHUNK_MIN: usize = 256;

/// Hashes all envelopes into `hashes`, here and on the threads of the pool when there are enough.
pub fn hash(network: &Network, frame: &[u8], skim: &Skim, pool: Option<&ThreadPool>, hashes: &mut Vec<[u8; 32]>) {
    hashes.clear();
    hashes.resize(skim.envelopes.len(), [0; 32]);
    let fill = |hashes: &mut [[u8; 32]], envelopes: &[EnvelopeSpan]| {
        for (hash, envelope) in hashes.iter_mut().zip(envelopes) {
            *hash = envelope::hash(network, frame, envelope);
        }
    };
    let chunk = skim.envelopes.len().div_ceil(pool.map_or(1, ThreadPool::current_num_threads)).max(CHUNK_MIN);
    match pool {
        Some(pool) if skim.envelopes.len() > chunk => pool.in_place_scope(|scope| {
            let (first, later) = hashes.split_at_mut(chunk);
            let (here, there) = skim.envelopes.split_at(chunk);
            for (hashes, envelopes) in later.chunks_mut(chunk).zip(there.chunks(chunk)) {
                scope.spawn(move |_| fill(hashes, envelopes));
            }
            fill(first, here);
        }),
        _ => fill(hashes, &skim.envelopes),
    }
}

/// Finds the envelope of every transaction.
pub fn pair(network: &Network, frame: &[u8], head: &LedgerHead, skim: &Skim, hashes: &[[u8; 32]]) -> Result<Vec<u32>, LedgerError> {
    envelope::pair(network, frame, head.sequence, skim, hashes)
}
