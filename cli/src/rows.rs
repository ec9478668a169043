//! `starmill rows`: the rows of ledgers as JSON lines, in the order in which the ledgers stand.

use std::io::{BufWriter, Write};

use anyhow::Context;
use starmill_ledger::Network;
use starmill_ledger::rows::Rows;
use starmill_pipeline::Engine;
use starmill_sinks::JsonRows;

use crate::args::RowsArgs;
use crate::failure::Failure;
use crate::files::{self, NetworkOfFile};
use crate::processor::AllRows;

/// Prints the rows. A ledger is printed whole or not at all.
pub(crate) fn rows(args: &RowsArgs) -> anyhow::Result<()> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from > to
    {
        let message = format!("the range from ledger {from} to ledger {to} is empty; put the smaller one first");
        return Err(Failure::new("bad-range", message).into());
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut printed = 0u64;
    for file in &args.files {
        let mut network = NetworkOfFile::new(args.network.network.as_deref());
        let mut engine: Option<(Network, Engine<AllRows, JsonRows>)> = None;
        let mut rows = JsonRows::default();
        for frame in files::ledgers(file, args.from, args.to)? {
            let frame = frame?;
            let now = network.of(&frame)?.unwrap_or_else(files::any_network);
            let (_, engine) = match &mut engine {
                Some(same) if same.0 == now => same,
                other => other.insert((now.clone(), Engine::new(now, AllRows, 1))),
            };
            rows.clear();
            engine.ledger(&frame.bytes, &mut rows).with_context(|| frame.origin.to_string())?;
            out.write_all(rows.lines())?;
            printed += 1;
        }
    }
    out.flush()?;
    if printed == 0 {
        return Err(files::nothing_in_range(args.from, args.to).into());
    }
    Ok(())
}
