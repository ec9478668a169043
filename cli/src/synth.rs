//! `starmill synth`: a made chain as a framed stream, the same bytes for the same numbers.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use starmill_fixtures::{Chain, ChainConfig, write_framed};

use crate::args::SynthArgs;
use crate::failure::Failure;
use crate::progress;

/// Writes the chain. A file appears whole or not at all; a device, a pipe or a terminal that stands there already is written to.
pub(crate) fn synth(args: &SynthArgs) -> anyhow::Result<()> {
    let chain = Paced::new(args)?;
    let bar = progress::count(u64::from(args.ledgers), "ledgers made");
    if let Some(folder) = &args.files {
        return files(chain, folder, &bar).with_context(|| format!("writing into {}", folder.display()));
    }
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
fn replace(chain: Paced, path: &Path, bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
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

fn write_whole(chain: Paced, file: File, bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
    let mut out = BufWriter::new(file);
    write(chain, &mut out, bar)?;
    Ok(out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?)
}

fn write(chain: Paced, out: &mut impl Write, bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
    let live = chain.pace.is_some();
    for ledger in chain {
        write_framed(out, &ledger?)?;
        if live {
            out.flush()?;
        }
        bar.inc(1);
    }
    out.flush()?;
    bar.finish_and_clear();
    Ok(())
}

/// A file a ledger, under its sequence in ten digits; each is written beside its place and then put there.
fn files(chain: Paced, folder: &Path, bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (sequence, ledger) in (ChainConfig::default().first_ledger..).zip(chain) {
        let mut bytes = Vec::new();
        write_framed(&mut bytes, &ledger?)?;
        // Whoever reads the folder passes over names with a dot in front.
        let name = format!("{sequence:010}.xdr");
        let part = folder.join(format!(".{name}.part"));
        std::fs::write(&part, bytes)?;
        std::fs::rename(&part, folder.join(name))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A chain, as fast as it can be made or at a network's pace.
struct Paced {
    chain: Chain,
    /// When the first ledger was due, how many came since, and the time from one to the next.
    pace: Option<(Instant, u32, Duration)>,
}

impl Paced {
    fn new(args: &SynthArgs) -> anyhow::Result<Self> {
        let chain = Chain::new(ChainConfig {
            ledgers: args.ledgers,
            transactions_per_ledger: args.tx_per_ledger,
            seed: args.seed,
            close_interval: args.close_interval,
            ..ChainConfig::default()
        })?;
        Ok(Self { chain, pace: args.per_second.map(|rate| (Instant::now(), 0, Duration::from_secs(1) / rate)) })
    }
}

impl Iterator for Paced {
    type Item = <Chain as Iterator>::Item;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((start, made, interval)) = &mut self.pace {
            let due = *interval * *made;
            *made += 1;
            std::thread::sleep(due.saturating_sub(start.elapsed()));
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.chain.close_at(now.as_secs());
        }
        self.chain.next()
    }
}
