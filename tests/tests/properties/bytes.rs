//! The bytes of a ledger's rows do not depend on how the work is cut and who does it.

use std::thread;

use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, Network, PairedLedger, Skim};
use starmill_pipeline::{Engine, stage};
use starmill_sinks::JsonRows;
use starmill_xdr::Arena;

use super::seen::AllRows;

/// One ledger's rows, its transactions cut into chunks of `size`, dealt out to `threads` threads.
fn cut(network: &Network, frame: &[u8], threads: usize, size: usize) -> Vec<u8> {
    let mut skim = Skim::default();
    let head = stage::skim::skim(frame, &mut skim).unwrap();
    let mut hashes = Vec::new();
    stage::hash::hash(network, frame, &skim.envelopes, &mut hashes);
    let pairs = stage::hash::pair(network, frame, &head, &skim, &hashes).unwrap();
    let ledger = PairedLedger { network, head: &head, frame, skim: &skim, pairs: &pairs };
    let count = skim.transactions.len();
    let ranges: Vec<_> = (0..count.div_ceil(size)).map(|i| i * size..count.min((i + 1) * size)).collect();
    let work = |first: usize| {
        // Scratch and arena serve all chunks of a thread, as they do in the engine; rows and state are each chunk's own.
        let (mut scratch, mut arena) = (starmill_processors::Scratch::default(), Arena::default());
        let mut made = Vec::new();
        for (i, range) in ranges.iter().enumerate().skip(first).step_by(threads) {
            let (mut rows, mut state) = (JsonRows::default(), CurrentState::default());
            stage::process::process(&AllRows, &ledger, range.clone(), &mut arena, &mut scratch, &mut rows, &mut state).unwrap();
            made.push((i, rows, state));
        }
        made
    };
    let mut made: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || work(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    made.sort_by_key(|(i, ..)| *i);
    let mut rows = JsonRows::default();
    rows.ledger(&stage::skim::ledger_row(&head, &skim));
    let mut state = CurrentState::default();
    for (_, mut chunk, mut of_chunk) in made {
        stage::fold::join((&mut rows, &mut state), (&mut chunk, &mut of_chunk));
    }
    state.fold(&mut rows);
    rows.lines().to_vec()
}

/// Threads 1, 2 and 8, chunks of 1, 3, 64 and all, the engine itself, and the engine once more with its used buffers.
pub(super) fn same_at_any_threads_and_chunks(network: &Network, frame: &[u8]) {
    let engine: Engine<AllRows, JsonRows> = Engine::new(network.clone(), AllRows, 1);
    let once = || {
        let mut rows = JsonRows::default();
        engine.ledger(frame, &mut rows).unwrap();
        rows.lines().to_vec()
    };
    let expected = once();
    assert!(once() == expected, "processed twice");
    for threads in [1, 2, 8] {
        for size in [1, 3, 64, usize::MAX / 2] {
            assert!(cut(network, frame, threads, size) == expected, "{threads} threads, chunks of {size}");
        }
    }
}

/// Several ledgers at once on the engine's own threads.
pub(super) fn same_together(network: &Network, frames: &[Vec<u8>]) {
    let all = |threads: usize| {
        let engine: Engine<AllRows, JsonRows> = Engine::new(network.clone(), AllRows, threads);
        let mut rows = JsonRows::default();
        let (done, error) = engine.ledgers(frames, &mut rows);
        assert_eq!((done.len(), error), (frames.len(), None));
        rows.lines().to_vec()
    };
    let expected = all(1);
    assert!(all(2) == expected && all(8) == expected, "{} ledgers", frames.len());
}
