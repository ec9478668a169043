//! docs/rows.md: trustline balances, liquidity pools, SAC balances, contract tokens, contract code, contracts, contract events.

use starmill_fixtures::{
    asset, contract, entry, event, key,
    stellar_xdr::{
        AccountId, Asset, ContractCodeEntry, ContractCodeEntryExt, ContractDataDurability, ContractDataEntry, ContractExecutable,
        ContractId, Hash, LedgerEntryChange, LedgerEntryData, Liabilities, LiquidityPoolConstantProductParameters, LiquidityPoolEntry,
        LiquidityPoolEntryBody, LiquidityPoolEntryConstantProduct, PoolId, ScAddress, ScContractInstance, ScMap, ScMapEntry, ScVal,
        TrustLineAsset, TrustLineEntry,
    },
};
use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{
    EntryOp, LiquidityPoolBalanceRow, LiquidityPoolRow, ProtocolContractRow, ProtocolWasmRow, SacBalanceRow, SacTokenRow,
    TrustlineBalanceRow,
};

use crate::entry_support::{Tx, call, created, issuer, ledger, ops, pair, removed, restored, sac, updated, usd, usd_row};
use crate::support::text;

/// TOID of the first operation of the first transaction.
const OPERATION: i64 = (9 << 32) | (1 << 12) | 1;

fn bob() -> AccountId {
    key::account("bob")
}

fn bob_row() -> AddressBytes {
    AddressBytes::account(&key::to_bytes(&bob()))
}

fn line(balance: i64) -> LedgerEntryData {
    LedgerEntryData::Trustline(TrustLineEntry { balance, ..entry::trust_line(bob(), &usd(), 100) })
}

fn shares(balance: i64) -> LedgerEntryData {
    let asset = TrustLineAsset::PoolShare(PoolId(Hash([3; 32])));
    LedgerEntryData::Trustline(TrustLineEntry { balance, asset, ..entry::trust_line(bob(), &usd(), 100) })
}

#[test]
fn trustlines_created_updated_removed() {
    let row = |op, balance| TrustlineBalanceRow {
        op,
        account_id: bob_row(),
        asset: usd_row(),
        operation_id: OPERATION,
        balance,
        trust_limit: 100,
        buying_liabilities: 0,
        selling_liabilities: 0,
        flags: 1,
        ledger: 9,
    };
    let of = |changes| Tx::changing(vec![changes]).rows();
    assert_eq!(of(created(line(5))).lines, [row(EntryOp::Add, 5)]);
    assert_eq!(of(updated(line(5), line(6))).lines, [row(EntryOp::Update, 6)]);
    assert_eq!(of(removed(line(5))).lines, [row(EntryOp::Remove, 5)]);
    assert_eq!(of(removed(line(5))).assets, [format!("USD:{}", text(&issuer()))]);
}

#[test]
fn a_trustline_whose_liabilities_or_flags_alone_change_counts() {
    let mut after = TrustLineEntry { flags: 2, ..entry::trust_line(bob(), &usd(), 100) };
    entry::set_trust_line_liabilities(&mut after, Liabilities { buying: 7, selling: 8 });
    let rows = Tx::changing(vec![updated(line(0), LedgerEntryData::Trustline(after))]).rows();
    let row = rows.lines[0];
    assert_eq!((row.buying_liabilities, row.selling_liabilities, row.flags), (7, 8, 2));
    let same = Tx::changing(vec![updated(line(0), line(0))]).rows();
    assert_eq!(ops(&same.lines, |row| row.op), [EntryOp::Update]);
}

#[test]
fn two_accounts_of_an_asset_give_the_asset_once_even_if_a_line_nets_to_nothing() {
    let other = LedgerEntryData::Trustline(entry::trust_line(key::account("carol"), &usd(), 100));
    let rows = Tx::changing(vec![[created(line(1)), created(other.clone())].concat(), removed(other)]).rows();
    assert_eq!((rows.assets.len(), rows.lines.len()), (1, 1));
    let netted = Tx::changing(vec![created(line(0)), removed(line(0))]).rows();
    assert_eq!((netted.assets.len(), netted.lines.len()), (1, 0));
}

#[test]
fn a_code_that_is_no_code_has_no_row() {
    let odd = |code: [u8; 4]| {
        let Asset::CreditAlphanum4(mut credit) = usd() else { panic!() };
        credit.asset_code.0 = code;
        LedgerEntryData::Trustline(entry::trust_line(bob(), &Asset::CreditAlphanum4(credit), 1))
    };
    let count = |code| Tx::changing(vec![created(odd(code))]).rows().lines.len();
    assert_eq!((count(*b"A\0\0\0"), count([0; 4]), count(*b"A:B\0")), (1, 0, 0));
}

#[test]
fn pool_shares_are_no_trustline_balance() {
    let row =
        |op, shares| LiquidityPoolBalanceRow { op, account_id: bob_row(), pool_id: [3; 32], operation_id: OPERATION, shares, ledger: 9 };
    let of = |changes| Tx::changing(vec![changes]).rows();
    assert_eq!(of(created(shares(5))).shares, [row(EntryOp::Add, 5)]);
    assert_eq!(of(updated(shares(5), shares(6))).shares, [row(EntryOp::Update, 6)]);
    assert_eq!(of(removed(shares(6))).shares, [row(EntryOp::Remove, 6)]);
    assert_eq!((of(created(shares(5))).lines, of(created(shares(5))).assets), (Vec::new(), Vec::new()));
    assert_eq!(of(created(line(5))).shares, []);
}

fn pool(reserve_a: i64, reserve_b: i64) -> LedgerEntryData {
    LedgerEntryData::LiquidityPool(LiquidityPoolEntry {
        liquidity_pool_id: PoolId(Hash([3; 32])),
        body: LiquidityPoolEntryBody::LiquidityPoolConstantProduct(LiquidityPoolEntryConstantProduct {
            params: LiquidityPoolConstantProductParameters { asset_a: Asset::Native, asset_b: usd(), fee: 30 },
            reserve_a,
            reserve_b,
            total_pool_shares: 1,
            pool_shares_trust_line_count: 1,
        }),
    })
}

#[test]
fn pools_created_updated_removed() {
    let (asset_a, asset_b) = pair();
    let row = |op, reserve_a, reserve_b| LiquidityPoolRow {
        op,
        pool_id: [3; 32],
        operation_id: OPERATION,
        asset_a,
        reserve_a,
        asset_b,
        reserve_b,
        ledger: 9,
    };
    let of = |changes| Tx::changing(vec![changes]).rows().pools;
    assert_eq!(of(created(pool(1, 2))), [row(EntryOp::Add, 1, 2)]);
    assert_eq!(of(updated(pool(1, 2), pool(3, 4))), [row(EntryOp::Update, 3, 4)]);
    assert_eq!(of(removed(pool(3, 4))), [row(EntryOp::Remove, 3, 4)]);
}

fn vault() -> ContractId {
    contract::labelled("vault")
}

fn contract_row(id: &ContractId) -> AddressBytes {
    AddressBytes::contract(&id.0.0)
}

fn holding(amount: i64) -> LedgerEntryData {
    contract::balance(sac(&usd()), vault(), amount).unwrap()
}

fn sac_row(op: EntryOp, balance: i128, is_authorized: bool) -> SacBalanceRow {
    SacBalanceRow {
        op,
        account_id: contract_row(&vault()),
        contract_id: contract_row(&sac(&usd())),
        operation_id: OPERATION,
        balance,
        is_authorized,
        is_clawback_enabled: false,
        ledger: 9,
    }
}

fn sac_rows(changes: Vec<LedgerEntryChange>) -> Vec<SacBalanceRow> {
    Tx::call(changes).rows().sac
}

#[test]
fn sac_balances_created_updated_restored_removed() {
    assert_eq!(sac_rows(created(holding(5))), [sac_row(EntryOp::Add, 5, true)]);
    assert_eq!(sac_rows(restored(holding(5))), [sac_row(EntryOp::Add, 5, true)]);
    assert_eq!(sac_rows(updated(holding(5), holding(6))), [sac_row(EntryOp::Update, 6, true)]);
    assert_eq!(sac_rows(removed(holding(6))), [sac_row(EntryOp::Remove, 0, false)]);
}

#[test]
fn a_restored_balance_that_is_then_changed_or_removed() {
    let then = |change: LedgerEntryChange| [restored(holding(5)), vec![change]].concat();
    let update = LedgerEntryChange::Updated(entry::entry(9, holding(7)));
    assert_eq!(sac_rows(then(update)), [sac_row(EntryOp::Update, 7, true)]);
    let removal = LedgerEntryChange::Removed(contract::balance_key(sac(&usd()), vault()).unwrap());
    assert_eq!(sac_rows(then(removal)), [sac_row(EntryOp::Remove, 0, false)]);
}

fn data(of: LedgerEntryData) -> ContractDataEntry {
    let LedgerEntryData::ContractData(data) = of else { panic!() };
    data
}

#[test]
fn amounts_over_64_bits() {
    let amount = i128::from(u64::MAX) * 3;
    let val =
        contract::symbol_map(vec![("amount", ScVal::from(amount)), ("authorized", ScVal::Bool(true)), ("clawback", ScVal::Bool(false))]);
    let entry = LedgerEntryData::ContractData(ContractDataEntry { val: val.unwrap(), ..data(holding(1)) });
    assert_eq!(sac_rows(created(entry)), [sac_row(EntryOp::Add, amount, true)]);
}

#[test]
fn entries_of_another_shape_are_no_balances() {
    let count = |entry: ContractDataEntry| sac_rows(created(LedgerEntryData::ContractData(entry))).len();
    let good = || data(holding(1));
    let (yes, one) = (|| ScVal::Bool(true), || ScVal::from(1i128));
    let value = |fields| ContractDataEntry { val: contract::symbol_map(fields).unwrap(), ..good() };
    let key = |items| ContractDataEntry { key: contract::vector(items).unwrap(), ..good() };
    let name = || ScVal::Symbol(starmill_fixtures::stellar_xdr::ScSymbol("Balance".try_into().unwrap()));
    let holder = || ScVal::Address(ScAddress::Contract(vault()));
    assert_eq!(count(good()), 1);
    assert_eq!(count(ContractDataEntry { durability: ContractDataDurability::Temporary, ..good() }), 0);
    assert_eq!(count(value(vec![("amount", one()), ("authorized", yes())])), 0);
    assert_eq!(count(value(vec![("authorized", yes()), ("amount", one()), ("clawback", yes())])), 0);
    assert_eq!(count(value(vec![("amount", ScVal::from(-1i128)), ("authorized", yes()), ("clawback", yes())])), 0);
    assert_eq!(count(value(vec![("amount", ScVal::U32(1)), ("authorized", yes()), ("clawback", yes())])), 0);
    assert_eq!(count(value(vec![("amount", one()), ("authorized", one()), ("clawback", yes())])), 0);
    assert_eq!(count(ContractDataEntry { val: ScVal::Map(None), ..good() }), 0);
    assert_eq!(count(key(vec![name(), ScVal::Address(ScAddress::Account(bob()))])), 0);
    assert_eq!(count(key(vec![name(), holder(), yes()])), 0);
    assert_eq!(count(key(vec![name()])), 0);
    assert_eq!(count(ContractDataEntry { key: ScVal::Vec(None), ..good() }), 0);
    // Of native, which is not kept; of a contract that is no asset's, which is found out later.
    assert_eq!(sac_rows(created(contract::balance(sac(&Asset::Native), vault(), 1).unwrap())), []);
    assert_eq!(sac_rows(created(contract::balance(contract::labelled("other"), vault(), 1).unwrap())).len(), 1);
}

fn tokens(changes: Vec<LedgerEntryChange>) -> Vec<SacTokenRow> {
    Tx::call(changes).rows().tokens
}

#[test]
fn asset_contracts_are_tokens_while_their_instance_is_there() {
    let instance = || contract::instance(sac(&usd()), &usd()).unwrap();
    let expected = [SacTokenRow { contract_id: contract_row(&sac(&usd())), asset: usd_row() }];
    assert_eq!(tokens(created(instance())), expected);
    assert_eq!(tokens(updated(instance(), instance())), expected);
    assert_eq!(tokens(restored(instance())), expected);
    assert_eq!(tokens(removed(instance())), []);
    let long = asset::credit("DOLLARS", &issuer()).unwrap();
    let rows = tokens(created(contract::instance(sac(&long), &long).unwrap()));
    assert_eq!((rows[0].asset.code_text(), rows[0].asset.code_size), (&b"DOLLARS"[..], 12));
}

#[test]
fn instances_that_are_not_their_assets_contract_are_no_tokens() {
    assert_eq!(tokens(created(contract::instance(contract::labelled("liar"), &usd()).unwrap())), []);
    assert_eq!(tokens(created(contract::instance(sac(&Asset::Native), &Asset::Native).unwrap())), []);
    let good = data(contract::instance(sac(&usd()), &usd()).unwrap());
    let temporary = ContractDataEntry { durability: ContractDataDurability::Temporary, ..good.clone() };
    assert_eq!(tokens(created(LedgerEntryData::ContractData(temporary))), []);
    let elsewhere = ContractDataEntry { key: ScVal::Void, ..good };
    assert_eq!(tokens(created(LedgerEntryData::ContractData(elsewhere))), []);
}

fn instance_of(executable: ContractExecutable) -> LedgerEntryData {
    LedgerEntryData::ContractData(ContractDataEntry {
        val: ScVal::ContractInstance(ScContractInstance { executable, storage: None }),
        contract: ScAddress::Contract(vault()),
        ..data(contract::instance(sac(&usd()), &usd()).unwrap())
    })
}

#[test]
fn instances_of_code_are_contracts() {
    let contracts = |changes| Tx::call(changes).rows().contracts;
    let with = |hash: u8| instance_of(ContractExecutable::Wasm(Hash([hash; 32])));
    let row = |hash: u8| ProtocolContractRow { contract_id: vault().0.0, wasm_hash: [hash; 32] };
    assert_eq!(contracts(created(with(1))), [row(1)]);
    assert_eq!(contracts(restored(with(1))), [row(1)]);
    assert_eq!(contracts(removed(with(1))), []);
    assert_eq!(contracts(created(instance_of(ContractExecutable::StellarAsset))), []);
    let no_instance = ContractDataEntry { val: ScVal::Void, ..data(with(1)) };
    assert_eq!(contracts(created(LedgerEntryData::ContractData(no_instance))), []);
    let upgraded = ledger(23, vec![Tx::call(created(with(9))), Tx::call(updated(with(9), with(2)))]).unwrap();
    assert_eq!(upgraded.contracts, [row(2)]);
}

#[test]
fn code_has_a_row_while_it_is_there() {
    let code = |bytes: usize| {
        let code = vec![0; bytes].try_into().unwrap();
        LedgerEntryData::ContractCode(ContractCodeEntry { ext: ContractCodeEntryExt::V0, hash: Hash([4; 32]), code })
    };
    let wasms = |changes| Tx::call(changes).rows().wasms;
    let row = |bytecode_len| ProtocolWasmRow { wasm_hash: [4; 32], bytecode_len, is_sep41: false };
    assert_eq!(wasms(created(code(10))), [row(10)]);
    assert_eq!(wasms(restored(code(10))), [row(10)]);
    assert_eq!(wasms(created(code(0))), [row(0)]);
    assert_eq!(wasms(removed(code(10))), []);
    let twice = ledger(23, vec![Tx::call(created(code(1))), Tx::call(updated(code(1), code(2)))]).unwrap();
    assert_eq!(twice.wasms, [row(1)]);
}

#[test]
fn contract_events_of_applied_host_functions() {
    let events = |count: usize| {
        let event = event::contract_event(vault(), vec![ScVal::U32(1)], ScVal::Void).unwrap();
        vec![event; count]
    };
    let with = |count| Tx { events: vec![events(count)], ..Tx::call(Vec::new()) };
    let classic = Tx { events: vec![events(2)], ..Tx::changing(vec![Vec::new()]) };
    let failed = Tx { successful: false, ..with(4) };
    let later = Tx { events: vec![Vec::new(), events(1)], ..Tx::of(vec![call(), call()], vec![Vec::new(), Vec::new()]) };
    let rows = ledger(23, vec![with(3), classic, failed, with(0), later]).unwrap();
    assert_eq!(rows.events, [(1, 0, 3), (5, 1, 1)]);
}

#[test]
fn maps_without_names_hold_no_asset() {
    let odd = ScMap(vec![ScMapEntry { key: ScVal::Vec(None), val: ScVal::Void }].try_into().unwrap());
    let instance = ScContractInstance { executable: ContractExecutable::StellarAsset, storage: Some(odd) };
    let entry = ContractDataEntry { val: ScVal::ContractInstance(instance), ..data(contract::instance(sac(&usd()), &usd()).unwrap()) };
    assert_eq!(tokens(created(LedgerEntryData::ContractData(entry))), []);
}
