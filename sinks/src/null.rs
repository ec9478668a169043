//! A sink that keeps nothing: it counts rows, to measure everything before persisting and to try out input.

use std::convert::Infallible;

use starmill_ledger::rows::{
    ContractEventsRow, CreditAsset, LedgerRow, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, OperationAccountRow,
    OperationRow, ProtocolContractRow, ProtocolWasmRow, Rows, SacBalanceRow, SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta,
    StateChangeRow, TransactionAccountRow, TransactionRow, TrustlineBalanceRow,
};
use starmill_ledger::sink::{Batch, Sink};
use starmill_ledger::{AddressBytes, Coverage};

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
    /// Rows of `state_changes`.
    pub state_changes: u64,
    /// Rows of `state_changes` that SEP-41 events give, whether or not their contract is known as a token.
    pub sep41_state_changes: u64,
    /// Operations with contract events.
    pub contract_events: u64,
    /// Rows of `native_balances`, one for each ledger that changes an account; so below.
    pub native_balances: u64,
    /// Assets of trustlines.
    pub trustline_assets: u64,
    /// Rows of `trustline_balances`.
    pub trustline_balances: u64,
    /// Rows of `sac_balances`.
    pub sac_balances: u64,
    /// Rows of `liquidity_pools`.
    pub liquidity_pools: u64,
    /// Rows of `liquidity_pool_balances`.
    pub liquidity_pool_balances: u64,
    /// Rows of `contract_tokens` that instances of asset contracts give.
    pub contract_tokens: u64,
    /// Rows of `protocol_wasms`.
    pub protocol_wasms: u64,
    /// Rows of `protocol_contracts`.
    pub protocol_contracts: u64,
    /// Changes of SEP-41 balances.
    pub sep41_balances: u64,
    /// SEP-41 allowances.
    pub sep41_allowances: u64,
}

impl CountRows {
    /// Rows of all tables but the first four.
    fn later_tables(&self) -> u64 {
        self.state_changes
            + self.sep41_state_changes
            + self.contract_events
            + self.native_balances
            + self.trustline_assets
            + self.trustline_balances
            + self.sac_balances
            + self.liquidity_pools
            + self.liquidity_pool_balances
            + self.contract_tokens
            + self.protocol_wasms
            + self.protocol_contracts
            + self.sep41_balances
            + self.sep41_allowances
    }
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

    fn state_change(&mut self, _: &StateChangeRow<'_>) {
        self.state_changes += 1;
    }

    fn sep41_state_change(&mut self, _: AddressBytes, _: &StateChangeRow<'_>) {
        self.sep41_state_changes += 1;
    }

    fn contract_events(&mut self, _: &ContractEventsRow<'_>) {
        self.contract_events += 1;
    }

    fn native_balance(&mut self, _: &NativeBalanceRow) {
        self.native_balances += 1;
    }

    fn trustline_asset(&mut self, _: &CreditAsset) {
        self.trustline_assets += 1;
    }

    fn trustline_balance(&mut self, _: &TrustlineBalanceRow) {
        self.trustline_balances += 1;
    }

    fn sac_balance(&mut self, _: &SacBalanceRow) {
        self.sac_balances += 1;
    }

    fn liquidity_pool(&mut self, _: &LiquidityPoolRow) {
        self.liquidity_pools += 1;
    }

    fn liquidity_pool_balance(&mut self, _: &LiquidityPoolBalanceRow) {
        self.liquidity_pool_balances += 1;
    }

    fn sac_token(&mut self, _: &SacTokenRow) {
        self.contract_tokens += 1;
    }

    fn protocol_wasm(&mut self, _: &ProtocolWasmRow) {
        self.protocol_wasms += 1;
    }

    fn protocol_contract(&mut self, _: &ProtocolContractRow) {
        self.protocol_contracts += 1;
    }

    fn sep41_balance_delta(&mut self, _: &Sep41BalanceDelta) {
        self.sep41_balances += 1;
    }

    fn sep41_allowance(&mut self, _: &Sep41AllowanceRow) {
        self.sep41_allowances += 1;
    }

    fn append(&mut self, later: &mut Self) {
        self.ledgers += later.ledgers;
        self.transactions += later.transactions;
        self.transactions_accounts += later.transactions_accounts;
        self.operations += later.operations;
        self.operations_accounts += later.operations_accounts;
        self.operation_xdr_bytes += later.operation_xdr_bytes;
        self.state_changes += later.state_changes;
        self.sep41_state_changes += later.sep41_state_changes;
        self.contract_events += later.contract_events;
        self.native_balances += later.native_balances;
        self.trustline_assets += later.trustline_assets;
        self.trustline_balances += later.trustline_balances;
        self.sac_balances += later.sac_balances;
        self.liquidity_pools += later.liquidity_pools;
        self.liquidity_pool_balances += later.liquidity_pool_balances;
        self.contract_tokens += later.contract_tokens;
        self.protocol_wasms += later.protocol_wasms;
        self.protocol_contracts += later.protocol_contracts;
        self.sep41_balances += later.sep41_balances;
        self.sep41_allowances += later.sep41_allowances;
        later.clear();
    }

    fn rows(&self) -> u64 {
        self.transactions + self.transactions_accounts + self.operations + self.operations_accounts + self.later_tables()
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
        batch.rows.sac_token(&SacTokenRow {
            contract_id: AddressBytes::contract(&[1; 32]),
            asset: CreditAsset { code: *b"A\0\0\0\0\0\0\0\0\0\0\0", code_size: 4, issuer: [2; 32] },
        });
        sink.commit(&mut batch).unwrap();
        assert_eq!((sink.total.contract_tokens, sink.total.transactions, sink.total.rows()), (1, 3, 4));
    }
}
