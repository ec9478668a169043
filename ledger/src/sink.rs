//! What the pipeline asks of whoever keeps rows.
//!
//! A sink takes batches of whole ledgers, in any order but each ledger once, and makes each batch durable or leaves no trace of it.

use crate::Coverage;
use crate::rows::{LedgerRow, Rows};

/// Whole ledgers and their rows, committed together.
#[derive(Debug)]
pub struct Batch<R> {
    /// The ledgers, in the order in which they were read; sequences ascend.
    pub ledgers: Vec<LedgerRow>,
    /// Their rows.
    pub rows: R,
}

impl<R: Rows> Batch<R> {
    /// An empty batch.
    pub fn new() -> Self {
        Self { ledgers: Vec::new(), rows: R::default() }
    }

    /// Forgets the content, keeps the buffers.
    pub fn clear(&mut self) {
        self.ledgers.clear();
        self.rows.clear();
    }
}

impl<R: Rows> Default for Batch<R> {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps rows: Postgres, JSON lines, nothing.
pub trait Sink: Send {
    /// The form in which the process stage makes the rows of this sink.
    type Rows: Rows;
    /// Why a batch could not be kept.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The ledgers whose rows are durable already. They are not processed again.
    fn coverage(&self) -> Coverage;

    /// Makes the batch durable as a whole, at once or, where the sink gathers much before it shows it, by [`Sink::finish`] at the latest. After an error
    /// nothing of it is visible.
    fn commit(&mut self, batch: &mut Batch<Self::Rows>) -> Result<(), Self::Error>;

    /// Called once at the end of the work: makes durable what was gathered.
    fn finish(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The lowest ledger that was committed and is not durable yet.
    fn gathering_from(&self) -> Option<u32> {
        None
    }
}
