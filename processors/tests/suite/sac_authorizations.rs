//! docs/rows.md, authorization by asset contracts.

use starmill_fixtures::{
    asset, contract, entry, event, key, meta,
    stellar_xdr::{
        AccountId, Asset, ContractEvent, ContractEventType, ContractId, LedgerEntryChange, LedgerEntryData, ScAddress, ScString, ScSymbol,
        ScVal,
    },
};

use crate::entry_support::{StateChange, Tx, contract_text, created, issuer, sac, updated, usd};
use crate::support::{alice, text};

fn bob() -> AccountId {
    key::account("bob")
}

fn vault() -> ContractId {
    contract::labelled("vault")
}

fn symbol(text: &str) -> ScVal {
    ScVal::Symbol(ScSymbol(text.try_into().unwrap()))
}

fn string(text: &str) -> ScVal {
    ScVal::String(ScString(text.try_into().unwrap()))
}

/// `set_authorized` as CAP-67 has it.
fn set(of: &Asset, holder: ScAddress, authorize: bool) -> ContractEvent {
    said(&sac(of), &asset::text(of), holder, ScVal::Bool(authorize))
}

fn said(by: &ContractId, of: &str, holder: ScAddress, data: ScVal) -> ContractEvent {
    event::contract_event(by.clone(), vec![symbol("set_authorized"), ScVal::Address(holder), string(of)], data).unwrap()
}

fn line(flags: u32) -> LedgerEntryData {
    LedgerEntryData::Trustline(starmill_fixtures::stellar_xdr::TrustLineEntry { flags, ..entry::trust_line(bob(), &usd(), 100) })
}

/// The balance entry of the vault.
fn holding(authorized: bool) -> LedgerEntryData {
    with_value(vec![("amount", ScVal::from(5i128)), ("authorized", ScVal::Bool(authorized)), ("clawback", ScVal::Bool(false))])
}

fn with_value(fields: Vec<(&str, ScVal)>) -> LedgerEntryData {
    let LedgerEntryData::ContractData(data) = contract::balance(sac(&usd()), vault(), 5).unwrap() else { panic!() };
    LedgerEntryData::ContractData(starmill_fixtures::stellar_xdr::ContractDataEntry { val: contract::symbol_map(fields).unwrap(), ..data })
}

fn rows(changes: Vec<LedgerEntryChange>, events: Vec<ContractEvent>) -> Vec<StateChange> {
    Tx { events: vec![events], ..Tx::call(changes) }.rows().changes
}

/// What happened and the flags.
fn short(rows: &[StateChange]) -> Vec<(&str, Option<i16>)> {
    rows.iter().map(|row| (row.what.rsplit(' ').next().unwrap(), row.flags)).collect()
}

fn of_account(before: u32, authorize: bool) -> Vec<StateChange> {
    rows(updated(line(before), line(0)), vec![set(&usd(), ScAddress::Account(bob()), authorize)])
}

#[test]
fn the_columns_of_a_row() {
    let expected = StateChange {
        operation: 1,
        id: 805_306_369,
        what: "BALANCE_AUTHORIZATION SET".to_owned(),
        account: text(&bob()),
        token: Some(contract_text(&sac(&usd()))),
        creator: None,
        flags: Some(1),
    };
    assert_eq!(of_account(0, true), [expected]);
}

#[test]
fn from_every_state_of_a_trustline_to_both() {
    assert_eq!(short(&of_account(0, true)), [("SET", Some(1))]);
    assert_eq!(short(&of_account(1, true)), []);
    assert_eq!(short(&of_account(2, true)), [("SET", Some(1)), ("CLEAR", Some(64))]);
    assert_eq!(short(&of_account(3, true)), [("CLEAR", Some(64))]);
    assert_eq!(short(&of_account(0, false)), [("SET", Some(64))]);
    assert_eq!(short(&of_account(1, false)), [("CLEAR", Some(1)), ("SET", Some(64))]);
    assert_eq!(short(&of_account(2, false)), []);
    assert_eq!(short(&of_account(3, false)), [("CLEAR", Some(1))]);
    assert_eq!(of_account(1, false).iter().map(|row| row.id - (3 << 28)).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_holder_that_is_a_contract_has_no_flags() {
    let to =
        |before, authorize| rows(updated(holding(before), holding(authorize)), vec![set(&usd(), ScAddress::Contract(vault()), authorize)]);
    assert_eq!(short(&to(false, true)), [("SET", None)]);
    assert_eq!(short(&to(true, false)), [("CLEAR", None)]);
    assert_eq!(short(&to(true, true)), []);
    assert_eq!(short(&to(false, false)), []);
    assert_eq!(to(false, true)[0].account, contract_text(&vault()));
}

#[test]
fn entries_made_in_the_operation_were_not_authorized() {
    let account = set(&usd(), ScAddress::Account(bob()), true);
    assert_eq!(short(&rows(created(line(1)), vec![account])), [("SET", Some(1))]);
    let contract = set(&usd(), ScAddress::Contract(vault()), true);
    assert_eq!(short(&rows(created(holding(true)), vec![contract])), [("SET", None)]);
}

#[test]
fn both_of_two_events_are_judged_by_the_state_before_the_operation() {
    let holder = || ScAddress::Account(bob());
    let rows = rows(updated(line(1), line(1)), vec![set(&usd(), holder(), false), set(&usd(), holder(), true)]);
    assert_eq!(short(&rows), [("CLEAR", Some(1)), ("SET", Some(64))]);
}

#[test]
fn a_holder_whose_entry_did_not_change_gives_nothing() {
    let event = || vec![set(&usd(), ScAddress::Account(bob()), true)];
    assert_eq!(rows(Vec::new(), event()), []);
    let of_another = LedgerEntryData::Trustline(entry::trust_line(bob(), &asset::credit("EUR", &issuer()).unwrap(), 100));
    assert_eq!(rows(created(of_another), event()), []);
    let of_somebody = LedgerEntryData::Trustline(entry::trust_line(alice(), &usd(), 100));
    assert_eq!(rows(created(of_somebody), event()), []);
    let elsewhere = contract::balance(contract::labelled("other"), vault(), 5).unwrap();
    assert_eq!(rows(created(elsewhere), vec![set(&usd(), ScAddress::Contract(vault()), true)]), []);
}

#[test]
fn meta_v3_has_the_administrator_and_v4_has_not() {
    let admin = ScVal::Address(ScAddress::Account(issuer()));
    let holder = || ScVal::Address(ScAddress::Account(bob()));
    let long = event::contract_event(
        sac(&usd()),
        vec![symbol("set_authorized"), admin, holder(), string(&asset::text(&usd()))],
        ScVal::Bool(true),
    )
    .unwrap();
    let short_form = set(&usd(), ScAddress::Account(bob()), true);
    let count =
        |meta, event: &ContractEvent| Tx { meta, events: vec![vec![event.clone()]], ..Tx::call(created(line(1))) }.rows().changes.len();
    assert_eq!((count(meta::v3, &long), count(meta::v3, &short_form)), (1, 0));
    assert_eq!((count(meta::v4, &long), count(meta::v4, &short_form)), (0, 1));
}

#[test]
fn only_the_assets_own_contract_is_believed() {
    let holder = || ScAddress::Account(bob());
    let (yes, name) = (ScVal::Bool(true), asset::text(&usd()));
    let count = |event| rows(created(line(1)), vec![event]).len();
    assert_eq!(count(said(&sac(&usd()), &name, holder(), yes.clone())), 1);
    assert_eq!(count(said(&contract::labelled("liar"), &name, holder(), yes.clone())), 0);
    // Lists of assets are read to their first, if every one is an asset.
    assert_eq!(count(said(&sac(&usd()), &format!("{name},NATIVE"), holder(), yes.clone())), 1);
    for text in ["", "USD", "U-D:x", &format!("{name},"), &format!("native,{name}"), &name.to_lowercase(), &format!("{name}:")] {
        assert_eq!(count(said(&sac(&usd()), text, holder(), yes.clone())), 0, "{text}");
    }
}

#[test]
fn events_of_another_shape_give_nothing() {
    let good = || set(&usd(), ScAddress::Account(bob()), true);
    let name = asset::text(&usd());
    let count = |event| rows(created(line(1)), vec![event]).len();
    assert_eq!(count(good()), 1);
    assert_eq!(count(ContractEvent { type_: ContractEventType::System, ..good() }), 0);
    assert_eq!(count(ContractEvent { contract_id: None, ..good() }), 0);
    assert_eq!(count(said(&sac(&usd()), &name, ScAddress::Account(bob()), ScVal::U32(1))), 0);
    let renamed = |first| {
        let topics = vec![first, ScVal::Address(ScAddress::Account(bob())), string(&name)];
        event::contract_event(sac(&usd()), topics, ScVal::Bool(true)).unwrap()
    };
    assert_eq!(count(renamed(symbol("set_authorised"))), 0);
    assert_eq!(count(renamed(string("set_authorized"))), 0);
}

#[test]
fn a_balance_before_that_is_no_balance_gives_nothing() {
    let yes = || ScVal::Bool(true);
    let count = |before| rows(updated(before, holding(true)), vec![set(&usd(), ScAddress::Contract(vault()), true)]).len();
    assert_eq!(count(holding(false)), 1);
    // The place of the field does not matter, its name and type do.
    assert_eq!(count(with_value(vec![("authorized", ScVal::Bool(false)), ("b", yes()), ("c", yes())])), 1);
    assert_eq!(count(with_value(vec![("amount", yes()), ("authorized", ScVal::Bool(false))])), 0);
    assert_eq!(count(with_value(vec![("amount", yes()), ("b", yes()), ("c", yes())])), 0);
    assert_eq!(count(with_value(vec![("amount", yes()), ("authorized", ScVal::U32(0)), ("c", yes())])), 0);
}

#[test]
fn the_holder_takes_part() {
    let tx = Tx { events: vec![vec![set(&usd(), ScAddress::Account(bob()), true)]], ..Tx::call(created(line(1))) };
    assert!(tx.rows().participants.contains(&text(&bob())));
}

#[test]
fn a_failed_transaction_authorizes_nothing() {
    let events = vec![vec![set(&usd(), ScAddress::Account(bob()), true)]];
    assert_eq!(Tx { successful: false, events, ..Tx::call(created(line(1))) }.rows().changes, []);
}
