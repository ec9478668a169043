//! Any event at all: reading it never panics, and says what a second reading of the rules, over owned types, says.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use starmill_fixtures::{
    key,
    stellar_xdr::{
        ClaimableBalanceId, ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, ContractId, ExtensionPoint, Hash,
        Int128Parts, MuxedContract, MuxedEd25519Account, PoolId, ScAddress, ScMap, ScMapEntry, ScString, ScSymbol, ScVal, ScVec, Uint256,
    },
    to_xdr,
};
use starmill_ledger::AddressBytes;
use starmill_processors::sep41::{Movement, TokenEvent};
use starmill_xdr::{Arena, decode};

/// Names that mean something in topics and keys, and some that nearly do.
const NAMES: [&str; 9] = ["transfer", "mint", "burn", "clawback", "approve", "amount", "to_muxed_id", "transfe", ""];

fn any_address() -> impl Strategy<Value = ScAddress> {
    (0..6u8, any::<[u8; 32]>(), any::<u64>()).prop_map(|(arm, bytes, id)| match arm {
        0 => ScAddress::Account(key::from_bytes(bytes)),
        1 => ScAddress::Contract(ContractId(Hash(bytes))),
        2 => ScAddress::MuxedAccount(MuxedEd25519Account { id, ed25519: Uint256(bytes) }),
        3 => ScAddress::ClaimableBalance(ClaimableBalanceId::ClaimableBalanceIdTypeV0(Hash(bytes))),
        4 => ScAddress::LiquidityPool(PoolId(Hash(bytes))),
        _ => ScAddress::MuxedContract(MuxedContract { id, contract_id: ContractId(Hash(bytes)) }),
    })
}

fn any_symbol() -> impl Strategy<Value = ScVal> {
    (0..NAMES.len()).prop_map(|i| ScVal::Symbol(NAMES[i].try_into().unwrap()))
}

/// The name of an event, nearly always.
fn any_name() -> impl Strategy<Value = ScVal> {
    let known = (0..5usize).prop_map(|i| ScVal::Symbol(NAMES[i].try_into().unwrap()));
    prop_oneof![16 => known, 2 => any_symbol(), 1 => any_value()]
}

fn any_amount() -> impl Strategy<Value = ScVal> {
    (any::<i64>(), any::<u64>()).prop_map(|(hi, lo)| ScVal::I128(Int128Parts { hi, lo }))
}

/// Values, those that token events are made of more often than others.
fn any_value() -> impl Strategy<Value = ScVal> {
    let leaf = prop_oneof![
        4 => any_amount(),
        4 => any_address().prop_map(ScVal::Address),
        3 => any_symbol(),
        2 => any::<u32>().prop_map(ScVal::U32),
        2 => any::<u64>().prop_map(ScVal::U64),
        1 => any::<i64>().prop_map(ScVal::I64),
        1 => any::<bool>().prop_map(ScVal::Bool),
        1 => vec(any::<u8>(), 0..9).prop_map(|bytes| ScVal::Bytes(bytes.try_into().unwrap())),
        1 => vec(any::<u8>(), 0..9).prop_map(|bytes| ScVal::Symbol(ScSymbol(bytes.try_into().unwrap()))),
        1 => Just(ScVal::String(ScString("amount".try_into().unwrap()))),
        1 => Just(ScVal::Void),
        1 => Just(ScVal::Vec(None)),
        1 => Just(ScVal::Map(None)),
        1 => Just(ScVal::LedgerKeyContractInstance),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let pairs = vec((prop_oneof![3 => any_symbol(), 1 => inner.clone()], inner.clone()), 0..4);
        prop_oneof![
            vec(inner, 0..4).prop_map(|items| ScVal::Vec(Some(ScVec(items.try_into().unwrap())))),
            pairs.prop_map(|pairs| {
                let entries: Vec<_> = pairs.into_iter().map(|(key, val)| ScMapEntry { key, val }).collect();
                ScVal::Map(Some(ScMap(entries.try_into().unwrap())))
            }),
        ]
    })
}

/// Data as tokens have it, or nearly.
fn likely_data() -> impl Strategy<Value = ScVal> {
    let pair = (any_amount(), any::<u32>()).prop_map(|(amount, until)| vec![amount, ScVal::U32(until)]);
    let known = |i: usize| ScVal::Symbol(NAMES[i].try_into().unwrap());
    let entry = prop_oneof![
        4 => any_amount().prop_map(move |amount| (known(5), amount)),
        4 => any::<u64>().prop_map(move |id| (known(6), ScVal::U64(id))),
        1 => (any_symbol(), any_value()),
    ];
    let entries = vec(entry, 1..4);
    prop_oneof![
        any_amount(),
        pair.prop_map(|pair| ScVal::Vec(Some(ScVec(pair.try_into().unwrap())))),
        entries.prop_map(|pairs| {
            let entries: Vec<_> = pairs.into_iter().map(|(key, val)| ScMapEntry { key, val }).collect();
            ScVal::Map(Some(ScMap(entries.try_into().unwrap())))
        }),
        any_value(),
    ]
}

fn any_event() -> impl Strategy<Value = ContractEvent> {
    let party = prop_oneof![16 => any_address().prop_map(ScVal::Address), 1 => any_value()];
    let named = (any_name(), vec(party, 1..4)).prop_map(|(name, parties)| [vec![name], parties].concat());
    let topics = prop_oneof![9 => named, 1 => vec(any_value(), 0..5)];
    let kind = prop_oneof![
        16 => Just(ContractEventType::Contract),
        1 => Just(ContractEventType::System),
        1 => Just(ContractEventType::Diagnostic)
    ];
    let contract = prop_oneof![16 => any::<[u8; 32]>().prop_map(|id| Some(ContractId(Hash(id)))), 1 => Just(None)];
    (kind, contract, topics, likely_data()).prop_map(|(type_, contract_id, topics, data)| ContractEvent {
        ext: ExtensionPoint::V0,
        contract_id,
        type_,
        body: ContractEventBody::V0(ContractEventV0 { topics: topics.try_into().unwrap(), data }),
    })
}

/// What an event says: contract, kind, parties in the order of the topics, amount, and the muxed id or last ledger.
type Said = (String, &'static str, Vec<String>, i128, Option<u64>);

/// The rules once more: a table of topic counts, then the data.
fn expected(event: &ContractEvent) -> Option<Said> {
    let ContractEventBody::V0(body) = &event.body;
    let contract = event.contract_id.as_ref().filter(|_| event.type_ == ContractEventType::Contract)?;
    let ScVal::Symbol(name) = body.topics.first()? else { return None };
    let shapes = [("transfer", 3..=3), ("mint", 2..=3), ("burn", 2..=2), ("clawback", 2..=3), ("approve", 3..=3)];
    let (kind, counts) = shapes.into_iter().find(|(known, _)| known.as_bytes() == name.0.as_slice())?;
    let parties: Vec<String> = body.topics.iter().skip(1).map(party).collect::<Option<_>>()?;
    if !counts.contains(&body.topics.len()) {
        return None;
    }
    let last = parties.last().cloned().into_iter().collect();
    let (parties, amount, more) = match kind {
        "approve" => {
            let ScVal::Vec(Some(items)) = &body.data else { return None };
            let [amount, ScVal::U32(until)] = items.as_slice() else { return None };
            (parties, number(amount)?, Some(u64::from(*until)))
        }
        "burn" | "clawback" => (last, number(&body.data)?, None),
        _ => {
            let (amount, id) = match &body.data {
                ScVal::Map(entries) => in_map(entries.as_ref()?)?,
                data => (number(data)?, None),
            };
            (if kind == "mint" { last } else { parties }, amount, id)
        }
    };
    Some((contract.to_string(), if kind == "clawback" { "burn" } else { kind }, parties, amount, more))
}

fn in_map(entries: &ScMap) -> Option<(i128, Option<u64>)> {
    let of = |name: &str| {
        let name = ScVal::Symbol(name.try_into().unwrap());
        entries.iter().filter(move |entry| entry.key == name).map(|entry| entry.val.clone()).collect::<Vec<_>>()
    };
    let amounts: Vec<i128> = of("amount").iter().map(number).collect::<Option<_>>()?;
    let mut ids = of("to_muxed_id").into_iter().filter_map(|id| if let ScVal::U64(id) = id { Some(id) } else { None });
    Some((*amounts.last()?, ids.next_back()))
}

fn number(value: &ScVal) -> Option<i128> {
    i128::try_from(value.clone()).ok()
}

fn party(value: &ScVal) -> Option<String> {
    let ScVal::Address(address) = value else { return None };
    Some(match address {
        ScAddress::MuxedAccount(muxed) => ScAddress::Account(key::from_bytes(muxed.ed25519.0)).to_string(),
        ScAddress::MuxedContract(muxed) => muxed.contract_id.to_string(),
        other => other.to_string(),
    })
}

fn said(event: &TokenEvent) -> Said {
    let texts = |list: &[AddressBytes]| list.iter().map(AddressBytes::to_strkey).collect();
    let (kind, parties, amount, more) = match event.movement {
        Movement::Transfer { from, to, amount, to_muxed_id } => ("transfer", texts(&[from, to]), amount, to_muxed_id),
        Movement::Mint { to, amount, to_muxed_id } => ("mint", texts(&[to]), amount, to_muxed_id),
        Movement::Burn { from, amount } => ("burn", texts(&[from]), amount, None),
        Movement::Approve { from, spender, amount, live_until_ledger } => {
            ("approve", texts(&[from, spender]), amount, Some(u64::from(live_until_ledger)))
        }
    };
    (event.contract_id.to_strkey(), kind, parties, amount, more)
}

#[test]
fn any_event_reads_as_the_rules_say() {
    let seen = RefCell::new(BTreeMap::new());
    let config = ProptestConfig { cases: 8000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::default()));
    let outcome = runner.run(&any_event(), |event| {
        let (bytes, arena) = (to_xdr(&event).unwrap(), Arena::default());
        let ours = TokenEvent::of(&decode(&bytes, &arena).unwrap()).as_ref().map(said);
        prop_assert_eq!(&ours, &expected(&event));
        if let Some((_, kind, _, _, more)) = ours {
            *seen.borrow_mut().entry((kind, more.is_some())).or_insert(0) += 1;
        }
        Ok(())
    });
    outcome.unwrap();
    // Each form came often enough for its rules to be tried.
    let seen = seen.into_inner();
    let forms = [("transfer", false), ("transfer", true), ("mint", false), ("mint", true), ("burn", false), ("approve", true)];
    assert!(forms.iter().all(|form| seen.get(form).is_some_and(|n| *n >= 30)), "{seen:?}");
    assert_eq!(seen.len(), forms.len());
}
