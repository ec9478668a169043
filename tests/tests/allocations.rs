//! Once warm, rows cost no memory of their own: how often the process stage and all before it allocate, counted over whole ledgers.
//!
//! Counted on one thread, where all the work is the caller's: from frame bytes to the finished bytes of COPY. Made ledgers are counted always, real
//! ones where they are at hand through `STARMILL_SHARED`.

use std::path::Path;

use starmill_fixtures::{Chain, ChainConfig, CloseMetaMix, to_xdr};
use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError, Network, Transaction};
use starmill_pipeline::{Engine, Process};
use starmill_sinks::CopyRows;
use starmill_sources::{Options, Sources};
use starmill_tests::shared;
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

/// What a second pass over the same ledgers allocates, and over how many transactions and rows.
#[derive(Debug)]
struct Counted {
    allocations: u64,
    transactions: u64,
    rows: u64,
}

impl Counted {
    fn per_transaction(&self) -> f64 {
        self.allocations as f64 / self.transactions.max(1) as f64
    }
}

fn count(network: &Network, frames: &[Vec<u8>]) -> Counted {
    let engine: Engine<AllRows, CopyRows> = Engine::new(network.clone(), AllRows, 1);
    let mut rows = CopyRows::default();
    let pass = |rows: &mut CopyRows| {
        rows.clear();
        let mut transactions = 0;
        for frame in frames {
            transactions += u64::from(engine.ledger(frame, rows).expect("the ledger is valid").transactions);
        }
        transactions
    };
    // The first pass is the warm-up: buffers grow to what these ledgers need.
    let transactions = pass(&mut rows);
    let counted = allocation_counter::measure(|| _ = pass(&mut rows));
    Counted { allocations: counted.count_total, transactions, rows: rows.rows() }
}

#[test]
fn made_ledgers() {
    let config = ChainConfig { ledgers: 10, transactions_per_ledger: 200, close_meta: CloseMetaMix::Alternating, ..ChainConfig::default() };
    let frames: Vec<_> = Chain::new(config.clone()).unwrap().map(|ledger| to_xdr(&ledger.unwrap()).unwrap()).collect();
    let counted = count(&Network::new(config.passphrase), &frames);
    println!("made ledgers: {counted:?}, {:.3} a transaction", counted.per_transaction());
    assert!(counted.rows > 10 * counted.transactions, "{counted:?}");
    // Signers that change are put in the order of their texts, which are made for it.
    assert!(counted.per_transaction() < 0.15, "{counted:?}");
}

fn frames_of(file: &Path) -> Vec<Vec<u8>> {
    let options = Options { allow_gaps: true, ..Options::default() };
    Sources::open(&[file.display().to_string()], options).unwrap().map(|frame| frame.unwrap().bytes).collect()
}

#[test]
fn real_ledgers() {
    let Some(fixtures) = shared("real_ledgers", "fixtures") else { return };
    let pubnet = Network::from_name_or_passphrase("pubnet");
    for number in 63_092_982..=63_092_991 {
        let frames = frames_of(&fixtures.join(format!("wallet-backend/ledger-{number}.xdr.gz")));
        let counted = count(&pubnet, &frames);
        println!("pubnet {number}: {counted:?}, {:.3} a transaction", counted.per_transaction());
        assert!(counted.per_transaction() < 0.1, "{number}: {counted:?}");
    }
}
