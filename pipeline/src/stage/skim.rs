//! Skim: one pass over the frame; afterwards it is known to be well formed, and where its parts are.
//!
//! In: the bytes of one `LedgerCloseMeta`. Out: the header and the spans. Fails on anything that decoding would fail on.

use starmill_ledger::rows::LedgerRow;
use starmill_ledger::{LedgerError, LedgerHead, Skim};

/// Skims a frame over what `skim` held before.
pub fn skim(frame: &[u8], skim: &mut Skim) -> Result<LedgerHead, LedgerError> {
    skim.read(frame)
}

/// The line that goes before a ledger's rows.
pub fn ledger_row(head: &LedgerHead, skim: &Skim) -> LedgerRow {
    LedgerRow {
        sequence: head.sequence,
        protocol: head.protocol,
        closed_at: head.closed_at,
        close_meta_version: head.close_meta_version,
        base_reserve: head.base_reserve,
        // Skimming refuses more transactions than a TOID can number, which is far below 32 bits.
        transactions: u32::try_from(skim.transactions.len()).unwrap_or(u32::MAX),
    }
}
