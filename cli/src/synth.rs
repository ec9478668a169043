//! `starmill synth`: a made chain as a framed stream, the same bytes for the same numbers.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use starmill_fixtures::{Chain, ChainConfig, write_framed};

use crate::args::SynthArgs;
use crate::failure::Failure;
use crate::progress;

/// Writes the chain. A file appears whole or not at all; a device, a pipe or a terminal that stands there already is written to.
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
    let what = || format!("writing {}", path.display());
    match path.metadata() {
        Ok(there) if !there.is_file() => {
            let out = OpenOptions::new().write(true).open(path).with_context(what)?;
            write(chain, &mut BufWriter::new(out), &bar).with_context(what)
        }
        _ => replace(chain, &behind_links(path), &bar).with_context(what),
    }
}

/// Links followed before it is taken that they lead in a circle; the system's own limit.
const LINKS_MAX: usize = 40;

/// What a link leads to, also when that is not there yet; the path itself where there is no link.
fn behind_links(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = at.read_link() else { break };
        at = at.parent().unwrap_or(Path::new("")).join(target);
    }
    at
}

/// Writes beside the file, then puts the whole in its place. After an error nothing is left of it.
fn replace(chain: Chain, path: &Path, bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
    let mut part = path.to_owned().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let file = File::create(&part)?;
    let written = write_whole(chain, file, bar).and_then(|()| Ok(std::fs::rename(&part, path)?));
    if written.is_err() {
        // The error that came first is the one to tell.
        let _ = std::fs::remove_file(&part);
    }
    written
}

fn write_whole(chain: Chain, file: File, bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
    let mut out = BufWriter::new(file);
    write(chain, &mut out, bar)?;
    Ok(out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?)
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
