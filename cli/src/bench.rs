//! `starmill bench process`: how long each stage takes on given ledgers, beside stellar-xdr's typed decode of the same bytes in the same run.
//!
//! Every figure is the least over all rounds, since noise only adds. Stages alone run on one thread; `total` is the wall time from frame bytes
//! to finished COPY bytes on the threads asked for. Fields of the JSON: docs/performance.md.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerHead, Network, PairedLedger, Skim, envelope};
use starmill_pipeline::{Engine, stage};
use starmill_sinks::CopyRows;
use starmill_xdr::{Arena, LedgerCloseMeta};
use stellar_xdr::ReadXdr;

use crate::args::{BenchArgs, BenchCommand, BenchProcessArgs};
use crate::failure::Failure;
use crate::files;
use crate::network;
use crate::output::say;
use crate::processor::AllRows;
use crate::summary::thousands;

/// One line of the result. Times in milliseconds for all ledgers of the file together.
#[derive(Debug, Serialize)]
struct Measured {
    fixture: String,
    threads: usize,
    ledgers: usize,
    transactions: usize,
    bytes: usize,
    ms: Stages,
    owned_decode_ms: f64,
}

#[derive(Debug, Serialize)]
struct Stages {
    skim: f64,
    decode: f64,
    hash: f64,
    process: f64,
    total: f64,
}

/// Runs a benchmark.
pub(crate) fn bench(args: &BenchArgs) -> anyhow::Result<()> {
    let BenchCommand::Process(args) = &args.command;
    for file in &args.files {
        let measured = measure(file, args)?;
        if args.json {
            say!("{}", serde_json::to_string(&measured)?)?;
        } else {
            show(&measured)?;
        }
    }
    Ok(())
}

/// A ledger with everything that the stage to be timed needs from those before it.
struct Prepared {
    bytes: Vec<u8>,
    head: LedgerHead,
    skim: Skim,
    hashes: Vec<[u8; 32]>,
    pairs: Vec<u32>,
}

fn measure(file: &str, args: &BenchProcessArgs) -> anyhow::Result<Measured> {
    let (network, ledgers) = prepare(file, args)?;
    let frames: Vec<&[u8]> = ledgers.iter().map(|ledger| ledger.bytes.as_slice()).collect();
    let engine: Engine<AllRows, CopyRows> = Engine::new(network.clone(), AllRows, args.threads.into()).verifying(args.verify);
    let mut times = [Duration::MAX; 6];
    let mut arena = Arena::default();
    let mut skim = Skim::default();
    let mut hashes = Vec::new();
    let mut rows = CopyRows::default();
    let (mut scratch, mut state) = (starmill_processors::Scratch::default(), CurrentState::default());
    for _ in 0..args.rounds {
        let mut round = [Duration::ZERO; 6];
        for ledger in &ledgers {
            let frame = ledger.bytes.as_slice();
            let paired = PairedLedger { network: &network, head: &ledger.head, frame, skim: &ledger.skim, pairs: &ledger.pairs };
            round[0] += timed(|| stage::skim::skim(frame, &mut skim).map(|_| ()))?;
            arena.rewind();
            round[1] += timed(|| starmill_xdr::decode_checked::<LedgerCloseMeta<'_>>(frame, &arena).map(|value| _ = black_box(value)))?;
            round[2] += timed(|| {
                stage::hash::hash(&network, frame, &ledger.skim.envelopes, &mut hashes);
                stage::hash::pair(&network, frame, &ledger.head, &ledger.skim, &hashes).map(|pairs| _ = black_box(pairs))
            })?;
            let count = ledger.skim.transactions.len();
            arena.rewind();
            state.clear();
            round[3] += timed(|| stage::process::process(&AllRows, &paired, 0..count, &mut arena, &mut scratch, &mut rows, &mut state))?;
        }
        rows.clear();
        let start = Instant::now();
        let (done, error) = engine.ledgers(&frames, &mut rows);
        round[4] = start.elapsed();
        black_box(done);
        if let Some(error) = error {
            return Err(error).context(file.to_owned());
        }
        rows.clear();
        for frame in &frames {
            round[5] += owned_decode(frame).with_context(|| file.to_owned())?;
        }
        for (least, this) in times.iter_mut().zip(round) {
            *least = (*least).min(this);
        }
    }
    let [skim, decode, hash, process, total, owned] = times.map(|time| time.as_secs_f64() * 1e3);
    Ok(Measured {
        fixture: file.to_owned(),
        threads: engine.threads(),
        ledgers: ledgers.len(),
        transactions: ledgers.iter().map(|ledger| ledger.skim.transactions.len()).sum(),
        bytes: frames.iter().map(|frame| frame.len()).sum(),
        ms: Stages { skim, decode, hash, process, total },
        owned_decode_ms: owned,
    })
}

fn prepare(file: &str, args: &BenchProcessArgs) -> anyhow::Result<(Network, Vec<Prepared>)> {
    let frames = files::ledgers(file, None, None)?.collect::<anyhow::Result<Vec<_>>>()?;
    let mut network = network::given(args.network.network.as_deref());
    for frame in &frames {
        if network.is_none() {
            network = network::detect(&frame.bytes).with_context(|| frame.origin.to_string())?;
        }
    }
    let network = network.ok_or_else(|| files::no_transaction(frames.len()))?;
    let mut ledgers = Vec::with_capacity(frames.len());
    for frame in frames {
        let bytes = frame.bytes;
        let (head, skim) = Skim::of(&bytes).with_context(|| frame.origin.to_string())?;
        let hashes: Vec<_> = skim.envelopes.iter().map(|e| envelope::hash(&network, &bytes, e)).collect();
        let pairs = envelope::pair(&network, &bytes, head.sequence, &skim, &hashes).with_context(|| frame.origin.to_string())?;
        ledgers.push(Prepared { bytes, head, skim, hashes, pairs });
    }
    if ledgers.iter().all(|ledger| ledger.hashes.is_empty()) {
        return Err(Failure::new("no-transaction", format!("{file}: no ledger has a transaction to measure with")).into());
    }
    Ok((network, ledgers))
}

fn timed<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// The time of stellar-xdr's decode; dropping what it made is not counted.
fn owned_decode(frame: &[u8]) -> anyhow::Result<Duration> {
    let limits = stellar_xdr::Limits { depth: starmill_xdr::DEPTH_MAX, len: frame.len() };
    let start = Instant::now();
    let value = stellar_xdr::LedgerCloseMeta::from_xdr(frame, limits);
    let time = start.elapsed();
    black_box(value.context("decode of stellar-xdr")?);
    Ok(time)
}

fn show(m: &Measured) -> std::io::Result<()> {
    let times = |part: f64| m.owned_decode_ms / part;
    say!("{}", m.fixture)?;
    say!(
        "  {} ledgers, {} transactions, {} bytes; {} threads for the total",
        m.ledgers,
        m.transactions,
        thousands(m.bytes as u64),
        m.threads
    )?;
    say!("  owned decode {:>9.3} ms", m.owned_decode_ms)?;
    for (name, ms) in [("skim", m.ms.skim), ("decode", m.ms.decode), ("hash", m.ms.hash), ("process", m.ms.process), ("total", m.ms.total)]
    {
        say!("  {name:<12} {ms:>9.3} ms   {:.1} times faster than owned decode", times(ms))?;
    }
    Ok(())
}
