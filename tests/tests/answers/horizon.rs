//! Small chains with the SQL of what Horizon made of them.
//!
//! Both come from one run of a stand-alone network: transactions, operations, participants, effects and trades are compared one by one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use starmill_sources::{FileLedgers, Options};

use crate::effects::{self, Operations, TYPES};
use crate::facts::{Balances, Comparison, Facts, Known, Side, kind};
use crate::ours;
use crate::values::{TESTNET, Tokens, decompressed, seconds, stroops, text};

/// Disagreements; docs/agreement.md, "Horizon".
pub const KNOWN: [Known; 4] = [
    Known {
        case: "",
        side: Side::Theirs,
        kind: "signer",
        word: "",
        times: 4,
        why: "SET_OPTIONS gives an effect for the master key although its weight stays as it was",
    },
    Known { case: "set_options", side: Side::Theirs, kind: "inflation-destination", word: "", times: 1, why: "starmill has no row for it" },
    Known { case: "", side: Side::Ours, kind: "op-participant", word: "", times: 3, why: "the seller of a crossed offer takes part" },
    Known { case: "", side: Side::Ours, kind: "tx-participant", word: "", times: 3, why: "the seller of a crossed offer takes part" },
];

/// Compares every scenario below the fixtures.
pub fn compare(fixtures: &Path) -> Comparison {
    let mut comparison = Comparison::default();
    for from in ["stellar-go", "stellar-horizon"] {
        let mut files: Vec<_> = std::fs::read_dir(fixtures.join(from).join("scenarios-lcm")).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            let name = file.file_name().unwrap().to_str().unwrap().strip_suffix(".xdr.zst").unwrap();
            let sql = decompressed(&fixtures.join(from).join("scenarios").join(format!("{name}-horizon.sql.zst")));
            let tables = tables(std::str::from_utf8(&sql).unwrap());
            let ledgers = FileLedgers::open(file.to_str().unwrap(), Options::default()).unwrap().map(|frame| frame.unwrap().bytes);
            let mut ours = ours::facts(&ours::rows(name, TESTNET, ledgers));
            let (theirs, old) = theirs(&tables);
            ours.retain(|fact| spoken_of(fact, old, &theirs));
            comparison.case(&format!("{from}/{name}"), &theirs, &ours);
        }
    }
    comparison
}

/// What Horizon has columns or effects for. Old answers do not say whether a transaction succeeded and what it paid. That a new trustline is
/// authorized has no effect, so of authorizations those count whose operation has one.
fn spoken_of(fact: &str, old: bool, theirs: &Facts) -> bool {
    match kind(fact) {
        "tx-ok" | "tx-fee" | "fee" => !old,
        // How many failed is in new answers alone.
        "ledger-all" | "tx-result" | "op-result" | "move" => false,
        "authorization" => theirs.has(&format!("op {} ALLOW_TRUST", fact.split(' ').nth(1).unwrap())),
        _ => true,
    }
}

/// What the tables say, and whether they are old.
fn theirs(tables: &Tables) -> (Facts, bool) {
    let (mut facts, mut balances, tokens) = (Facts::default(), Balances::default(), Tokens::of(TESTNET));
    let rows = |table: &str| tables.get(table).map_or(&[] as &[_], Vec::as_slice);
    let column = |row: &[Option<String>], at: usize| row[at].clone().unwrap();
    let accounts: BTreeMap<_, _> = rows("history_accounts").iter().map(|row| (column(row, 0), column(row, 1))).collect();
    for row in rows("history_ledgers") {
        let [sequence, transactions, operations, closed, reserve, protocol] = [0, 3, 4, 5, 13, 15].map(|at| column(row, at));
        facts.say(format!("ledger {sequence} protocol {protocol} reserve {reserve} closed {}", seconds(&closed)));
        facts.say(format!("ledger-succeeded {sequence} {transactions} {operations}"));
    }
    let mut old = false;
    for row in rows("history_transactions") {
        let [hash, ledger, account, operations, id] = [0, 1, 3, 6, 9].map(|at| column(row, at));
        facts.say(format!("tx {id} {hash} {ledger}"));
        facts.say(format!("tx-operations {id} {operations}"));
        match (&row[18], &row[19]) {
            (Some(ok), Some(fee)) => {
                facts.say(format!("tx-ok {id} {ok}"));
                facts.say(format!("tx-fee {id} {fee}"));
                facts.say(format!("fee {id} {account} {fee}"));
            }
            (None, None) => old = true,
            other => panic!("{other:?}"),
        }
    }
    let mut operations = Operations::new();
    for row in rows("history_operations") {
        let id: i64 = column(row, 0).parse().unwrap();
        let (type_, source) = (TYPES[column(row, 3).parse::<usize>().unwrap()], column(row, 5));
        facts.say(format!("op {id} {type_}"));
        facts.say_once(format!("op-participant {id} {source}"));
        operations.insert(id, (type_.to_owned(), source));
    }
    for (table, kind) in [("history_operation_participants", "op-participant"), ("history_transaction_participants", "tx-participant")] {
        for row in rows(table) {
            facts.say_once(format!("{kind} {} {}", column(row, 1), accounts[&column(row, 2)]));
        }
    }
    let mut traded = Vec::new();
    for row in rows("history_effects") {
        let details: Value = row[4].as_ref().map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
        let of = (column(row, 1).parse().unwrap(), accounts[&column(row, 0)].as_str(), column(row, 3).parse().unwrap());
        effects::say(of, &details, (&operations, &tokens), (&mut facts, &mut balances));
        if of.2 == 33 {
            traded.push((of.0, of.1.to_owned(), stroops(&details["sold_amount"]), text(&details["seller"]).to_owned()));
        }
    }
    trades(rows("history_trades"), &accounts, &traded);
    balances.say(&mut facts);
    (facts, old)
}

/// The table of trades says the same as the effects, which are compared; what each side of a trade sold must be among them.
fn trades(rows: &[Vec<Option<String>>], accounts: &BTreeMap<String, String>, traded: &[(i64, String, i128, String)]) {
    for row in rows {
        let column = |at: usize| row[at].clone().unwrap();
        let operation: i64 = column(0).parse().unwrap();
        let (base, counter) = (&accounts[&column(4)], &accounts[&column(7)]);
        for (account, amount, other) in [(base, 6, counter), (counter, 9, base)] {
            let effect = (operation, account.clone(), column(amount).parse().unwrap(), other.clone());
            assert!(traded.contains(&effect), "trade without effect: {effect:?}");
        }
    }
}

/// Rows by table; a column is text or NULL.
type Tables = BTreeMap<String, Vec<Vec<Option<String>>>>;

/// Reads the history tables out of a dump. Other statements are passed over.
fn tables(dump: &str) -> Tables {
    let mut tables = Tables::new();
    for line in dump.lines() {
        let Some((table, values)) = line.strip_prefix("INSERT INTO history_").and_then(|rest| rest.split_once(" VALUES (")) else {
            continue;
        };
        let values = values.strip_suffix(");").unwrap_or_else(|| panic!("a row over several lines: {line}"));
        tables.entry(format!("history_{table}")).or_default().push(row(values));
    }
    tables
}

fn row(values: &str) -> Vec<Option<String>> {
    let (mut row, mut rest) = (Vec::new(), values);
    while !rest.is_empty() {
        let (value, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted_text(quoted),
            None => {
                let (value, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                ((value.trim() != "NULL").then(|| value.trim().to_owned()), after)
            }
        };
        row.push(value);
        rest = after.trim_start_matches([',', ' ']);
    }
    row
}

/// Text up to the quote that ends it; two quotes are one that belongs to it.
fn quoted_text(quoted: &str) -> (Option<String>, &str) {
    let (mut text, mut rest) = (String::new(), quoted);
    loop {
        let (before, after) = rest.split_once('\'').unwrap();
        text.push_str(before);
        match after.strip_prefix('\'') {
            Some(more) => {
                text.push('\'');
                rest = more;
            }
            None => return (Some(text), after),
        }
    }
}
