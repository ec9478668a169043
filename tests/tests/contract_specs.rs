//! Specifications of real contracts: our reading of them against the owned types of stellar-xdr, and which are SEP-41 tokens.

use std::collections::BTreeMap;
use std::io::Read;

use starmill_processors::wasm_spec::{NotSep41, check};
use starmill_sources::{FileLedgers, Options};
use starmill_tests::shared;
use starmill_xdr::{Arena, BucketEntry, FrameBuf, FrameSlice, LedgerEntry, LedgerEntryChange, LedgerEntryData, TransactionMeta};
use stellar_xdr::{Limited, Limits, ReadXdr, ScSpecEntry, ScSpecTypeDef};

/// A bucket of a test network with 68 contracts.
const BUCKET: &str = "go-stellar-sdk/futurenet-2025-12-10-last-100/bucket/2d/92/b3/\
                      bucket-2d92b3e98afe5e7c70265cd2e183894cb7d972c511f48a20429e8495f1196d08.xdr.gz";

/// Ledgers in which contracts of core's own tests are uploaded.
const UPLOADS: [&str; 3] = [
    "stellar-core/test-lcm-next/InvokeHostFunctionTests/f709a2d8db627467.xdr.zst",
    "stellar-core/test-lcm-next/InvokeHostFunctionTests/3351d4c3d6daa80b.xdr.zst",
    "tx-meta-effects-parser/lcm/soroban/auto-restored-state-modified-by-tx.xdr.zst",
];

/// A token whose `transfer` takes `to: MuxedAddress`, as the contract library of the network writes it. The rule wants it named `to_muxed`.
const MUXED_TOKEN: &str = "2f43d576f766c7136b7cdb57dbc71fd02bb8efc24e257214d061bdd39ac3948f";

/// Contract code by its hash.
type Codes = BTreeMap<String, Vec<u8>>;

fn keep(entry: &LedgerEntry<'_>, codes: &mut Codes) {
    if let LedgerEntryData::ContractCode(contract) = entry.data {
        let hash = contract.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        codes.insert(hash, contract.code.to_vec());
    }
}

fn of_bucket(bytes: &[u8]) -> Codes {
    let (mut codes, mut frames, mut buf, mut arena) = (Codes::new(), FrameSlice::new(bytes), FrameBuf::default(), Arena::default());
    while let Some(frame) = frames.next_frame(&mut buf).unwrap() {
        arena.rewind();
        if let BucketEntry::Liveentry(entry) | BucketEntry::Initentry(entry) = starmill_xdr::decode(frame, &arena).unwrap() {
            keep(entry, &mut codes);
        }
    }
    codes
}

fn of_ledgers(file: &str, codes: &mut Codes) {
    for frame in FileLedgers::open(file, Options::default()).unwrap() {
        let (frame, arena) = (frame.unwrap(), Arena::default());
        let (head, skim) = starmill_ledger::Skim::of(&frame.bytes).unwrap();
        for transaction in &skim.transactions {
            let meta: TransactionMeta<'_> = starmill_xdr::decode(transaction.meta.of(&frame.bytes), &arena).unwrap();
            let operations: Vec<_> = match meta {
                TransactionMeta::V3(meta) => meta.operations.iter().map(|operation| operation.changes).collect(),
                TransactionMeta::V4(meta) => meta.operations.iter().map(|operation| operation.changes).collect(),
                _ => panic!("ledger {} has no contracts", head.sequence),
            };
            for change in operations.into_iter().flatten() {
                if let LedgerEntryChange::Created(entry) | LedgerEntryChange::Restored(entry) = change {
                    keep(entry, codes);
                }
            }
        }
    }
}

/// The data of the first section `contractspecv0`: of all custom sections, found by walking ids and lengths.
fn specification(code: &[u8]) -> Option<&[u8]> {
    fn length(bytes: &mut &[u8]) -> usize {
        let (mut n, mut shift) = (0, 0);
        loop {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            n |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return n;
            }
        }
    }
    let mut rest = &code[8..];
    while let Some((id, after)) = rest.split_first() {
        rest = after;
        let n = length(&mut rest);
        let (mut content, after) = rest.split_at(n);
        rest = after;
        if *id == 0 {
            let n = length(&mut content);
            if let Some(data) = content.strip_prefix(b"contractspecv0").filter(|_| n == 14) {
                return Some(data);
            }
        }
    }
    None
}

fn limits() -> Limits {
    Limits { depth: 500, len: 1 << 22 }
}

/// Entries as stellar-xdr reads them; each compared with ours on the way.
fn read(specification: &[u8]) -> Vec<ScSpecEntry> {
    let theirs = ScSpecEntry::read_xdr_iter(&mut Limited::new(specification, limits())).collect::<Result<Vec<_>, _>>().unwrap();
    let (mut rest, arena) = (specification, Arena::default());
    for entry in &theirs {
        let n = starmill_xdr::skip_len::<starmill_xdr::ScSpecEntry<'_>>(rest).unwrap();
        let ours: starmill_xdr::ScSpecEntry<'_> = starmill_xdr::decode(&rest[..n], &arena).unwrap();
        assert_eq!(ours.to_owned_xdr().unwrap(), *entry);
        rest = &rest[n..];
    }
    assert!(rest.is_empty());
    theirs
}

/// Functions as a person would write them, with types as Rust names them.
fn functions(entries: &[ScSpecEntry]) -> Vec<String> {
    let of = |type_: &ScSpecTypeDef| format!("{type_:?}");
    let functions = entries.iter().filter_map(|entry| if let ScSpecEntry::FunctionV0(function) = entry { Some(function) } else { None });
    functions
        .map(|function| {
            let inputs: Vec<_> = function.inputs.iter().map(|i| format!("{}: {}", i.name.to_utf8_string_lossy(), of(&i.type_))).collect();
            let outputs: Vec<_> = function.outputs.iter().map(of).collect();
            format!("{}({}) -> {}", function.name.0.to_utf8_string_lossy(), inputs.join(", "), outputs.join(", "))
        })
        .collect()
}

/// The rule, written as such texts.
fn is_token(functions: &[String]) -> bool {
    let has = |wanted: &str| functions.iter().any(|function| function == wanted);
    let needed = [
        "balance(id: Address) -> I128",
        "allowance(from: Address, spender: Address) -> I128",
        "decimals() -> U32",
        "name() -> String",
        "symbol() -> String",
        "approve(from: Address, spender: Address, amount: I128, expiration_ledger: U32) -> ",
        "transfer_from(spender: Address, from: Address, to: Address, amount: I128) -> ",
        "burn(from: Address, amount: I128) -> ",
        "burn_from(spender: Address, from: Address, amount: I128) -> ",
    ];
    let transfers =
        ["transfer(from: Address, to: Address, amount: I128) -> ", "transfer(from: Address, to_muxed: MuxedAddress, amount: I128) -> "];
    needed.into_iter().all(has) && transfers.into_iter().any(has)
}

#[test]
fn real_contracts_are_tokens_or_not_as_their_specifications_say() {
    let Some(fixtures) = shared("real_contracts_are_tokens_or_not_as_their_specifications_say", "fixtures") else { return };
    let mut bucket = Vec::new();
    let file = std::fs::File::open(fixtures.join(BUCKET)).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bucket).unwrap();
    let mut codes = of_bucket(&bucket);
    assert_eq!(codes.len(), 68);
    for name in UPLOADS {
        of_ledgers(fixtures.join(name).to_str().unwrap(), &mut codes);
    }
    assert!(codes.len() >= 71, "no uploads were found in the ledgers");
    let mut entries = 0;
    for (hash, code) in &codes {
        let spec = read(specification(code).unwrap());
        entries += spec.len();
        assert_eq!(check(code).is_ok(), is_token(&functions(&spec)), "{hash}");
    }
    println!("{} contracts with {entries} entries read alike", codes.len());

    // The one token among them is none by the letter; with plain receivers it is one.
    let mut code = codes[MUXED_TOKEN].clone();
    assert_eq!(check(&code), Err(NotSep41::Differs("transfer")));
    let muxed = [b"\0\0\0\x02to\0\0".as_slice(), &20u32.to_be_bytes()].concat();
    let at = code.windows(muxed.len()).position(|window| window == muxed).unwrap();
    code[at + 8..at + 12].copy_from_slice(&19u32.to_be_bytes());
    assert_eq!(check(&code), Ok(()));
    assert!(is_token(&functions(&read(specification(&code).unwrap()))));
}
