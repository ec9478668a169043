//! `starmill synth`: a made chain as a framed stream, the same bytes for the same numbers.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};

use anyhow::Context;
use starmill_fixtures::{Chain, ChainConfig, write_framed};

use crate::args::SynthArgs;
use crate::failure::Failure;
use crate::progress;

/// Writes the chain. A file appears whole or not at all.
pub(crate) fn synth(args: &SynthArgs) -> anyhow::Result<()> {
    let config =
        ChainConfig { ledgers: args.ledgers, transactions_per_ledger: args.tx_per_ledger, seed: args.seed, ..ChainConfig::default() };
    let chain = Chain::new(config)?;
    let bar = progress::count(u64::from(args.ledgers), "ledgers made");
    let Some(path) = &args.output else {
        if std::io::stdout().is_terminal() {
            return Err(Failure::new("terminal", "ledgers are binary; give --output FILE or send standard output somewhere").into());
        }
        return write(chain, &mut BufWriter::new(std::io::stdout().lock()), &bar);
    };
    let mut part = path.clone().into_os_string();
    part.push(".part");
    let what = || format!("writing {}", path.display());
    let mut file = BufWriter::new(File::create(&part).with_context(what)?);
    write(chain, &mut file, &bar).with_context(what)?;
    file.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(|file| file.sync_all()).with_context(what)?;
    std::fs::rename(&part, path).with_context(what)
}

fn write(chain: Chain, out: &mut impl Write, bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
    for ledger in chain {
        write_framed(out, &ledger?)?;
        bar.inc(1);
    }
    out.flush()?;
    bar.finish_and_clear();
    Ok(())
}
