//! Ledgers shaped by what their transactions did to entries, and the rows of entries and contracts that come of them.

use starmill_fixtures::{
    CloseMeta, FixtureError, LedgerBuilder, LedgerTotals, contract, entry,
    envelope::{self, Draft},
    hash, key,
    meta::{self, OperationEffects, SorobanEffects, TransactionEffects},
    op, result,
    stellar_xdr::{
        AccountId, Asset, ContractEvent, ContractId, LedgerEntry, LedgerEntryChange, LedgerEntryData, Operation, ScAddress, ScVal,
        SorobanTransactionMetaExt, TransactionMeta,
    },
};
use starmill_ledger::LedgerError;
use starmill_ledger::rows::{
    AssetId, ContractEventsRow, CreditAsset, EntryOp, LedgerRow, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow,
    OperationAccountRow, OperationRow, ProtocolContractRow, ProtocolWasmRow, Rows, SacBalanceRow, SacTokenRow, StateChangeRow,
    TransactionAccountRow, TransactionRow, TrustlineBalanceRow,
};

use crate::support::{alice, network, rows_in};

/// Rows as they were written.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) changes: Vec<StateChange>,
    pub(crate) participants: Vec<String>,
    pub(crate) native: Vec<NativeBalanceRow>,
    pub(crate) assets: Vec<String>,
    pub(crate) lines: Vec<TrustlineBalanceRow>,
    pub(crate) sac: Vec<SacBalanceRow>,
    pub(crate) pools: Vec<LiquidityPoolRow>,
    pub(crate) shares: Vec<LiquidityPoolBalanceRow>,
    pub(crate) tokens: Vec<SacTokenRow>,
    pub(crate) wasms: Vec<ProtocolWasmRow>,
    pub(crate) contracts: Vec<ProtocolContractRow>,
    /// Transaction, operation, number of events.
    pub(crate) events: Vec<(u32, u32, usize)>,
}

/// A state change of a stream that this suite is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateChange {
    /// Operation's number in its transaction, 1-based.
    pub(crate) operation: i64,
    pub(crate) id: i64,
    pub(crate) what: String,
    pub(crate) account: String,
    pub(crate) token: Option<String>,
    pub(crate) creator: Option<String>,
    pub(crate) flags: Option<i16>,
}

impl Rows for Taken {
    fn ledger(&mut self, _: &LedgerRow) {}
    fn transaction(&mut self, _: &TransactionRow<'_>) {}
    fn operation(&mut self, _: &OperationRow<'_>) {}
    fn transaction_account(&mut self, _: &TransactionAccountRow) {}
    fn operation_account(&mut self, row: &OperationAccountRow) {
        self.participants.push(row.account_id.to_strkey());
    }
    fn state_change(&mut self, row: &StateChangeRow<'_>) {
        if row.state_change_id <= 2 << 28 {
            return; // token transfers and effects
        }
        self.changes.push(StateChange {
            operation: row.place.operation_id & 0xFFF,
            id: row.state_change_id,
            what: format!("{} {}", row.category.name(), row.reason.name()),
            account: row.account_id.to_strkey(),
            token: row.token_id.map(|id| id.to_strkey()),
            creator: row.creator_account_id.map(|id| id.to_strkey()),
            flags: row.flags,
        });
    }
    fn contract_events(&mut self, row: &ContractEventsRow<'_>) {
        self.events.push((row.tx_index, row.op_index, row.events.len()));
    }
    fn native_balance(&mut self, row: &NativeBalanceRow) {
        self.native.push(*row);
    }
    fn trustline_asset(&mut self, asset: &CreditAsset) {
        self.assets.push(asset.to_text());
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
    fn append(&mut self, _: &mut Self) {}
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

/// One transaction of alice.
pub(crate) struct Tx {
    pub(crate) operations: Vec<Operation>,
    /// Per operation.
    pub(crate) changes: Vec<Vec<LedgerEntryChange>>,
    /// Per operation.
    pub(crate) events: Vec<Vec<ContractEvent>>,
    pub(crate) fee: Vec<LedgerEntryChange>,
    pub(crate) after: Vec<LedgerEntryChange>,
    pub(crate) refund: Vec<LedgerEntryChange>,
    pub(crate) successful: bool,
    pub(crate) soroban: bool,
    pub(crate) bumped: bool,
    pub(crate) meta: fn(TransactionEffects) -> Result<TransactionMeta, FixtureError>,
}

impl Tx {
    /// A successful transaction of one contract call that changed this.
    pub(crate) fn call(changes: Vec<LedgerEntryChange>) -> Self {
        Self::of(vec![call()], vec![changes])
    }

    /// A successful transaction of these operations, each of which changed this.
    pub(crate) fn of(operations: Vec<Operation>, changes: Vec<Vec<LedgerEntryChange>>) -> Self {
        Self {
            operations,
            changes,
            events: Vec::new(),
            fee: Vec::new(),
            after: Vec::new(),
            refund: Vec::new(),
            successful: true,
            soroban: true,
            bumped: false,
            meta: meta::v4,
        }
    }

    /// As many operations as there are lists of changes; what they are is of no matter.
    pub(crate) fn changing(changes: Vec<Vec<LedgerEntryChange>>) -> Self {
        let payment = || op::payment(key::plain(&alice()), Asset::Native, 1);
        Self { soroban: false, ..Self::of(changes.iter().map(|_| payment()).collect(), changes) }
    }

    /// Rows of a ledger of this transaction alone.
    pub(crate) fn rows(self) -> Taken {
        ledger(23, vec![self]).unwrap()
    }
}

/// Any contract call.
pub(crate) fn call() -> Operation {
    let party = ScAddress::Account(alice());
    let call = contract::transfer(contract::labelled("token"), party.clone(), party, 1).unwrap();
    op::invoke_host_function(starmill_fixtures::stellar_xdr::HostFunction::InvokeContract(call), Vec::new()).unwrap()
}

/// Rows of a ledger of these transactions in apply order.
pub(crate) fn ledger(protocol: u32, transactions: Vec<Tx>) -> Result<Taken, LedgerError> {
    let totals = LedgerTotals { base_reserve: 7_000_000, ..LedgerTotals::default() };
    let mut builder = LedgerBuilder::new(network(), 9).protocol(protocol).close_meta(CloseMeta::V2).totals(totals);
    for (tx, sequence) in transactions.into_iter().zip(1..) {
        let mut draft = Draft::new(key::plain(&alice()), sequence, tx.operations);
        draft.soroban = tx.soroban.then(|| contract::resources(Vec::new(), Vec::new(), 50).unwrap());
        let mut envelope = envelope::v1(&network(), draft).unwrap();
        let mut result = if tx.successful { result::success(100, Vec::new()) } else { result::failed(100, Vec::new()) }.unwrap();
        if tx.bumped {
            envelope = envelope::fee_bump(&network(), key::plain(&key::account("payer")), 500, envelope).unwrap();
            let inner = hash::inner_transaction_hash(&network(), &envelope).unwrap().unwrap();
            result = result::fee_bump(200, inner, tx.successful, Vec::new()).unwrap();
        }
        let mut events = tx.events.into_iter();
        let operations =
            tx.changes.into_iter().map(|changes| OperationEffects { changes, events: events.next().unwrap_or_default() }).collect();
        let soroban = tx.soroban.then_some(SorobanEffects { fees: SorobanTransactionMetaExt::V0, return_value: Some(ScVal::Void) });
        let meta = (tx.meta)(TransactionEffects { operations, after: tx.after, soroban, ..TransactionEffects::default() }).unwrap();
        builder = builder.transaction(envelope, result, meta, tx.fee, tx.refund);
    }
    rows_in(&builder.build(hash::sha256(b"before")).unwrap())
}

/// An entry that was modified in ledger 9.
pub(crate) fn entry_of(data: LedgerEntryData) -> LedgerEntry {
    entry::entry(9, data)
}

/// STATE and UPDATED.
pub(crate) fn updated(before: LedgerEntryData, after: LedgerEntryData) -> Vec<LedgerEntryChange> {
    vec![LedgerEntryChange::State(entry::entry(8, before)), LedgerEntryChange::Updated(entry_of(after))]
}

/// CREATED.
pub(crate) fn created(data: LedgerEntryData) -> Vec<LedgerEntryChange> {
    vec![LedgerEntryChange::Created(entry_of(data))]
}

/// RESTORED.
pub(crate) fn restored(data: LedgerEntryData) -> Vec<LedgerEntryChange> {
    vec![LedgerEntryChange::Restored(entry_of(data))]
}

/// STATE and REMOVED.
pub(crate) fn removed(data: LedgerEntryData) -> Vec<LedgerEntryChange> {
    // The key of a removal is not read: the state before it says which entry.
    let key = entry::account_key(&alice());
    vec![LedgerEntryChange::State(entry::entry(8, data)), LedgerEntryChange::Removed(key)]
}

/// The asset contract of an asset.
pub(crate) fn sac(asset: &Asset) -> ContractId {
    hash::asset_contract_id(&network(), asset).unwrap()
}

/// `C…`.
pub(crate) fn contract_text(id: &ContractId) -> String {
    ScAddress::Contract(id.clone()).to_string()
}

/// The issuer of [`usd`].
pub(crate) fn issuer() -> AccountId {
    key::account("issuer")
}

/// A credit asset.
pub(crate) fn usd() -> Asset {
    starmill_fixtures::asset::credit("USD", &issuer()).unwrap()
}

/// The same as rows have it.
pub(crate) fn usd_row() -> CreditAsset {
    CreditAsset { code: *b"USD\0\0\0\0\0\0\0\0\0", code_size: 4, issuer: key::to_bytes(&issuer()) }
}

/// `ADD`, `UPDATE`, `REMOVE`.
pub(crate) fn ops<R>(rows: &[R], op: impl Fn(&R) -> EntryOp) -> Vec<EntryOp> {
    rows.iter().map(op).collect()
}

/// Native and [`usd`], as pools have them.
pub(crate) fn pair() -> (AssetId, AssetId) {
    (AssetId::Native, AssetId::Credit(usd_row()))
}
