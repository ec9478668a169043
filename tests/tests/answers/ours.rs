//! starmill's rows, made in this process, and the facts that they state.

use std::collections::BTreeMap;

use serde_json::Value;
use starmill_ledger::rows::Rows;
use starmill_ledger::{CurrentState, LedgerError, Network, Transaction};
use starmill_pipeline::{Engine, Process};
use starmill_sinks::JsonRows;
use starmill_xdr::Arena;

use crate::facts::{Balances, Facts};
use crate::values::{text, whole};

struct AllRows;

impl Process for AllRows {
    type Scratch = starmill_processors::Scratch;

    fn process<'a, R: Rows>(
        &self,
        transaction: &Transaction<'a>,
        arena: &'a Arena,
        scratch: &mut Self::Scratch,
        rows: &mut R,
        state: &mut CurrentState,
    ) -> Result<(), LedgerError> {
        starmill_processors::process(transaction, arena, scratch, rows, state)
    }
}

/// The rows of ledgers.
pub fn rows(name: &str, passphrase: &str, ledgers: impl IntoIterator<Item = Vec<u8>>) -> Vec<Value> {
    let engine: Engine<AllRows, JsonRows> = Engine::new(Network::new(passphrase), AllRows, 1);
    let (mut rows, mut values) = (JsonRows::default(), Vec::new());
    for ledger in ledgers {
        rows.clear();
        engine.ledger(&ledger, &mut rows).unwrap_or_else(|e| panic!("{name}: {e}"));
        let lines = std::str::from_utf8(rows.lines()).unwrap();
        values.extend(lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    values
}

/// The rows of a table.
pub fn table<'a>(rows: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    rows.iter().filter(move |row| row["t"] == name)
}

/// Whether a transaction succeeded, by its result code.
pub fn succeeded(transaction: &Value) -> bool {
    matches!(text(&transaction["result_code"]), "TransactionResultCodeTxSuccess" | "TransactionResultCodeTxFeeBumpInnerSuccess")
}

/// The facts of transactions, operations, participants and state changes. Contract tokens count by their own rows.
pub fn facts(rows: &[Value]) -> Facts {
    let (mut facts, mut balances) = (Facts::default(), Balances::default());
    for row in rows {
        let value = |column: &str| &row[column];
        match text(value("t")) {
            "ledger" => ledger(row, rows, &mut facts),
            "transactions" => {
                let id = whole(value("to_id"));
                let operations = table(rows, "operations").filter(|o| whole(&o["id"]) & !0xfff == id).count();
                facts.say(format!("tx {id} {} {}", text(value("hash")), whole(value("ledger_number"))));
                facts.say(format!("tx-operations {id} {operations}"));
                facts.say(format!("tx-ok {id} {}", succeeded(row)));
                facts.say(format!("tx-fee {id} {}", whole(value("fee_charged"))));
                facts.say(format!("tx-result {id} {}", text(value("result_code"))));
            }
            "operations" => {
                let id = whole(value("id"));
                facts.say(format!("op {id} {}", text(value("operation_type"))));
                facts.say(format!("op-result {id} {}", text(value("result_code"))));
            }
            "operations_accounts" => {
                facts.say_once(format!("op-participant {} {}", whole(value("operation_id")), text(value("account_id"))));
            }
            "transactions_accounts" => {
                facts.say_once(format!("tx-participant {} {}", whole(value("tx_to_id")), text(value("account_id"))));
            }
            "state_changes" => state_change(row, &mut facts, &mut balances),
            "sep41_all.state_changes" if row["category"] == "BALANCE" => {
                let sign = if matches!(text(value("reason")), "CREDIT" | "MINT") { 1 } else { -1 };
                let amount = sign * whole(value("amount"));
                balances.add(whole(value("operation_id")) as i64, text(value("account_id")), text(value("token_id")), amount);
            }
            _ => {}
        }
    }
    balances.say(&mut facts);
    facts
}

/// A ledger, and what its transactions and operations come to.
fn ledger(row: &Value, rows: &[Value], facts: &mut Facts) {
    let sequence = whole(&row["ledger"]);
    let of: BTreeMap<i128, bool> = table(rows, "transactions")
        .filter(|transaction| whole(&transaction["ledger_number"]) == sequence)
        .map(|transaction| (whole(&transaction["to_id"]), succeeded(transaction)))
        .collect();
    let operations: Vec<bool> = table(rows, "operations").filter_map(|o| of.get(&(whole(&o["id"]) & !0xfff)).copied()).collect();
    let succeeded = |all: &mut dyn Iterator<Item = &bool>| all.filter(|ok| **ok).count();
    let ok = succeeded(&mut of.values());
    let [protocol, reserve, closed] = ["protocol", "base_reserve", "close_time"].map(|column| whole(&row[column]));
    facts.say(format!("ledger {sequence} protocol {protocol} reserve {reserve} closed {closed}"));
    facts.say(format!("ledger-succeeded {sequence} {ok} {}", succeeded(&mut operations.iter())));
    facts.say(format!("ledger-all {sequence} {} {}", of.len() - ok, operations.len()));
}

fn state_change(row: &Value, facts: &mut Facts, balances: &mut Balances) {
    let value = |column: &str| &row[column];
    let (operation, account, reason) = (whole(value("operation_id")), text(value("account_id")), text(value("reason")));
    let to = || format!("{operation} {account}");
    // What is missing counts as the text given; JSON values keep their text.
    let or = |value: &Value, other: &str| value.as_str().unwrap_or(other).to_owned();
    match text(value("category")) {
        "BALANCE" if operation == 0 => {
            facts.say(format!("fee {} {account} {}", whole(value("to_id")), whole(value("amount"))));
        }
        "BALANCE" => {
            let (token, amount) = (text(value("token_id")), whole(value("amount")));
            facts.say(format!("move {operation} {reason} {account} {token} {amount}"));
            // The issuer is who pays when an asset is minted, and who is paid when it is burned.
            let sign = if matches!(reason, "CREDIT" | "BURN") { 1 } else { -1 };
            balances.add(operation as i64, account, token, sign * amount);
        }
        "ACCOUNT" if reason == "CREATE" => facts.say(format!("created {}", to())),
        "ACCOUNT" => facts.say(format!("removed {}", to())),
        "SIGNATURE_THRESHOLD" => {
            facts.say(format!("threshold {} {} {}", to(), text(value("threshold")).to_lowercase(), whole(value("threshold_new"))));
        }
        "HOME_DOMAIN" => facts.say(format!("domain {} {}", to(), or(&row["key_value"]["new"], "-"))),
        "FLAGS" => flags(row, &format!("flag {}", to()), facts),
        "SIGNER" if reason == "REMOVE" => facts.say(format!("signer {} {} 0", to(), text(value("signer_account_id")))),
        "SIGNER" => {
            facts.say(format!("signer {} {} {}", to(), text(value("signer_account_id")), whole(value("signer_weight_new"))));
        }
        "TRUSTLINE" => {
            let of = value("token_id").as_str().unwrap_or_else(|| text(value("liquidity_pool_id")));
            let limit = if reason == "REMOVE" { "-" } else { text(value("trustline_limit_new")) };
            facts.say(format!("trustline {} {of} {reason} {limit}", to()));
        }
        "BALANCE_AUTHORIZATION" => flags(row, &format!("authorization {} {}", to(), or(value("token_id"), "-")), facts),
        "DATA_ENTRY" => {
            facts.say(format!("data {} {} {}", to(), text(value("data_entry_name")), or(&row["key_value"]["new"], "-")));
        }
        other => panic!("{other} has no facts"),
    }
}

/// One fact for each flag that is set or cleared.
fn flags(row: &Value, about: &str, facts: &mut Facts) {
    let flags = row["flags"].as_i64().unwrap_or(0);
    for flag in (0..8).map(|bit| 1 << bit).filter(|flag| flags & flag != 0) {
        facts.say_once(format!("{about} {flag} {}", text(&row["reason"])));
    }
}
