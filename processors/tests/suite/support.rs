//! A ledger of one or more transactions in, its rows as text out.

use starmill_fixtures::{
    CloseMeta, LedgerBuilder, STANDALONE_PASSPHRASE, entry,
    envelope::{self, Draft},
    hash, key,
    meta::{self, OperationEffects, SorobanEffects, TransactionEffects},
    result,
    stellar_xdr::{
        AccountId, ContractEvent, Hash, LedgerCloseMeta, LedgerEntryChange, LedgerEntryData, Operation, OperationResult,
        SorobanTransactionData, SorobanTransactionMetaExt, TransactionMeta, TransactionResult, TransactionResultResult,
    },
    to_xdr,
};
use std::fmt::Write as _;

use starmill_ledger::rows::{
    KeyValue, LedgerRow, OperationAccountRow, OperationRow, Rows, StateChangeRow, TransactionAccountRow, TransactionRow,
};
use starmill_ledger::strkey;
use starmill_ledger::{CurrentState, LedgerError, Network, PairedLedger, Skim, envelope as envelopes};
use starmill_processors::{Scratch, process};
use starmill_xdr::Arena;

/// Rows as they were written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Collected {
    pub(crate) transactions: Vec<Transaction>,
    /// Id, type, code, whether successful, bytes of XDR.
    pub(crate) operations: Vec<(i64, String, String, bool, usize)>,
    pub(crate) transaction_accounts: Vec<(i64, String)>,
    pub(crate) operation_accounts: Vec<(i64, String)>,
    /// State changes without the columns that all rows of an operation share, as text.
    pub(crate) state_changes: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    pub(crate) to_id: i64,
    pub(crate) hash: [u8; 32],
    pub(crate) inner_hash: [u8; 32],
    pub(crate) fee_charged: i64,
    pub(crate) result_code: String,
    pub(crate) is_fee_bump: bool,
}

impl Rows for Collected {
    fn ledger(&mut self, _: &LedgerRow) {}
    fn transaction(&mut self, row: &TransactionRow<'_>) {
        self.transactions.push(Transaction {
            to_id: row.to_id,
            hash: *row.hash,
            inner_hash: *row.inner_hash,
            fee_charged: row.fee_charged,
            result_code: row.result_code.to_owned(),
            is_fee_bump: row.is_fee_bump,
        });
    }
    fn operation(&mut self, row: &OperationRow<'_>) {
        let (kind, code) = (row.operation_type.to_owned(), row.result_code.to_owned());
        self.operations.push((row.id, kind, code, row.successful, row.operation_xdr.len()));
    }
    fn transaction_account(&mut self, row: &TransactionAccountRow) {
        self.transaction_accounts.push((row.tx_to_id, row.account_id.to_strkey()));
    }
    fn operation_account(&mut self, row: &OperationAccountRow) {
        self.operation_accounts.push((row.operation_id, row.account_id.to_strkey()));
    }
    fn state_change(&mut self, row: &StateChangeRow<'_>) {
        self.state_changes.push(shown(row));
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

impl Collected {
    /// Participants of operation `index` of the only transaction, sorted.
    pub(crate) fn of_operation(&self, index: usize) -> Vec<String> {
        let id = self.operations[index].0;
        self.operation_accounts.iter().filter(|(other, _)| *other == id).map(|(_, account)| account.clone()).collect()
    }

    /// Participants of the only transaction, sorted.
    pub(crate) fn of_transaction(&self) -> Vec<String> {
        assert_eq!(self.transactions.len(), 1);
        self.transaction_accounts.iter().map(|(_, account)| account.clone()).collect()
    }
}

/// A state change as `CATEGORY REASON account` and what else is set; the id counts from its stream's base.
fn shown(row: &StateChangeRow<'_>) -> String {
    let (id, stream) = (row.state_change_id, row.state_change_id >> 28 << 28);
    let mut text = format!("{} {} {} {}", id - stream, row.category.name(), row.reason.name(), row.account_id.to_strkey());
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, " {name}={value}");
        }
    };
    add("token", row.token_id.map(|a| a.to_strkey()));
    let hex = |id: &[u8; 32]| {
        id.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    add("pool", row.liquidity_pool_id.map(hex));
    add("amount", row.amount.map(|a| a.to_string()));
    add("signer", row.signer.and_then(|key| strkey::signer_key(&key)));
    add("creator", row.creator_account_id.map(|a| a.to_strkey()));
    add("destination", row.destination_account_id.map(|a| a.to_strkey()));
    add("spender", row.spender_account_id.map(|a| a.to_strkey()));
    add("weight_old", row.signer_weight_old.map(|w| w.to_string()));
    add("weight_new", row.signer_weight_new.map(|w| w.to_string()));
    add("threshold", row.threshold.map(|t| t.name().to_owned()));
    add("old", row.threshold_old.map(|t| t.to_string()));
    add("new", row.threshold_new.map(|t| t.to_string()));
    add("limit_old", row.trustline_limit_old.map(|l| l.to_string()));
    add("limit_new", row.trustline_limit_new.map(|l| l.to_string()));
    add("flags", row.flags.map(|f| f.to_string()));
    add("name", row.data_entry_name.map(|name| String::from_utf8_lossy(name).into_owned()));
    let bytes = |side: Option<&[u8]>| side.map_or_else(|| "-".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned());
    add(
        "key_value",
        row.key_value.map(|value| match value {
            KeyValue::Texts { old, new } | KeyValue::Base64 { old, new } => format!("{}>{}", bytes(old), bytes(new)),
            KeyValue::LiveUntilLedger(ledger) => ledger.to_string(),
            KeyValue::Signer(key) => strkey::signer_key(&key).unwrap_or_default(),
        }),
    );
    text
}

/// The local network's id.
pub(crate) fn network() -> Hash {
    hash::network_id(STANDALONE_PASSPHRASE)
}

/// Rows of a ledger, or why there are none.
pub(crate) fn rows_of(ledger: &LedgerCloseMeta) -> Result<Collected, LedgerError> {
    rows_in(ledger)
}

/// The same, for whoever looks at other rows than [`Collected`] does.
pub(crate) fn rows_in<R: Rows>(ledger: &LedgerCloseMeta) -> Result<R, LedgerError> {
    let network = Network::new(STANDALONE_PASSPHRASE);
    let frame = to_xdr(ledger).unwrap();
    let (head, skim) = Skim::of(&frame)?;
    let hashes: Vec<_> = skim.envelopes.iter().map(|e| envelopes::hash(&network, &frame, e)).collect();
    let pairs = envelopes::pair(&network, &frame, head.sequence, &skim, &hashes)?;
    let paired = PairedLedger { network: &network, head: &head, frame: &frame, skim: &skim, pairs: &pairs };
    let (mut scratch, mut rows, mut state) = (Scratch::default(), R::default(), CurrentState::default());
    let mut arena = Arena::default();
    for i in 0..skim.transactions.len() {
        arena.rewind();
        process(&paired.transaction(i, &arena)?, &arena, &mut scratch, &mut rows, &mut state)?;
    }
    state.fold(&mut rows);
    Ok(rows)
}

/// A transaction to shape: source `alice`, operations, what each changed, and their results.
pub(crate) struct Shape {
    pub(crate) draft: Draft,
    pub(crate) changes: Vec<Vec<LedgerEntryChange>>,
    pub(crate) result: TransactionResult,
    pub(crate) meta: fn(TransactionEffects) -> Result<TransactionMeta, starmill_fixtures::FixtureError>,
    pub(crate) protocol: u32,
    pub(crate) close_meta: CloseMeta,
    pub(crate) fee_changes: Vec<LedgerEntryChange>,
    /// Contract events of the first operation.
    pub(crate) events: Vec<ContractEvent>,
    /// Changes after the operations, in the meta.
    pub(crate) changes_after: Vec<LedgerEntryChange>,
    /// Changes after all transactions, in close meta V2.
    pub(crate) refund_changes: Vec<LedgerEntryChange>,
    /// Who bumps the fee, if somebody does.
    pub(crate) bumped_by: Option<AccountId>,
}

impl Shape {
    /// A successful transaction of these operations that changes nothing.
    pub(crate) fn new(operations: Vec<Operation>, results: Vec<OperationResult>) -> Self {
        Self {
            draft: Draft::new(key::plain(&alice()), 1, operations),
            changes: Vec::new(),
            result: result::success(100, results).unwrap(),
            meta: meta::v4,
            protocol: 23,
            close_meta: CloseMeta::V2,
            fee_changes: Vec::new(),
            events: Vec::new(),
            changes_after: Vec::new(),
            refund_changes: Vec::new(),
            bumped_by: None,
        }
    }

    /// The same, failed.
    pub(crate) fn failed(operations: Vec<Operation>, results: Vec<OperationResult>) -> Self {
        Self { result: result::failed(100, results).unwrap(), ..Self::new(operations, Vec::new()) }
    }

    pub(crate) fn soroban(mut self, data: SorobanTransactionData) -> Self {
        self.draft.soroban = Some(data);
        self
    }

    /// Its rows in a ledger of its own.
    pub(crate) fn rows(self) -> Result<Collected, LedgerError> {
        let (mut envelope, mut result) = (envelope::v1(&network(), self.draft).unwrap(), self.result);
        if let Some(payer) = self.bumped_by {
            envelope = envelope::fee_bump(&network(), key::plain(&payer), 400, envelope).unwrap();
            let inner = hash::inner_transaction_hash(&network(), &envelope).unwrap().unwrap();
            result = match result.result {
                TransactionResultResult::TxSuccess(results) => result::fee_bump(result.fee_charged, inner, true, results.into()),
                TransactionResultResult::TxFailed(results) => result::fee_bump(result.fee_charged, inner, false, results.into()),
                other => panic!("{other:?}"),
            }
            .unwrap();
        }
        let mut operations: Vec<_> =
            self.changes.into_iter().map(|changes| OperationEffects { changes, ..OperationEffects::default() }).collect();
        if !self.events.is_empty() {
            operations.resize(operations.len().max(1), OperationEffects::default());
            operations[0].events = self.events;
        }
        let soroban = Some(SorobanEffects { fees: SorobanTransactionMetaExt::V0, return_value: None });
        let meta =
            (self.meta)(TransactionEffects { operations, after: self.changes_after, soroban, ..TransactionEffects::default() }).unwrap();
        let builder = LedgerBuilder::new(network(), 9).protocol(self.protocol).close_meta(self.close_meta);
        let builder = builder.transaction(envelope, result, meta, self.fee_changes, self.refund_changes);
        rows_of(&builder.build(hash::sha256(b"before")).unwrap())
    }
}

pub(crate) fn alice() -> AccountId {
    key::account("alice")
}

/// The text of an account.
pub(crate) fn text(account: &AccountId) -> String {
    account.to_string()
}

/// Texts, sorted as rows are: by bytes of the key, which `G` texts keep.
pub(crate) fn texts(accounts: &[&AccountId]) -> Vec<String> {
    let mut keys: Vec<_> = accounts.iter().map(|account| (key::to_bytes(account), text(account))).collect();
    keys.sort();
    keys.into_iter().map(|(_, text)| text).collect()
}

/// An account entry after or before a change.
pub(crate) fn account_entry(account: &AccountId, balance: i64) -> starmill_fixtures::stellar_xdr::LedgerEntry {
    entry::entry(7, LedgerEntryData::Account(entry::account(account.clone(), balance, 1)))
}
