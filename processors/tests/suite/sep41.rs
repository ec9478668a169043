//! docs/rows.md, SEP-41 tokens: what each event of a token gives.

use starmill_fixtures::{
    LedgerBuilder, contract,
    envelope::{self, Draft},
    event, hash, key,
    meta::{self, OperationEffects, SorobanEffects, TransactionEffects},
    op, result,
    stellar_xdr::{
        Asset, ContractEvent, ContractEventType, HostFunction, InvokeHostFunctionResult, LedgerCloseMeta, Operation, OperationResult,
        OperationResultTr, PaymentResult, ScAddress, ScString, ScVal, SorobanTransactionMetaExt, TransactionMeta,
    },
};
use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{
    KeyValue, LedgerRow, OperationAccountRow, OperationRow, Rows, Sep41AllowanceRow, Sep41BalanceDelta, StateChangeRow, Stream,
    TransactionAccountRow, TransactionRow,
};

use crate::support::{alice, network, rows_in, text};

/// TOID of the only transaction.
const TO_ID: i64 = (9 << 32) | (1 << 12);

/// What was written for tokens, and how many participants.
#[derive(Debug, Default)]
struct Tokens {
    history: Vec<Line>,
    /// Account, what was added.
    deltas: Vec<(String, i128)>,
    /// Owner, spender, amount, last ledger.
    allowances: Vec<(String, String, i128, u32)>,
    participants: Vec<String>,
    others: usize,
}

/// A state change: operation (1, 2 …), id in the stream, what, whose, how much, and what else it says.
#[derive(Debug, PartialEq, Eq)]
struct Line(i64, i64, String, String, i128, Option<String>);

fn line(operation: i64, id: i64, what: &str, account: &str, amount: i128) -> Line {
    Line(operation, id, what.to_owned(), named(account), amount, None)
}

impl Line {
    fn and(self, more: &impl ToString) -> Self {
        Self(self.0, self.1, self.2, self.3, self.4, Some(more.to_string()))
    }
}

impl Rows for Tokens {
    fn ledger(&mut self, _: &LedgerRow) {}
    fn transaction(&mut self, _: &TransactionRow<'_>) {}
    fn operation(&mut self, _: &OperationRow<'_>) {}
    fn transaction_account(&mut self, row: &TransactionAccountRow) {
        self.participants.push(row.account_id.to_strkey());
    }
    fn operation_account(&mut self, _: &OperationAccountRow) {}
    fn sep41_state_change(&mut self, contract_id: AddressBytes, row: &StateChangeRow<'_>) {
        assert_eq!((contract_id.to_strkey(), row.token_id), (token_text(), Some(contract_id)));
        assert_eq!((row.place.to_id, row.place.ledger), (TO_ID, 9));
        let more = match (row.spender_account_id, row.key_value, row.to_muxed_id) {
            (None, None, None) => None,
            (None, None, Some(id)) => Some(id.to_string()),
            (Some(spender), Some(KeyValue::LiveUntilLedger(until)), None) => Some(format!("{} until {until}", spender.to_strkey())),
            other => panic!("{other:?}"),
        };
        let what = format!("{} {}", row.category.name(), row.reason.name());
        let (operation, id) = (row.place.operation_id - TO_ID, row.state_change_id - Stream::Sep41.base());
        self.history.push(Line(operation, id, what, row.account_id.to_strkey(), row.amount.unwrap(), more));
    }
    fn state_change(&mut self, _: &StateChangeRow<'_>) {
        self.others += 1;
    }
    fn sep41_balance_delta(&mut self, row: &Sep41BalanceDelta) {
        assert_eq!((row.contract_id.to_strkey(), row.ledger), (token_text(), 9));
        self.deltas.push((row.account_id.to_strkey(), row.delta));
    }
    fn sep41_allowance(&mut self, row: &Sep41AllowanceRow) {
        assert_eq!((row.contract_id.to_strkey(), row.ledger), (token_text(), 9));
        self.allowances.push((row.owner_id.to_strkey(), row.spender_id.to_strkey(), row.amount, row.expiration_ledger));
    }
    fn append(&mut self, _: &mut Self) {}
    fn rows(&self) -> u64 {
        0
    }
    fn bytes(&self) -> usize {
        0
    }
    fn clear(&mut self) {}
}

fn token_text() -> String {
    contract::labelled("token").to_string()
}

/// Text of the account with this name.
fn named(name: &str) -> String {
    text(&key::account(name))
}

fn who(name: &str) -> ScVal {
    ScVal::Address(ScAddress::Account(key::account(name)))
}

fn symbol(name: &str) -> ScVal {
    ScVal::Symbol(name.try_into().unwrap())
}

fn string(text: &str) -> ScVal {
    ScVal::String(ScString(text.try_into().unwrap()))
}

fn amount(units: i128) -> ScVal {
    ScVal::from(units)
}

/// An event of the token.
fn says(topics: Vec<ScVal>, data: ScVal) -> ContractEvent {
    event::contract_event(contract::labelled("token"), topics, data).unwrap()
}

fn transfer(from: &str, to: &str, units: i128) -> ContractEvent {
    says(vec![symbol("transfer"), who(from), who(to)], amount(units))
}

fn approve(from: &str, spender: &str, units: i128, until: u32) -> ContractEvent {
    let data = contract::vector(vec![amount(units), ScVal::U32(until)]).unwrap();
    says(vec![symbol("approve"), who(from), who(spender)], data)
}

fn call() -> Operation {
    let call =
        contract::transfer(contract::labelled("token"), ScAddress::Account(alice()), ScAddress::Account(key::account("bob")), 1).unwrap();
    op::invoke_host_function(HostFunction::InvokeContract(call), Vec::new()).unwrap()
}

fn called() -> OperationResult {
    OperationResult::OpInner(OperationResultTr::InvokeHostFunction(InvokeHostFunctionResult::Success(hash::sha256(b"value"))))
}

type MetaOf = fn(TransactionEffects) -> Result<TransactionMeta, starmill_fixtures::FixtureError>;

/// A ledger of one transaction: operations, and what events each had.
fn ledger(operations: Vec<(Operation, Vec<ContractEvent>)>, successful: bool, meta: MetaOf) -> LedgerCloseMeta {
    let (operations, events): (Vec<_>, Vec<_>) = operations.into_iter().unzip();
    let results = vec![called(); operations.len()];
    let result = if successful { result::success(100, results) } else { result::failed(100, results) };
    let envelope = envelope::v1(&network(), Draft::new(key::plain(&alice()), 1, operations)).unwrap();
    let effects = TransactionEffects {
        operations: events.into_iter().map(|events| OperationEffects { changes: Vec::new(), events }).collect(),
        soroban: Some(SorobanEffects { fees: SorobanTransactionMetaExt::V0, return_value: None }),
        ..TransactionEffects::default()
    };
    let builder = LedgerBuilder::new(network(), 9).protocol(23);
    let builder = builder.transaction(envelope, result.unwrap(), meta(effects).unwrap(), Vec::new(), Vec::new());
    builder.build(hash::sha256(b"before")).unwrap()
}

/// What a contract call with these events gives.
fn of(events: Vec<ContractEvent>) -> Tokens {
    rows_in(&ledger(vec![(call(), events)], true, meta::v4)).unwrap()
}

/// Sorted as rows are.
fn deltas(of: &[(&str, i128)]) -> Vec<(String, i128)> {
    let mut all: Vec<_> = of.iter().map(|(name, delta)| (key::to_bytes(&key::account(name)), named(name), *delta)).collect();
    all.sort();
    all.into_iter().map(|(_, name, delta)| (name, delta)).collect()
}

#[test]
fn a_transfer_debits_one_and_credits_the_other() {
    let rows = of(vec![transfer("alice", "bob", 70)]);
    assert_eq!(rows.history, [line(1, 1, "BALANCE DEBIT", "alice", 70), line(1, 2, "BALANCE CREDIT", "bob", 70)]);
    assert_eq!(rows.deltas, deltas(&[("alice", -70), ("bob", 70)]));
}

#[test]
fn the_muxed_id_goes_to_the_receiver() {
    let data = |id| contract::symbol_map(vec![("amount", amount(5)), ("to_muxed_id", id)]).unwrap();
    let rows = of(vec![
        says(vec![symbol("transfer"), who("alice"), who("bob")], data(ScVal::U64(u64::MAX))),
        says(vec![symbol("mint"), who("bob")], data(ScVal::U64(7))),
        says(vec![symbol("mint"), who("bob")], data(string("seven"))),
    ]);
    let credit = line(1, 2, "BALANCE CREDIT", "bob", 5).and(&u64::MAX);
    let mints = [line(1, 3, "BALANCE MINT", "bob", 5).and(&7), line(1, 4, "BALANCE MINT", "bob", 5)];
    let [mint, mint_without] = mints;
    assert_eq!(rows.history, [line(1, 1, "BALANCE DEBIT", "alice", 5), credit, mint, mint_without]);
}

#[test]
fn mint_and_clawback_with_and_without_an_administrator() {
    let rows = of(vec![
        says(vec![symbol("mint"), who("alice")], amount(5)),
        says(vec![symbol("mint"), who("admin"), who("alice")], amount(6)),
        says(vec![symbol("clawback"), who("bob")], amount(7)),
        says(vec![symbol("clawback"), who("admin"), who("bob")], amount(8)),
        says(vec![symbol("burn"), who("carol")], amount(9)),
    ]);
    let expected = [
        line(1, 1, "BALANCE MINT", "alice", 5),
        line(1, 2, "BALANCE MINT", "alice", 6),
        line(1, 3, "BALANCE BURN", "bob", 7),
        line(1, 4, "BALANCE BURN", "bob", 8),
        line(1, 5, "BALANCE BURN", "carol", 9),
    ];
    assert_eq!(rows.history, expected);
    assert_eq!(rows.deltas, deltas(&[("alice", 11), ("bob", -15), ("carol", -9)]));
}

#[test]
fn an_approval_is_one_row_and_the_last_of_a_ledger_stands() {
    let rows = of(vec![approve("alice", "bob", 50, 700), approve("alice", "carol", 1, 2), approve("alice", "bob", 0, 0)]);
    let expected = [
        line(1, 1, "ALLOWANCE UPDATE", "alice", 50).and(&format!("{} until 700", named("bob"))),
        line(1, 2, "ALLOWANCE UPDATE", "alice", 1).and(&format!("{} until 2", named("carol"))),
        line(1, 3, "ALLOWANCE UPDATE", "alice", 0).and(&format!("{} until 0", named("bob"))),
    ];
    assert_eq!(rows.history, expected);
    let mut allowances = rows.allowances;
    allowances.sort_by_key(|allowance| allowance.2);
    assert_eq!(allowances, [(named("alice"), named("bob"), 0, 0), (named("alice"), named("carol"), 1, 2)]);
    assert!(rows.deltas.is_empty());
}

#[test]
fn amounts_keep_their_sign_and_all_their_bits() {
    let rows = of(vec![transfer("alice", "bob", -3), transfer("carol", "dave", i128::MAX), transfer("erin", "frank", i128::MIN + 1)]);
    let amounts: Vec<_> = rows.history.iter().map(|line| line.4).collect();
    assert_eq!(amounts, [-3, -3, i128::MAX, i128::MAX, i128::MIN + 1, i128::MIN + 1]);
    let expected = [("alice", 3), ("bob", -3), ("carol", -i128::MAX), ("dave", i128::MAX), ("erin", i128::MAX), ("frank", i128::MIN + 1)];
    assert_eq!(rows.deltas, deltas(&expected));
}

#[test]
fn a_transfer_to_oneself_touches_the_balance_and_leaves_it() {
    assert_eq!(of(vec![transfer("alice", "alice", 5)]).deltas, deltas(&[("alice", 0)]));
}

#[test]
fn ids_start_anew_in_each_operation() {
    let operations = vec![(call(), vec![transfer("alice", "bob", 1)]), (call(), vec![transfer("bob", "alice", 2)])];
    let rows: Tokens = rows_in(&ledger(operations, true, meta::v4)).unwrap();
    let places: Vec<_> = rows.history.iter().map(|line| (line.0, line.1)).collect();
    assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2)]);
}

#[test]
fn token_rows_bring_no_participants_and_no_other_state_changes() {
    let quiet = of(Vec::new());
    let rows = of(vec![transfer("carol", "dave", 1), approve("carol", "dave", 1, 2)]);
    assert_eq!(rows.history.len(), 3);
    assert_eq!(rows.participants, quiet.participants);
    assert_eq!(rows.others, quiet.others);
}

#[test]
fn events_are_in_metas_3_and_4() {
    let with = |meta: MetaOf| rows_in::<Tokens>(&ledger(vec![(call(), vec![transfer("alice", "bob", 70)])], true, meta)).unwrap();
    assert_eq!(with(meta::v3).history, with(meta::v4).history);
    assert_eq!(with(meta::v3).history.len(), 2);
    assert!([meta::v0, meta::v1, meta::v2].iter().all(|meta| with(*meta).history.is_empty()));
}

#[test]
fn only_host_functions_of_applied_transactions_count() {
    let events = || vec![transfer("alice", "bob", 70)];
    let failed: Tokens = rows_in(&ledger(vec![(call(), events())], false, meta::v4)).unwrap();
    assert!(failed.history.is_empty());
    // A classic operation may carry events too (CAP-67).
    let payment = op::payment(key::plain(&key::account("bob")), Asset::Native, 5);
    let envelope = envelope::v1(&network(), Draft::new(key::plain(&alice()), 1, vec![payment])).unwrap();
    let paid = vec![OperationResult::OpInner(OperationResultTr::Payment(PaymentResult::Success))];
    let operations = vec![OperationEffects { changes: Vec::new(), events: events() }];
    let meta = meta::v4(TransactionEffects { operations, ..TransactionEffects::default() }).unwrap();
    let builder = LedgerBuilder::new(network(), 9).transaction(envelope, result::success(100, paid).unwrap(), meta, Vec::new(), Vec::new());
    let classic: Tokens = rows_in(&builder.build(hash::sha256(b"before")).unwrap()).unwrap();
    assert!(classic.history.is_empty() && classic.deltas.is_empty());
}

#[test]
fn an_event_of_another_shape_is_passed_over_and_takes_no_id() {
    let to = || vec![symbol("transfer"), who("alice"), who("bob")];
    let map = |entries| contract::symbol_map(entries).unwrap();
    let asset = string("USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN");
    let system = ContractEvent { type_: ContractEventType::System, ..transfer("alice", "bob", 1) };
    let nobody = ContractEvent { contract_id: None, ..transfer("alice", "bob", 1) };
    let (bare, pair) = (amount(1), vec![amount(1), ScVal::U32(2)]);
    let others = vec![
        system,
        nobody,
        says(Vec::new(), amount(1)),
        says(vec![string("transfer"), who("alice"), who("bob")], amount(1)),
        says(vec![symbol("Transfer"), who("alice"), who("bob")], amount(1)),
        // Asset contracts name their asset last.
        says([to(), vec![asset.clone()]].concat(), amount(1)),
        says(vec![symbol("mint"), who("alice"), asset.clone()], amount(1)),
        says(vec![symbol("burn"), who("alice"), asset.clone()], amount(1)),
        says(vec![symbol("clawback"), who("alice"), asset], amount(1)),
        // Too few topics, too many, or no addresses.
        says(vec![symbol("transfer"), who("alice")], amount(1)),
        says(vec![symbol("mint")], amount(1)),
        says(vec![symbol("mint"), who("a"), who("b"), who("c")], amount(1)),
        says(vec![symbol("mint"), ScVal::Void, who("alice")], amount(1)),
        says(vec![symbol("clawback"), symbol("alice"), who("alice")], amount(1)),
        says(vec![symbol("burn"), ScVal::U32(1)], amount(1)),
        says(vec![symbol("approve"), who("alice")], contract::vector(pair.clone()).unwrap()),
        // No amount, or none of 128 bits.
        says(to(), ScVal::U64(1)),
        says(to(), ScVal::Map(None)),
        says(to(), map(vec![("to_muxed_id", ScVal::U64(1))])),
        says(to(), map(vec![("amount", ScVal::I64(1))])),
        // What is taken has no receiver, so no map.
        says(vec![symbol("burn"), who("alice")], map(vec![("amount", amount(1))])),
        says(vec![symbol("clawback"), who("alice")], map(vec![("amount", amount(1))])),
        says(vec![symbol("approve"), who("alice"), who("bob")], bare),
        says(vec![symbol("approve"), who("alice"), who("bob")], ScVal::Vec(None)),
        says(vec![symbol("approve"), who("alice"), who("bob")], contract::vector(pair[..1].to_vec()).unwrap()),
        says(vec![symbol("approve"), who("alice"), who("bob")], contract::vector([pair.clone(), pair].concat()).unwrap()),
        says(vec![symbol("approve"), who("alice"), who("bob")], contract::vector(vec![amount(1), ScVal::U64(2)]).unwrap()),
    ];
    for (i, other) in others.iter().enumerate() {
        let rows = of(vec![other.clone()]);
        assert!(rows.history.is_empty() && rows.deltas.is_empty() && rows.allowances.is_empty(), "{i}: {other:?}");
    }
    let rows = of([others, vec![transfer("alice", "bob", 70)]].concat());
    assert_eq!(rows.history, [line(1, 1, "BALANCE DEBIT", "alice", 70), line(1, 2, "BALANCE CREDIT", "bob", 70)]);
}
