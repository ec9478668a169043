//! The rows that a ledger turns into, one struct per table, and the trait of whoever takes them.
//!
//! Rows borrow from the ledger's frame; a taker encodes or counts them at once and keeps nothing. Times are Unix seconds, amounts stroops,
//! ids TOIDs (SEP-35). The meaning of each column and when a row appears: docs/rows.md.

mod current;
mod entry;
mod state_change;

pub use current::{
    AssetId, ContractEventsRow, CreditAsset, EntryOp, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, ProtocolContractRow,
    ProtocolWasmRow, SacBalanceRow, SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta, TrustlineBalanceRow,
};
pub use entry::Entry;
/// A signer as the protocol has it; part of a state change.
pub use starmill_xdr::SignerKey;
pub use state_change::{Category, KeyValue, Place, Reason, StateChangeIds, StateChangeRow, Stream, Threshold, flags};

use crate::AddressBytes;

/// What a ledger's header says, printed before its rows. Not a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// Ledger sequence.
    pub sequence: u32,
    /// Protocol version of the header.
    pub protocol: u32,
    /// Close time, Unix seconds.
    pub closed_at: i64,
    /// Arm of the close meta: 0, 1 or 2.
    pub close_meta_version: u8,
    /// Base reserve of the header, stroops.
    pub base_reserve: u32,
    /// Number of transactions.
    pub transactions: u32,
}

/// One line of `transactions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionRow<'a> {
    /// TOID of the transaction.
    pub to_id: i64,
    /// Hash of the envelope, the outer one for a fee bump.
    pub hash: &'a [u8; 32],
    /// Hash of the inner transaction of a fee bump, otherwise the same as `hash`. Not stored.
    pub inner_hash: &'a [u8; 32],
    /// Fee charged, stroops.
    pub fee_charged: i64,
    /// Name of the outer result code.
    pub result_code: &'static str,
    /// Whether the envelope is a fee bump (CAP-15).
    pub is_fee_bump: bool,
    /// Ledger sequence.
    pub ledger: u32,
    /// Close time, Unix seconds.
    pub closed_at: i64,
}

/// One line of `operations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationRow<'a> {
    /// TOID of the operation.
    pub id: i64,
    /// XDR name of the operation type, e.g. `PAYMENT`.
    pub operation_type: &'static str,
    /// XDR of the whole operation, as it stands in the frame.
    pub operation_xdr: &'a [u8],
    /// Name of the result code, e.g. `op_success`.
    pub result_code: &'static str,
    /// Whether the code is `op_success`.
    pub successful: bool,
    /// Ledger sequence.
    pub ledger: u32,
    /// Close time, Unix seconds.
    pub closed_at: i64,
}

/// One line of `transactions_accounts`: an address that takes part in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionAccountRow {
    /// TOID of the transaction.
    pub tx_to_id: i64,
    /// The participant.
    pub account_id: AddressBytes,
    /// Close time, Unix seconds.
    pub closed_at: i64,
}

/// One line of `operations_accounts`: an address that takes part in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationAccountRow {
    /// TOID of the operation.
    pub operation_id: i64,
    /// The participant.
    pub account_id: AddressBytes,
    /// Close time, Unix seconds.
    pub closed_at: i64,
}

/// Takes rows: a COPY encoder, a JSON printer, a counter.
///
/// The process stage fills one `Rows` per chunk of transactions and joins them in transaction order, so an implementation sees the rows of
/// one transaction in the order of their emitters and the transactions in ledger order.
pub trait Rows: Default + Send {
    /// Called once per ledger, before its rows.
    fn ledger(&mut self, row: &LedgerRow);
    /// Takes a `transactions` row.
    fn transaction(&mut self, row: &TransactionRow<'_>);
    /// Takes an `operations` row.
    fn operation(&mut self, row: &OperationRow<'_>);
    /// Takes a `transactions_accounts` row.
    fn transaction_account(&mut self, row: &TransactionAccountRow);
    /// Takes an `operations_accounts` row.
    fn operation_account(&mut self, row: &OperationAccountRow);
    /// Takes a `state_changes` row.
    fn state_change(&mut self, _row: &StateChangeRow<'_>) {}
    /// Takes a `state_changes` row that a SEP-41 event gives, and its contract; kept only if that is known as a SEP-41 token.
    fn sep41_state_change(&mut self, _contract_id: AddressBytes, _row: &StateChangeRow<'_>) {}
    /// Takes the contract events of an operation, for whoever shows them.
    fn contract_events(&mut self, _row: &ContractEventsRow<'_>) {}
    /// Takes a `native_balances` row.
    fn native_balance(&mut self, _row: &NativeBalanceRow) {}
    /// Takes an asset of `trustline_assets`.
    fn trustline_asset(&mut self, _asset: &CreditAsset) {}
    /// Takes a `trustline_balances` row.
    fn trustline_balance(&mut self, _row: &TrustlineBalanceRow) {}
    /// Takes a `sac_balances` row.
    fn sac_balance(&mut self, _row: &SacBalanceRow) {}
    /// Takes a `liquidity_pools` row.
    fn liquidity_pool(&mut self, _row: &LiquidityPoolRow) {}
    /// Takes a `liquidity_pool_balances` row.
    fn liquidity_pool_balance(&mut self, _row: &LiquidityPoolBalanceRow) {}
    /// Takes a `contract_tokens` row of an asset contract.
    fn sac_token(&mut self, _row: &SacTokenRow) {}
    /// Takes a `protocol_wasms` row.
    fn protocol_wasm(&mut self, _row: &ProtocolWasmRow) {}
    /// Takes a `protocol_contracts` row.
    fn protocol_contract(&mut self, _row: &ProtocolContractRow) {}
    /// Takes what a ledger did to a SEP-41 balance.
    fn sep41_balance_delta(&mut self, _row: &Sep41BalanceDelta) {}
    /// Takes a SEP-41 allowance.
    fn sep41_allowance(&mut self, _row: &Sep41AllowanceRow) {}
    /// Joins what `later` took, after what `self` took, and leaves `later` empty with its buffers kept for reuse.
    fn append(&mut self, later: &mut Self);
    /// Rows taken since the last `clear`, ledger lines not counted.
    fn rows(&self) -> u64;
    /// Bytes held, for bounding what is in flight.
    fn bytes(&self) -> usize;
    /// Forgets everything taken, keeps the buffers.
    fn clear(&mut self);
}
