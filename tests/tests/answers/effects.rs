//! Effects as Horizon numbers and words them, which the exporter for analysts shares.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::facts::{Balances, Facts};
use crate::values::{Tokens, stroops, text, whole};

/// Names of the operation types before Soroban, by number.
pub const TYPES: [&str; 14] = [
    "CREATE_ACCOUNT",
    "PAYMENT",
    "PATH_PAYMENT_STRICT_RECEIVE",
    "MANAGE_SELL_OFFER",
    "CREATE_PASSIVE_SELL_OFFER",
    "SET_OPTIONS",
    "CHANGE_TRUST",
    "ALLOW_TRUST",
    "ACCOUNT_MERGE",
    "INFLATION",
    "MANAGE_DATA",
    "BUMP_SEQUENCE",
    "MANAGE_BUY_OFFER",
    "PATH_PAYMENT_STRICT_SEND",
];

/// Type and source of each operation.
pub type Operations = BTreeMap<i64, (String, String)>;

/// Says what one effect states. Offers are no facts of starmill's.
pub fn say(
    (operation, account, number): (i64, &str, i64),
    details: &Value,
    (operations, tokens): (&Operations, &Tokens),
    (facts, balances): (&mut Facts, &mut Balances),
) {
    let to = format!("{operation} {account}");
    let authorization = |flag: i32, reason: &str| {
        format!("authorization {operation} {} {} {flag} {reason}", text(&details["trustor"]), tokens.of_columns(details, ""))
    };
    match number {
        0 => {
            facts.say(format!("created {to}"));
            balances.add(operation, account, &tokens.native(), stroops(&details["starting_balance"]));
        }
        1 => facts.say(format!("removed {to}")),
        2 => balances.add(operation, account, &tokens.of_columns(details, ""), stroops(&details["amount"])),
        3 => balances.add(operation, account, &tokens.of_columns(details, ""), -stroops(&details["amount"])),
        4 => {
            for (column, name) in [("low_threshold", "low"), ("med_threshold", "medium"), ("high_threshold", "high")] {
                if !details[column].is_null() {
                    facts.say(format!("threshold {to} {name} {}", whole(&details[column])));
                }
            }
        }
        5 => facts.say(format!("domain {to} {}", text(&details["home_domain"]))),
        6 => {
            for (name, set) in details.as_object().unwrap() {
                let flag = match name.as_str() {
                    "auth_required" | "auth_required_flag" => 2,
                    "auth_revocable" | "auth_revocable_flag" => 4,
                    "auth_immutable" | "auth_immutable_flag" => 8,
                    other => panic!("flag {other}"),
                };
                facts.say(format!("flag {to} {flag} {}", if set.as_bool().unwrap() { "SET" } else { "CLEAR" }));
            }
        }
        7 => facts.say(format!("inflation-destination {to} {}", text(&details["inflation_destination"]))),
        10 | 12 => facts.say(format!("signer {to} {} {}", text(&details["public_key"]), whole(&details["weight"]))),
        11 => facts.say(format!("signer {to} {} 0", text(&details["public_key"]))),
        20 | 22 => {
            let reason = if number == 20 { "ADD" } else { "UPDATE" };
            facts.say(format!("trustline {to} {} {reason} {}", tokens.of_columns(details, ""), text(&details["limit"])));
        }
        21 => facts.say(format!("trustline {to} {} REMOVE -", tokens.of_columns(details, ""))),
        23 => facts.say_once(authorization(1, "SET")),
        26 => {
            // The second name is misspelt in the answer.
            for (name, flag) in [("authorized_flag", 1), ("authorized_to_maintain_liabilites", 64)] {
                if !details[name].is_null() {
                    facts.say_once(authorization(flag, if details[name].as_bool().unwrap() { "SET" } else { "CLEAR" }));
                }
            }
        }
        30..=32 => {}
        33 => trade((operation, account), details, (operations, tokens), balances),
        40 | 42 => facts.say(format!("data {to} {} {}", text(&details["name"]), text(&details["value"]))),
        41 => facts.say(format!("data {to} {} -", text(&details["name"]))),
        other => panic!("effect {other}: {details}"),
    }
}

/// Of a path payment's source the answer gives both the trades on the way and the credit or debit that they come to; the latter counts.
fn trade((operation, account): (i64, &str), details: &Value, (operations, tokens): (&Operations, &Tokens), balances: &mut Balances) {
    let (type_, source) = &operations[&operation];
    if type_.starts_with("PATH_PAYMENT") && source == account {
        return;
    }
    balances.add(operation, account, &tokens.of_columns(details, "bought_"), stroops(&details["bought_amount"]));
    balances.add(operation, account, &tokens.of_columns(details, "sold_"), -stroops(&details["sold_amount"]));
}
