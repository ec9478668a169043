//! The same ledgers give the same bytes at any number of threads and however they are grouped.

use starmill_fixtures::{Chain, ChainConfig, CloseMetaMix, to_xdr};
use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError, Network, Transaction};
use starmill_pipeline::{Engine, Process};
use starmill_sinks::JsonRows;
use starmill_xdr::Arena;

struct AllRows;

impl Process for AllRows {
    type Scratch = starmill_processors::Scratch;

    fn process<'a, R: Rows>(
        &self,
        transaction: &Transaction<'a>,
        arena: &'a Arena,
        scratch: &mut Self::Scratch,
        rows: &mut R,
        state: &mut CurrentState,
    ) -> Result<(), LedgerError> {
        starmill_processors::process(transaction, arena, scratch, rows, state)
    }
}

/// Frames of a made chain with dense and with thin ledgers of both close metas.
fn frames() -> (Network, Vec<Vec<u8>>) {
    let mut all = Vec::new();
    let mut config =
        ChainConfig { ledgers: 6, transactions_per_ledger: 300, close_meta: CloseMetaMix::Alternating, ..ChainConfig::default() };
    for transactions_per_ledger in [300, 1, 40] {
        config.transactions_per_ledger = transactions_per_ledger;
        all.extend(Chain::new(config.clone()).unwrap().map(|ledger| to_xdr(&ledger.unwrap()).unwrap()));
    }
    (Network::new(config.passphrase), all)
}

#[test]
fn bytes_are_the_same_at_any_number_of_threads_and_any_grouping() {
    let (network, frames) = frames();
    let rows_with = |threads, group: usize| {
        let engine: Engine<AllRows, JsonRows> = Engine::new(network.clone(), AllRows, threads);
        let mut rows = JsonRows::default();
        for frames in frames.chunks(group) {
            let (lines, error) = engine.ledgers(frames, &mut rows);
            assert_eq!((lines.len(), error), (frames.len(), None));
        }
        rows.lines().to_vec()
    };
    let expected = rows_with(1, 1);
    assert!(expected.len() > 1_000_000, "{} bytes", expected.len());
    for (threads, group) in [(1, 18), (2, 1), (2, 5), (2, 18), (3, 2), (8, 1), (8, 18)] {
        assert!(rows_with(threads, group) == expected, "{threads} threads, {group} ledgers at a time");
    }
}

#[test]
fn a_broken_ledger_in_a_group_leaves_those_before_it() {
    let (network, mut frames) = frames();
    let whole: Engine<AllRows, JsonRows> = Engine::new(network.clone(), AllRows, 1);
    let mut expected = JsonRows::default();
    whole.ledgers(&frames[..3], &mut expected);
    let end = frames[3].len() - 4;
    frames[3].truncate(end);
    for threads in [1, 2, 8] {
        let engine: Engine<AllRows, JsonRows> = Engine::new(network.clone(), AllRows, threads);
        let mut rows = JsonRows::default();
        let (lines, error) = engine.ledgers(&frames, &mut rows);
        assert_eq!((lines.len(), error.map(|e| (e.code(), e.ledger))), (3, Some(("xdr-truncated", 5))));
        assert!(rows.lines() == expected.lines());
    }
}
