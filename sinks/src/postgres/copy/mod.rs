//! `CopyRows`: rows as the bytes of Postgres' binary COPY, made where the rows are made, so that persisting only sends them.
//!
//! Promises: no allocation per row beyond the growth of one buffer per table; fixed-width fields are written as one block; the same rows give
//! the same bytes however they were divided into chunks. Format: the `PostgreSQL` manual, COPY, binary format. Columns: docs/rows.md.

mod sort;

use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{LedgerRow, OperationAccountRow, OperationRow, Rows, TransactionAccountRow, TransactionRow};

pub(crate) use sort::AccountSort;

/// Signature, flags and extension length that open a binary COPY.
pub(crate) const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Field count -1, which closes it.
pub(crate) const TRAILER: [u8; 2] = [0xFF, 0xFF];
/// Bytes of one row of `transactions_accounts` or `operations_accounts`.
pub(crate) const ACCOUNT_ROW: usize = 63;

/// Tables in the order in which a commit sends them.
pub(crate) const TABLES: [CopyTable; 4] = [
    CopyTable {
        name: "transactions",
        copy: "COPY transactions (hash, to_id, fee_charged, ledger_number, ledger_created_at, is_fee_bump, result_code) FROM STDIN (FORMAT binary)",
        by_account: false,
    },
    CopyTable {
        name: "transactions_accounts",
        copy: "COPY transactions_accounts (ledger_created_at, tx_to_id, account_id) FROM STDIN (FORMAT binary)",
        by_account: true,
    },
    CopyTable {
        name: "operations",
        copy: "COPY operations (id, successful, ledger_number, ledger_created_at, operation_type, result_code, operation_xdr) FROM STDIN (FORMAT binary)",
        by_account: false,
    },
    CopyTable {
        name: "operations_accounts",
        copy: "COPY operations_accounts (ledger_created_at, operation_id, account_id) FROM STDIN (FORMAT binary)",
        by_account: true,
    },
];

/// One table that rows are copied into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyTable {
    pub(crate) name: &'static str,
    /// The statement; its column list is the order in which the encoder writes.
    pub(crate) copy: &'static str,
    /// Whether rows have [`ACCOUNT_ROW`] bytes and load faster sorted by account.
    pub(crate) by_account: bool,
}

/// Encoded rows of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: u64,
}

/// Rows encoded for binary COPY, one buffer per table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyRows {
    /// In the order of [`TABLES`].
    pub(crate) tables: [Encoded; 4],
}

/// Seconds from 1970 to 2000, where Postgres' timestamps begin.
const POSTGRES_EPOCH_SECONDS: i64 = 946_684_800;

/// A `timestamptz` field: microseconds since 2000. Saturates; a commit refuses ledgers whose time Postgres cannot hold before it comes to that.
fn timestamp(unix_seconds: i64) -> [u8; 8] {
    unix_seconds.saturating_sub(POSTGRES_EPOCH_SECONDS).saturating_mul(1_000_000).to_be_bytes()
}

/// Writes the length of field at `at`, then its bytes, and returns where the next field begins. Offsets are constants after inlining.
#[inline]
fn field<const ROW: usize, const LEN: usize>(row: &mut [u8; ROW], at: usize, value: [u8; LEN]) -> usize {
    row[at..at + 4].copy_from_slice(&LEN.to_be_bytes()[size_of::<usize>() - 4..]);
    row[at + 4..at + 4 + LEN].copy_from_slice(&value);
    at + 4 + LEN
}

/// A field of variable length.
#[inline]
fn bytes_field(out: &mut Vec<u8>, value: &[u8]) {
    // A value beyond i32 cannot come from a frame and Postgres would refuse it; a false length makes the whole COPY fail.
    out.extend_from_slice(&i32::try_from(value.len()).unwrap_or(i32::MAX).to_be_bytes());
    out.extend_from_slice(value);
}

/// A row of either `*_accounts` table.
#[inline]
fn account_row(out: &mut Vec<u8>, closed_at: i64, to_id: i64, account: &AddressBytes) {
    let mut row = [0; ACCOUNT_ROW];
    row[1] = 3;
    let at = field(&mut row, 2, timestamp(closed_at));
    let at = field(&mut row, at, to_id.to_be_bytes());
    field(&mut row, at, account.0);
    out.extend_from_slice(&row);
}

impl Rows for CopyRows {
    fn ledger(&mut self, _: &LedgerRow) {}

    fn transaction(&mut self, row: &TransactionRow<'_>) {
        let table = &mut self.tables[0];
        table.rows += 1;
        let mut block = [0; 87];
        block[1] = 7;
        let at = field(&mut block, 2, *row.hash);
        let at = field(&mut block, at, row.to_id.to_be_bytes());
        let at = field(&mut block, at, row.fee_charged.to_be_bytes());
        let at = field(&mut block, at, row.ledger.to_be_bytes());
        let at = field(&mut block, at, timestamp(row.closed_at));
        field(&mut block, at, [u8::from(row.is_fee_bump)]);
        table.bytes.extend_from_slice(&block);
        bytes_field(&mut table.bytes, row.result_code.as_bytes());
    }

    fn operation(&mut self, row: &OperationRow<'_>) {
        let table = &mut self.tables[2];
        table.rows += 1;
        let mut block = [0; 39];
        block[1] = 7;
        let at = field(&mut block, 2, row.id.to_be_bytes());
        let at = field(&mut block, at, [u8::from(row.successful)]);
        let at = field(&mut block, at, row.ledger.to_be_bytes());
        field(&mut block, at, timestamp(row.closed_at));
        table.bytes.extend_from_slice(&block);
        bytes_field(&mut table.bytes, row.operation_type.as_bytes());
        bytes_field(&mut table.bytes, row.result_code.as_bytes());
        if row.operation_xdr.is_empty() {
            // Length -1: NULL.
            table.bytes.extend_from_slice(&[0xFF; 4]);
        } else {
            bytes_field(&mut table.bytes, row.operation_xdr);
        }
    }

    fn transaction_account(&mut self, row: &TransactionAccountRow) {
        let table = &mut self.tables[1];
        table.rows += 1;
        account_row(&mut table.bytes, row.closed_at, row.tx_to_id, &row.account_id);
    }

    fn operation_account(&mut self, row: &OperationAccountRow) {
        let table = &mut self.tables[3];
        table.rows += 1;
        account_row(&mut table.bytes, row.closed_at, row.operation_id, &row.account_id);
    }

    fn append(&mut self, later: &mut Self) {
        for (table, more) in self.tables.iter_mut().zip(&mut later.tables) {
            table.bytes.append(&mut more.bytes);
            table.rows += std::mem::take(&mut more.rows);
        }
    }

    fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.bytes.len()).sum()
    }

    fn clear(&mut self) {
        for table in &mut self.tables {
            table.bytes.clear();
            table.rows = 0;
        }
    }
}

#[cfg(test)]
mod tests;
