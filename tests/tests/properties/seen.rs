//! Rows of a ledger as values, and how they are made.

use std::collections::{BTreeMap, BTreeSet};

use starmill_ledger::rows::{
    Category, CreditAsset, KeyValue, LedgerRow, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, OperationAccountRow,
    OperationRow, ProtocolContractRow, ProtocolWasmRow, Reason, Rows, SacBalanceRow, SacTokenRow, StateChangeRow, TransactionAccountRow,
    TransactionRow, TrustlineBalanceRow,
};
use starmill_ledger::{AddressBytes, CurrentState, LedgerError, Network, Transaction};
use starmill_pipeline::{Engine, Process};
use starmill_xdr::Arena;

/// Every emitter.
pub(super) struct AllRows;

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

/// A state change; what the checks do not look at by itself is in `rest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) to_id: i64,
    pub(super) operation_id: i64,
    pub(super) id: i64,
    pub(super) category: Category,
    pub(super) reason: Reason,
    pub(super) account: AddressBytes,
    pub(super) token: Option<AddressBytes>,
    pub(super) amount: Option<i128>,
    pub(super) of_token_contract: bool,
    pub(super) rest: String,
}

impl Change {
    fn of(row: &StateChangeRow<'_>, of_token_contract: bool) -> Self {
        let key_value = row.key_value.map(|value| match value {
            KeyValue::Signer(key) => format!("{key:?}"),
            other => format!("{other:?}"),
        });
        let set = (row.spender_account_id, row.creator_account_id, row.destination_account_id, row.liquidity_pool_id, row.to_muxed_id);
        let signer = (row.signer, row.signer_weight_old, row.signer_weight_new, row.threshold, row.threshold_old, row.threshold_new);
        let line = (row.trustline_limit_old, row.trustline_limit_new, row.flags, row.data_entry_name);
        Self {
            to_id: row.place.to_id,
            operation_id: row.place.operation_id,
            id: row.state_change_id,
            category: row.category,
            reason: row.reason,
            account: row.account_id,
            token: row.token_id,
            amount: row.amount,
            of_token_contract,
            rest: format!("{set:?} {signer:?} {line:?} {key_value:?}"),
        }
    }
}

/// One operation row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) id: i64,
    pub(super) kind: &'static str,
    pub(super) code: &'static str,
    pub(super) successful: bool,
}

/// One transaction row, without its hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TransactionLine {
    pub(super) to_id: i64,
    pub(super) fee_charged: i64,
    pub(super) code: &'static str,
    pub(super) is_fee_bump: bool,
}

/// All rows of one ledger.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) transactions: Vec<TransactionLine>,
    pub(super) operations: Vec<Operation>,
    pub(super) transaction_accounts: Vec<(i64, AddressBytes)>,
    pub(super) operation_accounts: Vec<(i64, AddressBytes)>,
    pub(super) changes: Vec<Change>,
    pub(super) native: Vec<NativeBalanceRow>,
    pub(super) assets: Vec<CreditAsset>,
    pub(super) lines: Vec<TrustlineBalanceRow>,
    pub(super) sac: Vec<SacBalanceRow>,
    pub(super) pools: Vec<LiquidityPoolRow>,
    pub(super) shares: Vec<LiquidityPoolBalanceRow>,
    pub(super) tokens: Vec<SacTokenRow>,
    pub(super) wasms: Vec<ProtocolWasmRow>,
    pub(super) contracts: Vec<ProtocolContractRow>,
}

impl Rows for Seen {
    fn ledger(&mut self, _: &LedgerRow) {}
    fn transaction(&mut self, row: &TransactionRow<'_>) {
        let (code, is_fee_bump) = (row.result_code, row.is_fee_bump);
        self.transactions.push(TransactionLine { to_id: row.to_id, fee_charged: row.fee_charged, code, is_fee_bump });
    }
    fn operation(&mut self, row: &OperationRow<'_>) {
        let (kind, code, successful) = (row.operation_type, row.result_code, row.successful);
        self.operations.push(Operation { id: row.id, kind, code, successful });
    }
    fn transaction_account(&mut self, row: &TransactionAccountRow) {
        self.transaction_accounts.push((row.tx_to_id, row.account_id));
    }
    fn operation_account(&mut self, row: &OperationAccountRow) {
        self.operation_accounts.push((row.operation_id, row.account_id));
    }
    fn state_change(&mut self, row: &StateChangeRow<'_>) {
        self.changes.push(Change::of(row, false));
    }
    fn sep41_state_change(&mut self, _: AddressBytes, row: &StateChangeRow<'_>) {
        self.changes.push(Change::of(row, true));
    }
    fn native_balance(&mut self, row: &NativeBalanceRow) {
        self.native.push(*row);
    }
    fn trustline_asset(&mut self, asset: &CreditAsset) {
        self.assets.push(*asset);
    }
    fn trustline_balance(&mut self, row: &TrustlineBalanceRow) {
        self.lines.push(*row);
    }
    fn sac_balance(&mut self, row: &SacBalanceRow) {
        self.sac.push(*row);
    }
    fn liquidity_pool(&mut self, row: &LiquidityPoolRow) {
        self.pools.push(*row);
    }
    fn liquidity_pool_balance(&mut self, row: &LiquidityPoolBalanceRow) {
        self.shares.push(*row);
    }
    fn sac_token(&mut self, row: &SacTokenRow) {
        self.tokens.push(*row);
    }
    fn protocol_wasm(&mut self, row: &ProtocolWasmRow) {
        self.wasms.push(*row);
    }
    fn protocol_contract(&mut self, row: &ProtocolContractRow) {
        self.contracts.push(*row);
    }
    fn append(&mut self, _: &mut Self) {
        // One ledger on one thread is never joined with another.
        unreachable!("rows of one ledger are written in one go");
    }
    fn rows(&self) -> u64 {
        0
    }
    fn bytes(&self) -> usize {
        0
    }
    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Seen {
    /// The rows of one ledger.
    pub(super) fn of(network: &Network, frame: &[u8]) -> Result<Self, LedgerError> {
        let engine: Engine<AllRows, Self> = Engine::new(network.clone(), AllRows, 1);
        let mut seen = Self::default();
        engine.ledger(frame, &mut seen)?;
        Ok(seen)
    }

    /// Participants of each operation.
    pub(super) fn of_operations(&self) -> BTreeMap<i64, BTreeSet<AddressBytes>> {
        grouped(&self.operation_accounts)
    }

    /// Participants of each transaction.
    pub(super) fn of_transactions(&self) -> BTreeMap<i64, BTreeSet<AddressBytes>> {
        grouped(&self.transaction_accounts)
    }
}

fn grouped(rows: &[(i64, AddressBytes)]) -> BTreeMap<i64, BTreeSet<AddressBytes>> {
    let mut groups: BTreeMap<i64, BTreeSet<AddressBytes>> = BTreeMap::new();
    for (id, account) in rows {
        assert!(groups.entry(*id).or_default().insert(*account), "{account:?} stands twice in {id}");
    }
    groups
}
