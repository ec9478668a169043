//! Whether ledgers come in the order of the network: each one above the one before, none missing, none twice.

use std::path::Path;
use std::sync::Arc;

use crate::{ErrorKind, Options, Origin, SourceError};

/// Ledgers that stood behind each other in one file, without a gap; `item` is the first one.
#[derive(Debug)]
struct Run {
    first: u32,
    last: u32,
    path: Arc<Path>,
    item: u64,
}

/// What was seen so far: a few words for each file and each gap.
#[derive(Debug, Default)]
pub(crate) struct Order {
    runs: Vec<Run>,
    last: Option<(u32, Origin)>,
}

impl Order {
    /// The ledger seen last.
    pub(crate) fn last(&self) -> Option<u32> {
        self.last.as_ref().map(|(last, _)| *last)
    }

    /// Takes in the next ledger. Gaps count only inside the wanted range.
    pub(crate) fn see(&mut self, sequence: u32, origin: &Origin, options: &Options) -> Result<(), SourceError> {
        if let Some((last, before)) = &self.last {
            if sequence <= *last {
                return Err(SourceError::at(origin, self.step_back(sequence, *last, before)));
            }
            let first_missing = options.from.map_or(*last + 1, |from| from.max(*last + 1));
            if first_missing < sequence && !options.allow_gaps {
                let (last_missing, before) = (sequence - 1, before.clone());
                return Err(SourceError::at(origin, ErrorKind::LedgerGap { first_missing, last_missing, sequence, before }));
            }
        }
        match self.runs.last_mut() {
            Some(run) if run.last + 1 == sequence && run.path == origin.path => run.last = sequence,
            _ => self.runs.push(Run { first: sequence, last: sequence, path: origin.path.clone(), item: origin.item }),
        }
        self.last = Some((sequence, origin.clone()));
        Ok(())
    }

    fn step_back(&self, sequence: u32, after: u32, before: &Origin) -> ErrorKind {
        let at = self.runs.partition_point(|run| run.last < sequence);
        match self.runs.get(at).filter(|run| run.first <= sequence) {
            Some(run) => {
                let item = run.item + u64::from(sequence - run.first);
                ErrorKind::DuplicateLedger { sequence, path: run.path.clone(), item }
            }
            None => ErrorKind::WrongOrder { sequence, after, before: before.clone() },
        }
    }
}
