//! Batch: whole ledgers gathered for one commit.
//!
//! A batch is cut when it holds enough rows, bytes or ledgers; the last ledger may go over a bound by its own size. A ledger is never split.

use starmill_ledger::rows::Rows;
use starmill_ledger::sink::Batch;

/// When a batch is large enough to commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Rows.
    pub rows_max: u64,
    /// Bytes of rows.
    pub bytes_max: usize,
    /// Ledgers.
    pub ledgers_max: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { rows_max: 200_000, bytes_max: 32 << 20, ledgers_max: 1_000 }
    }
}

impl BatchLimits {
    /// Whether the batch is to be committed before more is added.
    pub fn reached<R: Rows>(&self, batch: &Batch<R>) -> bool {
        batch.ledgers.len() >= self.ledgers_max || batch.rows.rows() >= self.rows_max || batch.rows.bytes() >= self.bytes_max
    }
}
