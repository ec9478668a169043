//! Hash: the hash of every envelope, and the envelope of every result.
//!
//! Envelopes stand before everything else in a frame. Where there is a thread to spare, it hashes them while the caller skims the rest of the
//! frame, which takes about as long; the hashes of a frame that then proves malformed are dropped with it. Fails when a result has no
//! envelope: a ledger of another network, or one that is not whole.

use std::sync::Mutex;
use std::time::Instant;

use rayon::ThreadPool;
use starmill_ledger::skim::EnvelopeSpan;
use starmill_ledger::{LedgerError, LedgerHead, Network, Skim, envelope};

use crate::engine::lock;
use crate::progress::{Progress, Stage};

/// Fewest bytes of a frame that are worth another thread: skimming them takes longer than waking it.
pub const FRAME_BYTES_MIN: usize = 256 << 10;

/// Envelopes hashed between two looks at who hashes what: some ten microseconds of work.
const BLOCK: usize = 16;

/// Hashes the envelopes of a frame into `hashes`, in their order.
pub fn hash(network: &Network, frame: &[u8], envelopes: &[EnvelopeSpan], hashes: &mut Vec<[u8; 32]>) {
    hashes.clear();
    hashes.extend(envelopes.iter().map(|span| envelope::hash(network, frame, span)));
}

/// Skims a frame while a thread of the pool hashes its envelopes; the caller, which is mostly done first, helps with what is left of them.
pub fn beside_skim(
    network: &Network,
    frame: &[u8],
    skim: &mut Skim,
    pool: &ThreadPool,
    hashes: &mut Vec<[u8; 32]>,
    progress: &Progress,
) -> Result<LedgerHead, LedgerError> {
    let blocks = Mutex::new(None);
    let blocks = &blocks;
    let hash_blocks = move || {
        let start = Instant::now();
        // A call of its own, so that the lock is not held while a block is hashed.
        let next = || lock(blocks).as_mut().and_then(Iterator::next);
        while let Some((envelopes, hashes)) = next() {
            for (span, hash) in std::iter::zip::<&[EnvelopeSpan], &mut [[u8; 32]]>(envelopes, hashes) {
                *hash = envelope::hash(network, frame, span);
            }
        }
        progress.stage(Stage::Hash).busy(start);
    };
    pool.in_place_scope(|scope| {
        let start = Instant::now();
        let head = skim.read_telling(frame, |envelopes| {
            hashes.clear();
            hashes.resize(envelopes.len(), [0; 32]);
            *lock(blocks) = Some(std::iter::zip(envelopes.chunks(BLOCK), hashes.chunks_mut(BLOCK)));
            scope.spawn(move |_| hash_blocks());
        });
        progress.stage(Stage::Skim).busy(start);
        if head.is_ok() {
            hash_blocks();
        }
        head
    })
}

/// Finds the envelope of every transaction.
pub fn pair(network: &Network, frame: &[u8], head: &LedgerHead, skim: &Skim, hashes: &[[u8; 32]]) -> Result<Vec<u32>, LedgerError> {
    envelope::pair(network, frame, head.sequence, skim, hashes)
}
