//! The sources of a run as the pipeline reads them, the network of their ledgers, and whether they held what was asked for.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use starmill_ledger::Network;
use starmill_pipeline::{Input, Progress};
use starmill_sources::{Options, SourceError, Sources};

use super::stop::unless_stopped;
use crate::args::{RunArgs, SinkChoice, SourceArgs};
use crate::failure::Failure;
use crate::network::{self, NetworkError};

/// Ledgers looked at for one with a transaction, to tell the network by.
const NETWORK_LEDGERS_MAX: usize = 512;

/// Opens the sources and finds the network unless it is known; `None` when it was asked to stop meanwhile, since a stream may keep silent for as long as
/// it likes. A source that is followed begins behind the ledger `after`.
pub(super) fn open(
    args: &RunArgs,
    known: Option<Network>,
    after: Option<u32>,
    progress: &Progress,
) -> anyhow::Result<Option<(Source, Network)>> {
    let mut source = args.source.clone();
    if source.follow {
        source.from = source.from.max(after.map(|after| after.saturating_add(1)));
    }
    let own = own_folders(args);
    unless_stopped(progress, "open", move || {
        let mut source = Source::open(source, &own)?;
        let network = known.map_or_else(|| source.detect_network(), Ok)?;
        Ok((source, network))
    })
}

/// Folders that starmill itself writes to: nothing there is a source.
fn own_folders(args: &RunArgs) -> Vec<PathBuf> {
    let mut own = vec![args.database.data_dir.clone()];
    if let SinkChoice::Jsonl(folder) = &args.sink {
        own.push(folder.clone());
    }
    own
}

/// The sources as the pipeline reads them, and what was read ahead to tell the network.
pub(super) struct Source {
    args: SourceArgs,
    ahead: Vec<Input>,
    pub(super) sources: Sources,
    pub(super) ended: Ended,
}

/// What the sources say when they are at their end.
pub(super) type Ended = Arc<Mutex<Option<starmill_sources::Outcome>>>;

impl Source {
    fn open(args: SourceArgs, own: &[PathBuf]) -> anyhow::Result<Self> {
        let SourceArgs { from, to, allow_gaps, follow, newest_first, .. } = args;
        let options = Options { from, to, allow_gaps, follow, newest_first, ..Options::default() };
        let sources = Sources::open_beside(&args.sources, own, options)?;
        Ok(Self { ahead: Vec::new(), sources, ended: Ended::default(), args })
    }

    /// The network of the first ledger that has a transaction.
    fn detect_network(&mut self) -> anyhow::Result<Network> {
        while self.ahead.len() < NETWORK_LEDGERS_MAX {
            let Some(frame) = self.sources.next() else { break };
            let input = input(frame?);
            let found = network::detect(&input.bytes);
            let found = found.with_context(|| format!("{}, item {}", input.path.display(), input.item))?;
            self.ahead.push(input);
            if let Some(network) = found {
                return Ok(network);
            }
        }
        if self.ahead.is_empty() {
            return Err(range_not_reached(&self.args, self.sources.outcome()).into());
        }
        Err(NetworkError::NoTransaction(self.ahead.len()).into())
    }

    pub(super) fn into_inputs(self) -> impl Iterator<Item = Result<Input, SourceError>> + Send + 'static {
        let Self { ahead, mut sources, ended, .. } = self;
        let rest = std::iter::from_fn(move || {
            let next = sources.next();
            if next.is_none() {
                *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(sources.outcome());
            }
            next.map(|frame| frame.map(input))
        });
        ahead.into_iter().map(Ok).chain(rest)
    }
}

fn input(frame: starmill_sources::Frame) -> Input {
    Input { sequence: frame.head.sequence, bytes: frame.bytes, path: frame.origin.path, item: frame.origin.item }
}

/// A range that was asked for and is not all there is an error, after everything that is there was written.
pub(super) fn check_range(args: &SourceArgs, ended: Option<starmill_sources::Outcome>) -> anyhow::Result<()> {
    match ended {
        Some(outcome) if !outcome.is_complete() => Err(range_not_reached(args, outcome).into()),
        _ => Ok(()),
    }
}

/// What of the range was not there.
fn range_not_reached(args: &SourceArgs, outcome: starmill_sources::Outcome) -> Failure {
    let (code, nothing) = ("range-not-reached", crate::files::nothing_in_range(args.from, args.to));
    if outcome.ledgers == 0 {
        return Failure { code, ..nothing };
    }
    let missing = [outcome.missing_at_start, outcome.missing_at_end].into_iter().flatten();
    let missing = missing.map(|(low, high)| if low == high { low.to_string() } else { format!("{low} to {high}") });
    let missing = missing.collect::<Vec<_>>().join(" and ");
    Failure::new(code, format!("ledgers {missing} were asked for and are in no source; what is there was written"))
}
