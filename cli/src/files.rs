//! Files read one by one, as they stand: for `rows`, `inspect` and `bench`.

use anyhow::Context;
use starmill_ledger::Network;
use starmill_sources::{FileLedgers, Frame, Options};

use crate::failure::Failure;
use crate::network::{self, NetworkError};

/// The ledgers of one file between two sequences.
pub(crate) fn ledgers(file: &str, from: Option<u32>, to: Option<u32>) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Frame>>> {
    let frames = FileLedgers::open(file, Options::default())?;
    let wanted = move |frame: &Frame| from.is_none_or(|from| frame.head.sequence >= from) && to.is_none_or(|to| frame.head.sequence <= to);
    Ok(frames.filter(move |frame| frame.as_ref().map_or(true, wanted)).map(|frame| Ok(frame?)))
}

/// The network that a ledger is read as: what was given, what was found before, or what the ledger itself says.
#[derive(Debug)]
pub(crate) struct NetworkOfFile {
    known: Option<Network>,
}

impl NetworkOfFile {
    /// Starts with the `--network` flag.
    pub(crate) fn new(flag: Option<&str>) -> Self {
        Self { known: network::given(flag) }
    }

    /// The network for this ledger; `None` when nobody says it and the ledger has no transaction to tell it by.
    pub(crate) fn of(&mut self, frame: &Frame) -> anyhow::Result<Option<Network>> {
        if self.known.is_none() {
            self.known = network::detect(&frame.bytes).with_context(|| frame.origin.to_string())?;
        }
        Ok(self.known.clone())
    }
}

/// The network as which a ledger is read that does not tell its own: without transactions, nothing depends on it.
pub(crate) fn any_network() -> Network {
    Network::from_name_or_passphrase("pubnet")
}

/// A range of ledgers of which the files have none.
pub(crate) fn nothing_in_range(from: Option<u32>, to: Option<u32>) -> Failure {
    let from = from.map_or_else(|| "the first".to_owned(), |from| from.to_string());
    let to = to.map_or_else(|| "the last".to_owned(), |to| to.to_string());
    Failure::new("no-ledger", format!("no ledger from {from} to {to} in what was given; see what there is with starmill inspect"))
}

/// The error of files among which no ledger tells the network.
pub(crate) fn no_transaction(ledgers: usize) -> anyhow::Error {
    NetworkError::NoTransaction(ledgers).into()
}
