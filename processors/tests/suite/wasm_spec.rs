//! docs/rows.md, SEP-41 tokens: which contract code is a token, tried with modules made here byte by byte.

use proptest::prelude::*;
use starmill_fixtures::{
    stellar_xdr::{
        ContractCodeEntry, ContractCodeEntryExt, Hash, LedgerEntryData, ScSpecEntry, ScSpecFunctionInputV0, ScSpecFunctionV0,
        ScSpecTypeDef, ScSpecTypeOption, ScSpecUdtEnumCaseV0, ScSpecUdtEnumV0, ScSymbol,
    },
    to_xdr,
};
use starmill_processors::wasm_spec::{CODE_BYTES_MAX, ENTRIES_MAX, NotSep41, SECTIONS_MAX, check, is_sep41};
use starmill_xdr::XdrError;

use crate::entry_support::{Tx, created};

const HEADER: &[u8] = b"\0asm\x01\0\0\0";
const SPECIFICATION: &str = "contractspecv0";

/// Name, parameters, outputs.
type Signature = (&'static str, Vec<(&'static str, ScSpecTypeDef)>, Vec<ScSpecTypeDef>);

/// The functions of a token.
fn token() -> Vec<Signature> {
    use ScSpecTypeDef::{Address, I128, String, U32};
    let (from, to, spender, amount) = (("from", Address), ("to", Address), ("spender", Address), ("amount", I128));
    let (from, to, spender, amount) = (|| from.clone(), || to.clone(), || spender.clone(), || amount.clone());
    vec![
        ("balance", vec![("id", Address)], vec![I128]),
        ("allowance", vec![from(), spender()], vec![I128]),
        ("decimals", vec![], vec![U32]),
        ("name", vec![], vec![String]),
        ("symbol", vec![], vec![String]),
        ("approve", vec![from(), spender(), amount(), ("expiration_ledger", U32)], vec![]),
        ("transfer", vec![from(), to(), amount()], vec![]),
        ("transfer_from", vec![spender(), from(), to(), amount()], vec![]),
        ("burn", vec![from(), amount()], vec![]),
        ("burn_from", vec![spender(), from(), amount()], vec![]),
    ]
}

fn function((name, inputs, outputs): Signature) -> ScSpecEntry {
    let inputs: Vec<_> = inputs
        .into_iter()
        .map(|(name, type_)| ScSpecFunctionInputV0 { doc: "d".try_into().unwrap(), name: name.try_into().unwrap(), type_ })
        .collect();
    ScSpecEntry::FunctionV0(ScSpecFunctionV0 {
        doc: "What it does.".try_into().unwrap(),
        name: ScSymbol(name.try_into().unwrap()),
        inputs: inputs.try_into().unwrap(),
        outputs: outputs.try_into().unwrap(),
    })
}

/// An entry that is no function.
fn enumeration() -> ScSpecEntry {
    let case = ScSpecUdtEnumCaseV0 { doc: "".try_into().unwrap(), name: "One".try_into().unwrap(), value: 1 };
    ScSpecEntry::UdtEnumV0(ScSpecUdtEnumV0 {
        doc: "".try_into().unwrap(),
        lib: "".try_into().unwrap(),
        name: "Kind".try_into().unwrap(),
        cases: vec![case].try_into().unwrap(),
    })
}

/// Unsigned LEB128, as lengths stand in a module.
fn leb128(mut n: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(n & 0x7f).unwrap();
        n >>= 7;
        bytes.push(if n == 0 { low } else { low | 0x80 });
        if n == 0 {
            return bytes;
        }
    }
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], leb128(content.len()), content.to_vec()].concat()
}

fn custom(name: &str, data: &[u8]) -> Vec<u8> {
    section(0, &[leb128(name.len()), name.as_bytes().to_vec(), data.to_vec()].concat())
}

fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    [HEADER.to_vec(), sections.concat()].concat()
}

fn entries(entries: &[ScSpecEntry]) -> Vec<u8> {
    entries.iter().flat_map(|entry| to_xdr(entry).unwrap()).collect()
}

/// A module with just a specification of these functions.
fn of(functions: Vec<Signature>) -> Vec<u8> {
    module(&[custom(SPECIFICATION, &entries(&functions.into_iter().map(function).collect::<Vec<_>>()))])
}

/// A module whose specification is these bytes.
fn saying(bytes: &[u8]) -> Vec<u8> {
    module(&[custom(SPECIFICATION, bytes)])
}

#[test]
fn ten_functions_make_a_token_in_any_order() {
    assert_eq!(check(&of(token())), Ok(()));
    assert_eq!(check(&of(token().into_iter().rev().collect())), Ok(()));
}

#[test]
fn uploaded_code_is_classified() {
    let upload = |code: Vec<u8>| {
        let code = code.try_into().unwrap();
        let entry = ContractCodeEntry { ext: ContractCodeEntryExt::V0, hash: Hash([4; 32]), code };
        let wasms = Tx::call(created(LedgerEntryData::ContractCode(entry))).rows().wasms;
        wasms.iter().map(|row| row.is_sep41).collect::<Vec<_>>()
    };
    assert_eq!(upload(of(token())), [true]);
    assert_eq!(upload(of(token()[1..].to_vec())), [false]);
    assert_eq!(upload(Vec::new()), [false]);
}

#[test]
fn a_transfer_may_take_a_muxed_receiver_named_to_muxed() {
    use ScSpecTypeDef::{Address, I128, MuxedAddress};
    let with = |receiver| {
        let mut functions = token();
        functions[6].1 = vec![("from", Address), receiver, ("amount", I128)];
        check(&of(functions))
    };
    assert_eq!(with(("to_muxed", MuxedAddress)), Ok(()));
    assert_eq!(with(("to", MuxedAddress)), Err(NotSep41::Differs("transfer")));
    assert_eq!(with(("to_muxed", Address)), Err(NotSep41::Differs("transfer")));
}

#[test]
fn more_than_that_is_still_a_token() {
    let mut all: Vec<_> = token().into_iter().map(function).collect();
    all.insert(3, enumeration());
    all.push(function(("mint", vec![("to", ScSpecTypeDef::Address)], vec![])));
    // One type without parameters and results, one function of it, and its body: `end`.
    let code = [section(1, &[1, 0x60, 0, 0]), section(3, &[1, 0]), section(10, &[1, 2, 0, 0x0b])].concat();
    let sections = [custom("contractenvmetav0", &[0; 12]), code, custom(SPECIFICATION, &entries(&all)), custom("name", &[1, 2, 3])];
    assert_eq!(check(&module(&sections)), Ok(()));
}

#[test]
fn each_function_is_needed() {
    for i in 0..token().len() {
        let mut functions = token();
        let (name, ..) = functions.remove(i);
        assert_eq!(check(&of(functions)), Err(NotSep41::Missing(name)));
    }
}

#[test]
fn each_signature_is_exact() {
    let mut tried = 0;
    let mut differs = |i: usize, change: &dyn Fn(&mut Signature)| {
        let mut functions = token();
        let before = functions[i].clone();
        change(&mut functions[i]);
        if functions[i] != before {
            let name = functions[i].0;
            assert_eq!(check(&of(functions)), Err(NotSep41::Differs(name)));
            tried += 1;
        }
    };
    for i in 0..token().len() {
        differs(i, &|function| function.1.push(("more", ScSpecTypeDef::U32)));
        differs(i, &|function| drop(function.1.pop()));
        differs(i, &|function| function.1.reverse());
        for input in 0..token()[i].1.len() {
            differs(i, &|function| function.1[input].0 = "other");
            differs(i, &|function| function.1[input].1 = ScSpecTypeDef::Val);
            let optional = |of: &ScSpecTypeDef| ScSpecTypeDef::Option(Box::new(ScSpecTypeOption { value_type: Box::new(of.clone()) }));
            differs(i, &|function| function.1[input].1 = optional(&function.1[input].1));
        }
        differs(i, &|function| drop(function.2.pop()));
        differs(i, &|function| function.2 = vec![ScSpecTypeDef::Void]);
        differs(i, &|function| function.2 = vec![ScSpecTypeDef::U64]);
    }
    assert!(tried > 100, "only {tried} signatures differed");
}

#[test]
fn of_a_function_twice_one_right_one_is_enough() {
    let mut wrong = token()[6].clone();
    wrong.1.pop();
    for at in [0, 10] {
        let mut functions = token();
        functions.insert(at, wrong.clone());
        assert!(is_sep41(&of(functions)));
    }
}

#[test]
fn the_first_specification_counts() {
    let whole = custom(SPECIFICATION, &entries(&token().into_iter().map(function).collect::<Vec<_>>()));
    let empty = custom(SPECIFICATION, &[]);
    assert_eq!(check(&module(&[whole.clone(), empty.clone()])), Ok(()));
    assert_eq!(check(&module(&[empty, whole])), Err(NotSep41::Missing("balance")));
}

#[test]
fn code_without_a_specification() {
    assert_eq!(check(HEADER), Err(NotSep41::NoSpecification));
    assert_eq!(check(&module(&[custom("contractspecv1", &[])])), Err(NotSep41::NoSpecification));
}

#[test]
fn what_is_no_module() {
    let broken_after = [of(token()), vec![10, 5, 1]].concat();
    let component = b"\0asm\x0d\0\x01\0".to_vec();
    let not_text = module(&[section(0, &[2, 0xff, 0xff])]);
    for code in [Vec::new(), b"#!/bin/sh\n".to_vec(), broken_after, component, not_text] {
        let error = check(&code).unwrap_err();
        assert_eq!(error.code(), "not-a-module", "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn a_token_cut_off_at_any_byte_is_none() {
    let code = of(token());
    for cut in 0..code.len() {
        let error = check(&code[..cut]).unwrap_err();
        assert!(cut == HEADER.len() || error.code() == "not-a-module", "{cut}: {error}");
    }
    let specification = entries(&token().into_iter().map(function).collect::<Vec<_>>());
    for cut in 0..specification.len() {
        let error = check(&saying(&specification[..cut])).unwrap_err();
        assert!(matches!(error, NotSep41::Malformed { error: XdrError::Truncated { .. }, .. } | NotSep41::Missing(_)), "{cut}: {error}");
    }
}

#[test]
fn an_entry_that_is_none_is_named_by_its_place() {
    let first = entries(&[enumeration()]);
    let error = check(&saying(&[first.clone(), vec![0, 0, 0, 99], vec![0; 16]].concat())).unwrap_err();
    assert!(matches!(error, NotSep41::Malformed { at, error: XdrError::Unknown { value: 99, .. } } if at == first.len()), "{error}");
}

#[test]
fn claims_are_not_believed() {
    // A function named `f` with four billion parameters; and one whose parameter is an option of an option of an option …
    let head = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [b'f', 0, 0, 0]].concat();
    let many = [head.clone(), vec![0xff; 4]].concat();
    assert!(matches!(check(&saying(&many)), Err(NotSep41::Malformed { error: XdrError::Truncated { .. }, .. })));
    let option = 1000u32.to_be_bytes();
    let deep = [head, [[0, 0, 0, 1], [0; 4], [0; 4]].concat(), option.repeat(100_000)].concat();
    assert!(matches!(check(&saying(&deep)), Err(NotSep41::Malformed { error: XdrError::TooDeep { .. }, .. })));
}

#[test]
fn length_and_number_of_entries_are_bounded() {
    let filler = |n| vec![enumeration(); n];
    let with = |n| [entries(&filler(n - 10)), entries(&token().into_iter().map(function).collect::<Vec<_>>())].concat();
    assert_eq!(check(&saying(&with(ENTRIES_MAX))), Ok(()));
    assert_eq!(check(&saying(&with(ENTRIES_MAX + 1))), Err(NotSep41::TooManyEntries));
    let padded = |bytes: usize| {
        let code = of(token());
        let padding = custom("padding", &vec![0; bytes - code.len() - 12]);
        let code = [code, padding].concat();
        assert_eq!(code.len(), bytes);
        check(&code)
    };
    assert_eq!(padded(CODE_BYTES_MAX), Ok(()));
    assert_eq!(padded(CODE_BYTES_MAX + 1), Err(NotSep41::TooLong { bytes: CODE_BYTES_MAX + 1 }));
}

#[test]
fn the_number_of_sections_is_bounded() {
    let whole = custom(SPECIFICATION, &entries(&token().into_iter().map(function).collect::<Vec<_>>()));
    let with = |n: usize| check(&[HEADER.to_vec(), custom("", &[]).repeat(n - 1), whole.clone()].concat());
    assert_eq!(with(SECTIONS_MAX), Ok(()));
    assert_eq!(with(SECTIONS_MAX + 1), Err(NotSep41::TooManySections));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_token_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = check(&bytes);
        let _ = check(&[HEADER, &bytes].concat());
        let _ = check(&saying(&bytes));
    }

    #[test]
    fn a_token_with_any_bytes_changed_is_a_token_or_not(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut code = of(token());
        for (at, byte) in changes {
            let at = at.index(code.len());
            code[at] = byte;
        }
        let _ = check(&code);
    }
}
