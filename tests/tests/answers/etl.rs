//! Twelve ledgers of the public network with what the exporter for analysts (stellar-etl) says of them.
//!
//! The ledgers are put together from its table of raw transactions; only the order in which they were applied is taken from its ids. Half of
//! them are at hand ready made, too, with metas of both an old and a new version, which must give the same rows.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use starmill_sources::{FileLedgers, Options};

use crate::effects::{self, Operations};
use crate::facts::{Balances, Comparison, Facts, Known, about, kind};
use crate::ours;
use crate::values::{PUBNET, Tokens, bytes, lines, seconds, text, whole};

/// Disagreements; docs/agreement.md, "stellar-etl". There are none.
pub const KNOWN: [Known; 0] = [];

/// Everything that it says, by ledger.
type ByLedger = BTreeMap<i128, Vec<Value>>;

/// Compares every ledger.
pub fn compare(fixtures: &Path) -> Comparison {
    let etl = fixtures.join("stellar-etl");
    let of = |folder: &str, names: [&str; 2], column: &str| {
        let mut all = ByLedger::new();
        for value in names.iter().flat_map(|name| lines(&etl.join(folder).join(format!("{name}.golden.zst")))) {
            let of = all.entry(whole(&value[column])).or_default();
            // Some ledgers are in two files.
            if !of.contains(&value) {
                of.push(value);
            }
        }
        all
    };
    let raw = of("ledger_transactions", ["ledger_transactions", "multi_batch_ledger_transactions"], "ledger_sequence");
    let answers = [
        of("ledgers", ["10_ledgers", "single_ledger"], "sequence"),
        of("transactions", ["10_ledgers_txs", "one_ledger_txs"], "ledger_sequence"),
        of("operations", ["10_ledgers_ops", "one_ledger_ops"], "ledger_sequence"),
        of("effects", ["10_ledgers_effects", "one_ledger_effects"], "ledger_sequence"),
        of("token_transfers", ["10_ledgers_token_transfers", "one_ledger_token_transfers"], "ledger_sequence"),
    ];
    let mut comparison = Comparison::default();
    for (sequence, transactions) in &raw {
        let [ledgers, applied, operations, effects, transfers] =
            answers.each_ref().map(|all| all.get(sequence).map_or(&[] as &[_], Vec::as_slice));
        let rows = ours::rows("stellar-etl", PUBNET, [ledger(transactions, applied)]);
        ready_made(&etl, *sequence, &rows);
        let theirs = theirs(ledgers, applied, operations, effects, transfers);
        let mut ours = ours::facts(&rows);
        ours.retain(|fact| spoken_of(fact, &theirs));
        comparison.case(&sequence.to_string(), &theirs, &ours);
    }
    comparison
}

/// Of participants it names only some: sources, and who an operation is about.
fn spoken_of(fact: &str, theirs: &Facts) -> bool {
    match kind(fact) {
        "op-participant" | "tx-participant" => theirs.has(fact),
        // Of one ledger it has all but the ledger itself.
        "ledger" | "ledger-succeeded" | "ledger-all" => theirs.has_about(&about(fact, 2)),
        "authorization" => theirs.has(&format!("{} ALLOW_TRUST", about(fact, 2).replace("authorization", "op"))),
        _ => true,
    }
}

/// A close meta of the first version: header, envelopes, then result, fee changes and meta of each in the order of application.
fn ledger(transactions: &[Value], applied: &[Value]) -> Vec<u8> {
    let ids: BTreeMap<&str, i128> = applied.iter().map(|t| (text(&t["transaction_hash"]), whole(&t["id"]))).collect();
    let mut sorted: Vec<_> = transactions.iter().collect();
    sorted.sort_by_key(|t| {
        let hash: String = bytes(&t["tx_result"])[..32].iter().map(|byte| format!("{byte:02x}")).collect();
        ids[hash.as_str()]
    });
    let count = u32::try_from(transactions.len()).unwrap().to_be_bytes();
    let mut ledger = vec![0; 4];
    ledger.extend(bytes(&transactions[0]["tx_ledger_history"]));
    // The transaction set: what it comes after is not at hand, and not looked at.
    ledger.extend([0; 32]);
    ledger.extend(count);
    ledger.extend(transactions.iter().flat_map(|t| bytes(&t["tx_envelope"])));
    ledger.extend(count);
    ledger.extend(sorted.iter().flat_map(|t| ["tx_result", "tx_fee_meta", "tx_meta"].map(|column| bytes(&t[column])).concat()));
    // No upgrades, no consensus messages.
    ledger.extend([0; 8]);
    ledger
}

/// The ready made ledgers give the same rows.
fn ready_made(etl: &Path, sequence: i128, rows: &[Value]) {
    for meta in ["meta-v2", "meta-v4"] {
        let file = etl.join("rebuilt-lcm").join(meta).join(format!("{sequence}.xdr.zst"));
        if file.is_file() {
            let name = file.to_str().unwrap();
            let ledgers = FileLedgers::open(name, Options::default()).unwrap().map(|frame| frame.unwrap().bytes);
            assert!(ours::rows(name, PUBNET, ledgers) == rows, "{name} gives other rows");
        }
    }
}

fn theirs(ledgers: &[Value], transactions: &[Value], operations: &[Value], effects: &[Value], transfers: &[Value]) -> Facts {
    let (mut facts, mut balances, tokens) = (Facts::default(), Balances::default(), Tokens::of(PUBNET));
    for ledger in ledgers {
        let sequence = whole(&ledger["sequence"]);
        let number = |column: &str| whole(&ledger[column]);
        facts.say(format!(
            "ledger {sequence} protocol {} reserve {} closed {}",
            number("protocol_version"),
            number("base_reserve"),
            seconds(text(&ledger["closed_at"]))
        ));
        facts.say(format!("ledger-succeeded {sequence} {} {}", number("successful_transaction_count"), number("operation_count")));
        facts.say(format!("ledger-all {sequence} {} {}", number("failed_transaction_count"), number("tx_set_operation_count")));
    }
    for transaction in transactions {
        let id = whole(&transaction["id"]);
        facts.say(format!("tx {id} {} {}", text(&transaction["transaction_hash"]), whole(&transaction["ledger_sequence"])));
        facts.say(format!("tx-operations {id} {}", whole(&transaction["operation_count"])));
        facts.say(format!("tx-ok {id} {}", transaction["successful"].as_bool().unwrap()));
        facts.say(format!("tx-fee {id} {}", whole(&transaction["fee_charged"])));
        facts.say(format!("tx-result {id} {}", text(&transaction["transaction_result_code"])));
        facts.say_once(format!("tx-participant {id} {}", text(&transaction["account"])));
    }
    let mut of_id = Operations::new();
    for operation in operations {
        let (id, type_) = (whole(&operation["id"]), text(&operation["type_string"]).to_uppercase());
        let source = text(&operation["source_account"]);
        facts.say(format!("op {id} {type_}"));
        facts.say(format!("op-result {id} {}", result_code(text(&operation["operation_trace_code"]))));
        let named = ["from", "to", "funder", "account", "trustor"].iter().filter_map(|column| operation["details"][column].as_str());
        for account in named.chain([source]) {
            facts.say_once(format!("op-participant {id} {account}"));
            facts.say_once(format!("tx-participant {} {account}", whole(&operation["transaction_id"])));
        }
        of_id.insert(id as i64, (type_, source.to_owned()));
    }
    for effect in effects {
        let of = (whole(&effect["operation_id"]) as i64, text(&effect["address"]), whole(&effect["type"]) as i64);
        effects::say(of, &effect["details"], (&of_id, &tokens), (&mut facts, &mut balances));
    }
    for transfer in transfers {
        let (from, amount) = (text(&transfer["from"]), whole(&transfer["amount_raw"]));
        match text(&transfer["event_topic"]) {
            "fee" => facts.say(format!("fee {} {from} {amount}", whole(&transfer["transaction_id"]))),
            "transfer" => {
                let (operation, token) = (whole(&transfer["operation_id"]), text(&transfer["contract_id"]));
                for (reason, account) in [("DEBIT", from), ("CREDIT", text(&transfer["to"]))] {
                    facts.say(format!("move {operation} {reason} {account} {token} {amount}"));
                }
            }
            other => panic!("{other}"),
        }
    }
    balances.say(&mut facts);
    facts
}

/// `PaymentResultCodePaymentNoTrust` in the words of docs/rows.md, "Result codes": `op_no_trust`, with the names that differ there.
fn result_code(code: &str) -> String {
    let (type_, name) = code.split_once("ResultCode").unwrap();
    let name = name.strip_prefix(type_).unwrap();
    let mut words = String::from("op");
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push('_');
        }
        words.extend(letter.to_lowercase());
    }
    match (type_, words.as_str()) {
        ("CreateAccount", "op_already_exist") => "op_already_exists".to_owned(),
        ("PathPaymentStrictReceive", "op_over_sendmax") => "op_over_source_max".to_owned(),
        _ => words,
    }
}
