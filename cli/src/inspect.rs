//! `starmill inspect`: what a ledger holds, for people or as JSON.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use anyhow::Context;
use serde::Serialize;
use starmill_ledger::{Fault, LedgerHead, Network, PairedLedger, Skim, envelope};
use starmill_sources::Frame;
use starmill_xdr::Arena;

use crate::args::InspectArgs;
use crate::files::{self, NetworkOfFile};
use crate::summary::{thousands, utc};

/// The network of a ledger that has no transaction to tell it by, when nobody says it.
const UNKNOWN: &str = "unknown";

/// Everything shown of a ledger. Counts and sizes in bytes.
#[derive(Debug, Serialize)]
struct Inspection {
    ledger: u32,
    protocol: u32,
    closed_at: i64,
    close_meta: String,
    network: String,
    hash: String,
    previous_hash: String,
    base_fee: u32,
    base_reserve: u32,
    frame_bytes: usize,
    envelope_bytes: usize,
    result_bytes: usize,
    meta_bytes: usize,
    fee_change_bytes: usize,
    transactions: usize,
    failed_transactions: usize,
    fee_bumps: usize,
    soroban_transactions: usize,
    operations: BTreeMap<&'static str, usize>,
    changes: usize,
}

/// Prints every ledger of the files.
pub(crate) fn inspect(args: &InspectArgs) -> anyhow::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for file in &args.files {
        let mut network = NetworkOfFile::new(args.network.network.as_deref());
        for frame in files::ledgers(file, None, None)? {
            let frame = frame?;
            let known = network.of(&frame)?;
            let name = known.as_ref().map_or(UNKNOWN, Network::name).to_owned();
            let seen = look(&frame, &known.unwrap_or_else(files::any_network)).with_context(|| frame.origin.to_string())?;
            let seen = Inspection { network: name, ..seen };
            if args.json {
                serde_json::to_writer(&mut out, &seen)?;
                writeln!(out)?;
            } else {
                show(&mut out, &seen)?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn look(frame: &Frame, network: &Network) -> anyhow::Result<Inspection> {
    let bytes = frame.bytes.as_slice();
    let (head, skim) = Skim::of(bytes)?;
    let hashes: Vec<_> = skim.envelopes.iter().map(|e| envelope::hash(network, bytes, e)).collect();
    let pairs = envelope::pair(network, bytes, head.sequence, &skim, &hashes)?;
    let ledger = PairedLedger { network, head: &head, frame: bytes, skim: &skim, pairs: &pairs };
    let mut seen = begin(&head, &skim, network, bytes);
    let mut arena = Arena::default();
    for i in 0..skim.transactions.len() {
        arena.rewind();
        let transaction = ledger.transaction(i, &arena)?;
        seen.failed_transactions += usize::from(!transaction.successful());
        seen.fee_bumps += usize::from(transaction.is_fee_bump());
        seen.soroban_transactions += usize::from(transaction.soroban_data().is_some());
        for (index, operation) in transaction.operations().iter().enumerate() {
            *seen.operations.entry(operation.value.body.discriminant().name()).or_default() += 1;
            let changes = starmill_ledger::changes::extract(transaction.operation_changes(index), &arena);
            seen.changes += changes.map_err(|fault: Fault| fault.in_transaction(head.sequence, transaction.index))?.len();
        }
    }
    Ok(seen)
}

fn begin(head: &LedgerHead, skim: &Skim, network: &Network, frame: &[u8]) -> Inspection {
    let transactions = &skim.transactions;
    Inspection {
        ledger: head.sequence,
        protocol: head.protocol,
        closed_at: head.closed_at,
        close_meta: format!("V{}", head.close_meta_version),
        network: network.name().to_owned(),
        hash: hex::encode(head.hash),
        previous_hash: hex::encode(head.previous_hash),
        base_fee: head.base_fee,
        base_reserve: head.base_reserve,
        frame_bytes: frame.len(),
        envelope_bytes: skim.envelopes.iter().map(|e| e.envelope.of(frame).len()).sum(),
        result_bytes: transactions.iter().map(|t| t.result.of(frame).len()).sum(),
        meta_bytes: transactions.iter().map(|t| t.meta.of(frame).len()).sum(),
        fee_change_bytes: transactions
            .iter()
            .map(|t| t.fee_changes.of(frame).len() + t.post_fee_changes.map_or(0, |span| span.of(frame).len()))
            .sum(),
        transactions: transactions.len(),
        failed_transactions: 0,
        fee_bumps: 0,
        soroban_transactions: 0,
        operations: BTreeMap::new(),
        changes: 0,
    }
}

fn show(out: &mut impl Write, seen: &Inspection) -> std::io::Result<()> {
    writeln!(
        out,
        "ledger {}  {}  protocol {}  close meta {}  network {}",
        seen.ledger,
        utc(seen.closed_at),
        seen.protocol,
        seen.close_meta,
        seen.network
    )?;
    writeln!(out, "  hash         {}", seen.hash)?;
    writeln!(out, "  previous     {}", seen.previous_hash)?;
    writeln!(out, "  base fee     {} stroops, base reserve {} stroops", seen.base_fee, seen.base_reserve)?;
    writeln!(
        out,
        "  bytes        {} (envelopes {}, results {}, meta {}, fee changes {})",
        thousands(seen.frame_bytes as u64),
        thousands(seen.envelope_bytes as u64),
        thousands(seen.result_bytes as u64),
        thousands(seen.meta_bytes as u64),
        thousands(seen.fee_change_bytes as u64)
    )?;
    writeln!(
        out,
        "  transactions {} ({} failed, {} fee bumps, {} Soroban)",
        seen.transactions, seen.failed_transactions, seen.fee_bumps, seen.soroban_transactions
    )?;
    writeln!(out, "  operations   {}, entry changes {}", seen.operations.values().sum::<usize>(), thousands(seen.changes as u64))?;
    let mut by_count: Vec<_> = seen.operations.iter().collect();
    by_count.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
    for (name, count) in by_count {
        writeln!(out, "    {count:>7}  {name}")?;
    }
    Ok(())
}
