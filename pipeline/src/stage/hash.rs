//! Hash: the hash of every envelope, and the envelope of every result.
//!
//! Envelopes stand before everything else in a frame. Where there is a thread to spare, it hashes them while the caller skims the rest of the
//! frame, which takes about as long; the hashes of a frame that then proves malformed are dropped with it. Fails when a result has no
//! envelope: a ledger of another network, or one that is not whole.

use std::time::Instant;

use rayon::ThreadPool;
use starmill_ledger::skim::EnvelopeSpan;
use starmill_ledger::{LedgerError, LedgerHead, Network, Skim, envelope};

/// Fewest bytes of a frame that are worth another thread: skimming them takes longer than waking it.
pub const FRAME_BYTES_MIN: usize = 256 << 10;

/// Hashes the envelopes of a frame into `hashes`, in their order.
pub fn hash(network: &Network, frame: &[u8], envelopes: &[EnvelopeSpan], hashes: &mut Vec<[u8; 32]>) {
    hashes.clear();
    hashes.extend(envelopes.iter().map(|span| envelope::hash(network, frame, span)));
}

/// Skims a frame while a thread of the pool hashes its envelopes; `done` is told, on that thread, when hashing began.
pub fn beside_skim(
    network: &Network,
    frame: &[u8],
    skim: &mut Skim,
    pool: &ThreadPool,
    hashes: &mut Vec<[u8; 32]>,
    done: impl Fn(Instant) + Sync,
) -> Result<LedgerHead, LedgerError> {
    let done = &done;
    pool.in_place_scope(|scope| {
        skim.read_telling(frame, |envelopes| {
            scope.spawn(move |_| {
                let start = Instant::now();
                hash(network, frame, envelopes, hashes);
                done(start);
            });
        })
    })
}

/// Finds the envelope of every transaction.
pub fn pair(network: &Network, frame: &[u8], head: &LedgerHead, skim: &Skim, hashes: &[[u8; 32]]) -> Result<Vec<u32>, LedgerError> {
    envelope::pair(network, frame, head.sequence, skim, hashes)
}
