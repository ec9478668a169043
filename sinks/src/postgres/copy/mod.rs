//! `CopyRows`: rows as the bytes of Postgres' binary COPY, made where the rows are made, so that persisting only sends them.
//!
//! Promises: no allocation per row beyond the growth of one buffer per table; fixed-width fields are written as one block; the same rows give
//! the same bytes however they were divided into chunks. Rows of current state are kept as they are until the commit, which nets them.
//! Format: the `PostgreSQL` manual, COPY, binary format. Columns: docs/rows.md.

pub(crate) mod fields;
mod only;
mod sort;
pub(crate) mod state;
pub(crate) mod state_change;

use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{
    CreditAsset, LedgerRow, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, OperationAccountRow, OperationRow,
    ProtocolContractRow, ProtocolWasmRow, Rows, SacBalanceRow, SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta, StateChangeRow,
    TransactionAccountRow, TransactionRow, TrustlineBalanceRow,
};

use fields::{bytes_field, field, null};
pub(crate) use sort::AccountSort;
use state::StateRows;

/// Signature, flags and extension length that open a binary COPY.
pub(crate) const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Field count -1, which closes it.
pub(crate) const TRAILER: [u8; 2] = [0xFF, 0xFF];
/// Bytes of one row of `transactions_accounts` or `operations_accounts`.
pub(crate) const ACCOUNT_ROW: usize = 63;

/// Place of `state_changes` in [`TABLES`].
pub(crate) const STATE_CHANGES: usize = 4;
/// Tables in the order in which a commit sends them.
pub(crate) const TABLES: [CopyTable; 5] = [
    CopyTable {
        name: "transactions",
        copy: "COPY transactions (hash, to_id, fee_charged, ledger_number, ledger_created_at, is_fee_bump, result_code) FROM STDIN (FORMAT binary)",
        by_account: false,
        id_at: 42,
    },
    CopyTable {
        name: "transactions_accounts",
        copy: "COPY transactions_accounts (ledger_created_at, tx_to_id, account_id) FROM STDIN (FORMAT binary)",
        by_account: true,
        id_at: 18,
    },
    CopyTable {
        name: "operations",
        copy: "COPY operations (id, successful, ledger_number, ledger_created_at, operation_type, result_code, operation_xdr) FROM STDIN (FORMAT binary)",
        by_account: false,
        id_at: 6,
    },
    CopyTable {
        name: "operations_accounts",
        copy: "COPY operations_accounts (ledger_created_at, operation_id, account_id) FROM STDIN (FORMAT binary)",
        by_account: true,
        id_at: 18,
    },
    // In arrival order: sorted by account it loads slower (docs/rows.md).
    CopyTable { name: "state_changes", copy: state_change::COPY, by_account: false, id_at: 6 },
];

/// One table that rows are copied into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyTable {
    pub(crate) name: &'static str,
    /// The statement; its column list is the order in which the encoder writes.
    pub(crate) copy: &'static str,
    /// Whether rows have [`ACCOUNT_ROW`] bytes and load faster sorted by account.
    pub(crate) by_account: bool,
    /// Where in a row the eight bytes of the id stand that begins with the ledger.
    id_at: usize,
}

impl CopyTable {
    /// The statement for another table with the same columns.
    pub(crate) fn copy_into(&self, name: &str) -> String {
        self.copy.replacen(self.name, name, 1)
    }
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
    pub(crate) tables: [Encoded; 5],
    /// Rows that the commit chooses from and nets.
    pub(crate) state: StateRows,
}

/// Seconds from 1970 to 2000, where Postgres' timestamps begin.
const POSTGRES_EPOCH_SECONDS: i64 = 946_684_800;

/// A `timestamptz` field: microseconds since 2000. Saturates; a commit refuses ledgers whose time Postgres cannot hold before it comes to that.
fn timestamp(unix_seconds: i64) -> [u8; 8] {
    unix_seconds.saturating_sub(POSTGRES_EPOCH_SECONDS).saturating_mul(1_000_000).to_be_bytes()
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
    fn ledger(&mut self, row: &LedgerRow) {
        self.state.mark(row.sequence);
    }

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
            null(&mut table.bytes);
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

    fn state_change(&mut self, row: &StateChangeRow<'_>) {
        let table = &mut self.tables[STATE_CHANGES];
        table.rows += 1;
        state_change::encode(&mut table.bytes, row);
    }

    fn sep41_state_change(&mut self, contract_id: AddressBytes, row: &StateChangeRow<'_>) {
        self.state.sep41_state_change(contract_id, row);
    }

    fn native_balance(&mut self, row: &NativeBalanceRow) {
        self.state.native_balances.push(*row);
    }

    fn trustline_asset(&mut self, asset: &CreditAsset) {
        self.state.trustline_assets.push(*asset);
    }

    fn trustline_balance(&mut self, row: &TrustlineBalanceRow) {
        self.state.trustline_balances.push(*row);
    }

    fn sac_balance(&mut self, row: &SacBalanceRow) {
        self.state.sac_balances.push(*row);
    }

    fn liquidity_pool(&mut self, row: &LiquidityPoolRow) {
        self.state.liquidity_pools.push(*row);
    }

    fn liquidity_pool_balance(&mut self, row: &LiquidityPoolBalanceRow) {
        self.state.liquidity_pool_balances.push(*row);
    }

    fn sac_token(&mut self, row: &SacTokenRow) {
        self.state.sac_tokens.push(*row);
    }

    fn protocol_wasm(&mut self, row: &ProtocolWasmRow) {
        self.state.protocol_wasms.push(*row);
    }

    fn protocol_contract(&mut self, row: &ProtocolContractRow) {
        self.state.protocol_contracts.push(*row);
    }

    fn sep41_balance_delta(&mut self, row: &Sep41BalanceDelta) {
        self.state.sep41_balances.push(*row);
    }

    fn sep41_allowance(&mut self, row: &Sep41AllowanceRow) {
        self.state.sep41_allowances.push(*row);
    }

    fn append(&mut self, later: &mut Self) {
        self.state.append(&mut later.state);
        for (table, more) in self.tables.iter_mut().zip(&mut later.tables) {
            move_to_end(&mut table.bytes, &mut more.bytes);
            table.rows += std::mem::take(&mut more.rows);
        }
    }

    fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum::<u64>() + self.state.rows()
    }

    fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.bytes.len()).sum::<usize>() + self.state.bytes()
    }

    fn clear(&mut self) {
        for table in &mut self.tables {
            table.bytes.clear();
            table.rows = 0;
        }
        self.state.clear();
    }
}

/// Moves `more` behind what is in `bytes`. Where that is nothing the two change places, which copies nothing, unless a buffer grown for many
/// ledgers would be given away for a much smaller one.
fn move_to_end(bytes: &mut Vec<u8>, more: &mut Vec<u8>) {
    if bytes.is_empty() && bytes.capacity() / 2 <= more.capacity() {
        std::mem::swap(bytes, more);
    } else {
        bytes.append(more);
    }
}

#[cfg(test)]
mod tests;
