//! The one place where the pipeline meets the processors.

use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError, Transaction};
use starmill_pipeline::Process;
use starmill_xdr::Arena;

/// Makes every row that starmill knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllRows;

impl Process for AllRows {
    type Scratch = starmill_processors::Scratch;

    fn process<'a, R: Rows>(
        &self,
        transaction: &Transaction<'a>,
        arena: &'a Arena,
        scratch: &mut Self::Scratch,
        rows: &mut R,
        state: &mut CurrentState,
    ) -> Result<(), LedgerError> {
        starmill_processors::process(transaction, arena, scratch, rows, state)
    }
}
