//! Process: transactions into rows.
//!
//! [`split`] cuts a ledger into contiguous runs; [`process`] takes one and writes its rows in order. One arena and one scratch serve the whole run; the arena is
//! rewound after each transaction, so that memory follows the largest transaction and not the sum.

use std::ops::Range;

use starmill_ledger::rows::Rows;
use starmill_ledger::skim::TransactionSpan;
use starmill_ledger::{CurrentState, LedgerError, PairedLedger};
use starmill_xdr::Arena;

use crate::Process;

/// Fewest bytes of transactions that are worth a chunk of their own: their rows take longer than waking a thread and joining what it made.
pub const CHUNK_BYTES_MIN: usize = 64 << 10;

/// Splits transactions, given in the order of their frame, into at most `parts` runs of about the same bytes; nothing into nothing.
pub fn split(transactions: &[TransactionSpan], parts: usize) -> Vec<Range<usize>> {
    let (Some(first), Some(last)) = (transactions.first(), transactions.last()) else { return Vec::new() };
    let (start, bytes) = (first.result.start(), last.meta.end() - first.result.start());
    let parts = parts.min(bytes / CHUNK_BYTES_MIN).max(1);
    let cut = |part: usize| transactions.partition_point(|transaction| transaction.result.start() - start < bytes * part / parts);
    (0..parts).map(|part| cut(part)..if part + 1 == parts { transactions.len() } else { cut(part + 1) }).collect()
}

/// Writes the rows of the transactions `range`, 0-based, of a ledger.
pub fn process<P: Process, R: Rows>(
    processor: &P,
    ledger: &PairedLedger<'_>,
    range: Range<usize>,
    arena: &mut Arena,
    scratch: &mut P::Scratch,
    rows: &mut R,
    state: &mut CurrentState,
) -> Result<(), LedgerError> {
    for i in range {
        arena.rewind();
        let transaction = ledger.transaction(i, arena)?;
        processor.process(&transaction, arena, scratch, rows, state)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use starmill_ledger::skim::Span;

    /// Transactions of these sizes, one after the other.
    fn spans(sizes: &[u32]) -> Vec<TransactionSpan> {
        let mut at = 1_000;
        let span = Span::new;
        sizes
            .iter()
            .map(|size| {
                let (start, end) = (at, at + size);
                at = end + 4;
                TransactionSpan {
                    result: span(start, start),
                    fee_changes: span(start, start),
                    meta: span(start, end),
                    post_fee_changes: None,
                }
            })
            .collect()
    }

    #[test]
    fn runs_are_contiguous_and_cover_everything() {
        for parts in 1..=9 {
            let transactions = spans(&[70_000, 1, 200_000, 90_000, 5, 5, 400_000, 3]);
            let runs = split(&transactions, parts);
            assert!(runs.len() <= parts && runs.first().unwrap().start == 0 && runs.last().unwrap().end == transactions.len());
            assert!(runs.windows(2).all(|two| two[0].end == two[1].start), "{runs:?}");
        }
        assert_eq!(split(&[], 4), []);
    }

    #[test]
    fn runs_are_of_about_the_same_bytes() {
        assert_eq!(split(&spans(&[40_000; 10]), 2), [0..5, 5..10]);
        assert_eq!(split(&spans(&[310_000, 40_000, 40_000, 40_000, 40_000, 40_000, 100_000]), 2), [0..1, 1..7]);
    }

    #[test]
    fn what_is_soon_done_is_not_split() {
        assert_eq!(split(&spans(&[1_000; 100]), 8).len(), 1);
        assert_eq!(split(&spans(&[1_400; 100]), 8).len(), 2);
    }
}
