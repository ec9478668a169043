//! A sink that keeps nothing: it counts rows, to measure everything before persisting and to try out input.

use std::convert::Infallible;

use starmill_ledger::Coverage;
use starmill_ledger::rows::{LedgerRow, OperationAccountRow, OperationRow, Rows, TransactionAccountRow, TransactionRow};
use starmill_ledger::sink::{Batch, Sink};

/// Counts rows per table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountRows {
    /// Ledger lines.
    pub ledgers: u64,
    /// Rows of `transactions`.
    pub transactions: u64,
    /// Rows of `transactions_accounts`.
    pub transactions_accounts: u64,
    /// Rows of `operations`.
    pub operations: u64,
    /// Rows of `operations_accounts`.
    pub operations_accounts: u64,
    /// Bytes of operation XDR in those rows.
    pub operation_xdr_bytes: u64,
}

impl Rows for CountRows {
    fn ledger(&mut self, _: &LedgerRow) {
        self.ledgers += 1;
    }

    fn transaction(&mut self, _: &TransactionRow<'_>) {
        self.transactions += 1;
    }

    fn operation(&mut self, row: &OperationRow<'_>) {
        self.operations += 1;
        self.operation_xdr_bytes += row.operation_xdr.len() as u64;
    }

    fn transaction_account(&mut self, _: &TransactionAccountRow) {
        self.transactions_accounts += 1;
    }

    fn operation_account(&mut self, _: &OperationAccountRow) {
        self.operations_accounts += 1;
    }

    fn append(&mut self, later: &mut Self) {
        self.ledgers += later.ledgers;
        self.transactions += later.transactions;
        self.transactions_accounts += later.transactions_accounts;
        self.operations += later.operations;
        self.operations_accounts += later.operations_accounts;
        self.operation_xdr_bytes += later.operation_xdr_bytes;
        later.clear();
    }

    fn rows(&self) -> u64 {
        self.transactions + self.transactions_accounts + self.operations + self.operations_accounts
    }

    /// Nothing is held, whatever was counted.
    fn bytes(&self) -> usize {
        0
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Takes every batch and keeps only the sum of its counts.
#[derive(Debug, Default)]
pub struct NullSink {
    /// What was committed so far.
    pub total: CountRows,
}

impl Sink for NullSink {
    type Rows = CountRows;
    type Error = Infallible;

    fn coverage(&self) -> Coverage {
        Coverage::new()
    }

    fn commit(&mut self, batch: &mut Batch<CountRows>) -> Result<(), Infallible> {
        let mut counted = batch.rows;
        self.total.append(&mut counted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_batches_and_leaves_them() {
        let mut batch = Batch::<CountRows>::new();
        batch.rows.transaction(&TransactionRow {
            to_id: 1,
            hash: &[0; 32],
            inner_hash: &[0; 32],
            fee_charged: 1,
            result_code: "TransactionResultCodeTxSuccess",
            is_fee_bump: false,
            ledger: 1,
            closed_at: 0,
        });
        let mut sink = NullSink::default();
        sink.commit(&mut batch).unwrap();
        sink.commit(&mut batch).unwrap();
        assert_eq!(sink.total.rows(), 2);
        assert_eq!(batch.rows.rows(), 1);
        assert_eq!(sink.coverage().ledgers(), 0);
    }
}
