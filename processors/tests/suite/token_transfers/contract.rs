//! docs/rows.md, token transfers: events of asset contracts.

use starmill_fixtures::{
    CloseMeta, contract, event, hash, key, meta, op,
    stellar_xdr::{
        Asset, ContractEvent, ContractEventType, ContractId, HostFunction, InvokeContractArgs, Operation, ScAddress, ScMap, ScMapEntry,
        ScString, ScSymbol, ScVal, StringM,
    },
};

use super::{balance_id, bob, issuer, named, pool_id, usd};
use crate::support::{Shape, alice, network, text};

fn contract_c() -> ScAddress {
    ScAddress::Contract(contract::labelled("c"))
}

fn account(account: starmill_fixtures::stellar_xdr::AccountId) -> ScVal {
    ScVal::Address(ScAddress::Account(account))
}

fn symbol(text: &str) -> ScVal {
    ScVal::Symbol(ScSymbol(text.parse::<StringM<32>>().unwrap()))
}

fn string(text: &str) -> ScVal {
    ScVal::String(ScString(text.parse::<StringM>().unwrap()))
}

fn name_of(asset: &Asset) -> ScVal {
    match asset {
        Asset::Native => string("native"),
        _ => string(&format!("USD:{}", text(&issuer()))),
    }
}

fn contract_of(asset: &Asset) -> ContractId {
    hash::asset_contract_id(&network(), asset).unwrap()
}

/// An event of the asset's contract: name, holders, the asset's own name, amount 5.
fn said(asset: &Asset, name: &str, holders: Vec<ScVal>) -> ContractEvent {
    let topics = [vec![symbol(name)], holders, vec![name_of(asset)]].concat();
    event::contract_event(contract_of(asset), topics, ScVal::from(5i128)).unwrap()
}

fn invoke() -> Operation {
    let call = InvokeContractArgs {
        contract_address: contract_c(),
        function_name: ScSymbol("f".parse::<StringM<32>>().unwrap()),
        args: Vec::new().try_into().unwrap(),
    };
    op::invoke_host_function(HostFunction::InvokeContract(call), Vec::new()).unwrap()
}

fn shape(events: Vec<ContractEvent>) -> Shape {
    let mut shape = Shape::new(vec![invoke()], Vec::new()).soroban(contract::resources(Vec::new(), Vec::new(), 50).unwrap());
    shape.events = events;
    shape
}

fn v3(mut shape: Shape) -> Shape {
    (shape.meta, shape.close_meta, shape.protocol) = (meta::v3, CloseMeta::V1, 22);
    shape
}

fn rows(shape: Shape) -> Vec<String> {
    named(&shape.rows().unwrap())
}

#[test]
fn asset_contracts_say_what_moved() {
    let events = vec![
        said(&Asset::Native, "transfer", vec![ScVal::Address(contract_c()), account(bob())]),
        said(&usd(), "mint", vec![account(bob())]),
        said(&usd(), "burn", vec![ScVal::Address(contract_c())]),
        said(&usd(), "clawback", vec![account(bob())]),
    ];
    let expected = [
        "1 BALANCE DEBIT contract token=native amount=5",
        "2 BALANCE CREDIT bob token=native amount=5",
        "3 BALANCE MINT issuer token=usd amount=5",
        "4 BALANCE CREDIT bob token=usd amount=5",
        "5 BALANCE BURN issuer token=usd amount=5",
        "6 BALANCE DEBIT contract token=usd amount=5",
        "7 BALANCE BURN issuer token=usd amount=5",
        "8 BALANCE DEBIT bob token=usd amount=5",
    ];
    let mut collected = shape(events).rows().unwrap();
    assert_eq!(named(&collected), expected);
    collected.operation_accounts.retain(|(_, account)| account.starts_with('C'));
    assert_eq!(collected.operation_accounts.len(), 1);
}

#[test]
fn before_cap_67_there_is_an_administrator() {
    let events = vec![
        said(&usd(), "transfer", vec![account(alice()), account(bob())]),
        said(&usd(), "mint", vec![account(issuer()), account(bob())]),
        said(&usd(), "burn", vec![account(bob())]),
        said(&usd(), "clawback", vec![account(issuer()), account(bob())]),
    ];
    let expected = [
        "1 BALANCE DEBIT alice token=usd amount=5",
        "2 BALANCE CREDIT bob token=usd amount=5",
        "3 BALANCE MINT issuer token=usd amount=5",
        "4 BALANCE CREDIT bob token=usd amount=5",
        "5 BALANCE BURN issuer token=usd amount=5",
        "6 BALANCE DEBIT bob token=usd amount=5",
        "7 BALANCE BURN issuer token=usd amount=5",
        "8 BALANCE DEBIT bob token=usd amount=5",
    ];
    assert_eq!(rows(v3(shape(events.clone()))), expected);
    // The later form counts topics otherwise: mint and clawback are none there.
    assert_eq!(rows(shape(events)).len(), 4);
    let later = vec![said(&usd(), "mint", vec![account(bob())]), said(&usd(), "clawback", vec![account(bob())])];
    assert_eq!(rows(v3(shape(later))), Vec::<String>::new());
    let no_administrator = vec![said(&usd(), "mint", vec![ScVal::Void, account(bob())])];
    assert_eq!(rows(v3(shape(no_administrator))), Vec::<String>::new());
}

#[test]
fn a_transfer_of_the_issuers_is_a_mint_or_burn_only_before_cap_67() {
    let events = vec![
        said(&usd(), "transfer", vec![account(issuer()), account(bob())]),
        said(&usd(), "transfer", vec![account(bob()), account(issuer())]),
    ];
    let before = [
        "1 BALANCE MINT issuer token=usd amount=5",
        "2 BALANCE CREDIT bob token=usd amount=5",
        "3 BALANCE BURN issuer token=usd amount=5",
        "4 BALANCE DEBIT bob token=usd amount=5",
    ];
    assert_eq!(rows(v3(shape(events.clone()))), before);
    let after = [
        "1 BALANCE DEBIT issuer token=usd amount=5",
        "2 BALANCE CREDIT bob token=usd amount=5",
        "3 BALANCE DEBIT bob token=usd amount=5",
        "4 BALANCE CREDIT issuer token=usd amount=5",
    ];
    assert_eq!(rows(shape(events)), after);
}

fn map(entries: Vec<(ScVal, ScVal)>) -> ScVal {
    let entries: Vec<_> = entries.into_iter().map(|(key, val)| ScMapEntry { key, val }).collect();
    ScVal::Map(Some(ScMap(entries.try_into().unwrap())))
}

/// Rows of a native mint to bob with this data.
fn with_data(data: ScVal) -> Shape {
    let mut event = said(&Asset::Native, "mint", vec![account(bob())]);
    let starmill_fixtures::stellar_xdr::ContractEventBody::V0(body) = &mut event.body;
    body.data = data;
    shape(vec![event])
}

#[test]
fn amounts_are_bare_or_in_a_map() {
    let amount = |number: i128| (symbol("amount"), ScVal::from(number));
    let muxed = |id| (symbol("to_muxed_id"), id);
    let bytes = ScVal::Bytes(vec![1u8, 2].try_into().unwrap());
    for (data, shown) in [
        (ScVal::from(i128::MAX), i128::MAX),
        (ScVal::from(i128::MIN), i128::MIN),
        (map(vec![amount(6)]), 6),
        (map(vec![amount(6), muxed(ScVal::U64(1))]), 6),
        (map(vec![amount(6), muxed(string("memo"))]), 6),
        (map(vec![amount(6), muxed(bytes)]), 6),
        (map(vec![amount(6), (symbol("more"), ScVal::Void)]), 6),
    ] {
        assert_eq!(rows(with_data(data)), [format!("1 BALANCE CREDIT bob token=native amount={shown}")]);
    }
    for data in [
        ScVal::U64(6),
        ScVal::Map(None),
        map(Vec::new()),
        map(vec![muxed(ScVal::U64(1))]),
        map(vec![(symbol("amount"), ScVal::U64(6))]),
        map(vec![amount(6), muxed(ScVal::Void)]),
        map(vec![amount(6), (string("more"), ScVal::Void)]),
    ] {
        assert_eq!(rows(with_data(data.clone())), Vec::<String>::new(), "{data:?}");
    }
    assert_eq!(rows(v3(with_data(ScVal::from(6i128)))), Vec::<String>::new());
}

#[test]
fn nobody_else_speaks_for_an_asset() {
    let holders = || vec![account(alice()), account(bob())];
    let good = said(&usd(), "transfer", holders());
    assert_eq!(rows(shape(vec![good.clone()])).len(), 2);
    let mut of_another = good.clone();
    of_another.contract_id = Some(contract::labelled("c"));
    let mut of_native = good.clone();
    of_native.contract_id = Some(contract_of(&Asset::Native));
    let mut of_nobody = good.clone();
    of_nobody.contract_id = None;
    let mut of_the_system = good.clone();
    of_the_system.type_ = ContractEventType::System;
    let unnamed = |last: Vec<ScVal>| {
        let topics = [vec![symbol("transfer")], holders(), last].concat();
        event::contract_event(contract_of(&usd()), topics, ScVal::from(5i128)).unwrap()
    };
    let name = format!("USD:{}", text(&issuer()));
    for event in [
        of_another,
        of_native,
        of_nobody,
        of_the_system,
        unnamed(Vec::new()),
        unnamed(vec![symbol("usd")]),
        unnamed(vec![string("")]),
        unnamed(vec![string(&format!("{name},native"))]),
        unnamed(vec![string(&name), string(&name)]),
        said(&usd(), "approve", holders()),
        said(&usd(), "transfer", vec![account(alice())]),
        said(&usd(), "transfer", vec![account(alice()), ScVal::Void]),
        said(&usd(), "burn", holders()),
        event::contract_event(contract_of(&usd()), Vec::new(), ScVal::from(5i128)).unwrap(),
    ] {
        assert_eq!(rows(shape(vec![event.clone()])), Vec::<String>::new(), "{event:?}");
        assert_eq!(rows(v3(shape(vec![event.clone()]))), Vec::<String>::new(), "{event:?}");
    }
}

#[test]
fn pools_and_claimable_balances_have_no_rows_of_their_own() {
    let pool = || ScVal::Address(ScAddress::LiquidityPool(pool_id()));
    let balance = || ScVal::Address(ScAddress::ClaimableBalance(balance_id()));
    let transfer = |from, to| rows(shape(vec![said(&usd(), "transfer", vec![from, to])]));
    assert_eq!(transfer(pool(), account(bob())), ["1 BALANCE CREDIT bob token=usd amount=5"]);
    assert_eq!(transfer(account(bob()), pool()), ["1 BALANCE DEBIT bob token=usd amount=5"]);
    assert_eq!(transfer(balance(), account(bob())), Vec::<String>::new());
    assert_eq!(transfer(account(bob()), balance()), Vec::<String>::new());
    let mint = rows(shape(vec![said(&usd(), "mint", vec![pool()])]));
    assert_eq!(mint, ["1 BALANCE MINT issuer token=usd amount=5"]);
}

#[test]
fn events_of_classic_operations_and_failed_transactions_are_not_read() {
    let events = vec![said(&usd(), "mint", vec![account(bob())])];
    let mut classic = Shape::new(vec![op::payment(key::plain(&bob()), Asset::Native, 5)], Vec::new());
    classic.events.clone_from(&events);
    let paid = [
        "1 BALANCE DEBIT alice token=native amount=100",
        "1 BALANCE DEBIT alice token=native amount=5",
        "2 BALANCE CREDIT bob token=native amount=5",
    ];
    assert_eq!(rows(classic), paid);
    let mut failed = Shape::failed(vec![invoke()], Vec::new()).soroban(contract::resources(Vec::new(), Vec::new(), 50).unwrap());
    failed.events = events;
    assert_eq!(rows(failed), Vec::<String>::new());
}
