//! The history tables after `run` over real ledgers: every column of every row is what `starmill rows` says, and running again changes nothing.
//!
//! Real ledgers are found through `STARMILL_SHARED`; without them the test says that it is skipped. SEP-41 rows are left out here: `rows` does not
//! know which contracts are tokens (sinks/tests has them).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use starmill_tests::binary::{folder, ok};
use starmill_tests::shared;

/// One line of JSON a row, named and shaped as `starmill rows` prints it; absent values as null.
const TABLES: [&str; 5] = [
    "select json_build_object('t', 'transactions', 'to_id', to_id, 'hash', encode(hash, 'hex'), 'fee_charged', fee_charged, \
     'result_code', result_code, 'is_fee_bump', is_fee_bump, 'ledger_number', ledger_number, \
     'ledger_created_at', extract(epoch from ledger_created_at)::int8) from transactions",
    "select json_build_object('t', 'operations', 'id', id, 'operation_type', operation_type, 'operation_xdr_len', length(operation_xdr), \
     'operation_xdr_sha256_8', substr(encode(sha256(operation_xdr), 'hex'), 1, 16), 'result_code', result_code, 'successful', successful) \
     from operations",
    "select json_build_object('t', 'transactions_accounts', 'tx_to_id', tx_to_id, 'account_id', address_text(account_id)) \
     from transactions_accounts",
    "select json_build_object('t', 'operations_accounts', 'operation_id', operation_id, 'account_id', address_text(account_id)) \
     from operations_accounts",
    "select json_build_object('t', 'state_changes', 'to_id', to_id, 'operation_id', operation_id, 'state_change_id', state_change_id, \
     'category', state_change_category, 'reason', state_change_reason, 'account_id', address_text(account_id), \
     'token_id', address_text(token_id), 'amount', amount, 'to_muxed_id', to_muxed_id, 'signer_account_id', address_text(signer_account_id), \
     'spender_account_id', address_text(spender_account_id), 'creator_account_id', address_text(creator_account_id), \
     'destination_account_id', address_text(destination_account_id), 'liquidity_pool_id', liquidity_pool_id, \
     'signer_weight_old', signer_weight_old, 'signer_weight_new', signer_weight_new, 'threshold', threshold, \
     'threshold_old', threshold_old, 'threshold_new', threshold_new, 'trustline_limit_old', trustline_limit_old, \
     'trustline_limit_new', trustline_limit_new, 'flags', flags, 'data_entry_name', data_entry_name, 'key_value', key_value) \
     from state_changes where state_change_id < 1099511627776",
];

/// Columns that `rows` prints and no table has: a fee bump's inner hash.
const NOT_STORED: [&str; 1] = ["inner_hash"];

/// A row as text that two equal rows share.
fn canonical(line: &str) -> String {
    let Value::Object(row) = serde_json::from_str(line).expect("a row is an object") else { panic!("{line}") };
    let kept = row.into_iter().filter(|(name, value)| !value.is_null() && !NOT_STORED.contains(&name.as_str()));
    serde_json::to_string(&kept.collect::<BTreeMap<_, _>>()).expect("JSON")
}

fn stored(folder: &Path) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for query in TABLES {
        rows.extend(ok(folder, &["db", "psql", "--", "-qAtX", "-c", query]).lines().map(canonical));
    }
    rows.sort();
    rows
}

fn printed(folder: &Path, files: &[&str]) -> Vec<String> {
    let tables = ["transactions", "operations", "transactions_accounts", "operations_accounts", "state_changes"];
    let is_history = |line: &&str| tables.iter().any(|table| line.starts_with(&format!("{{\"t\":\"{table}\"")));
    let mut rows: Vec<String> = Vec::new();
    for file in files {
        rows.extend(ok(folder, &["rows", file]).lines().filter(is_history).map(canonical));
    }
    rows.sort();
    rows
}

/// Shows the first rows that only one side has.
fn equal(stored: &[String], printed: &[String]) {
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|row| those.binary_search(row).is_err()).take(3).cloned().collect()
    };
    let (more, less) = (only(stored, printed), only(printed, stored));
    assert!(more.is_empty() && less.is_empty(), "only in the database: {more:#?}\nonly printed: {less:#?}");
    assert_eq!(stored.len(), printed.len(), "some row is there more than once");
}

#[test]
fn the_tables_hold_every_column_of_every_row_of_real_ledgers() {
    let Some(fixtures) = shared("the_tables_hold_every_column_of_every_row_of_real_ledgers", "fixtures") else { return };
    let folder = folder();
    let folder = folder.path();
    let pubnet: Vec<String> =
        (63_092_982..=63_092_991).map(|n| fixtures.join(format!("wallet-backend/ledger-{n}.xdr.gz")).display().to_string()).collect();
    let files: Vec<&str> = pubnet.iter().map(String::as_str).collect();
    let run = |extra: &[&str]| -> Value {
        let arguments: Vec<&str> = ["run", "--json"].iter().chain(&files).chain(extra).copied().collect();
        serde_json::from_str(&ok(folder, &arguments)).expect("a summary")
    };
    assert_eq!(run(&["--threads", "2"])["ledgers"], 10);
    let printed = printed(folder, &files);
    assert!(printed.len() > 25_000, "{}", printed.len());
    equal(&stored(folder), &printed);
    assert_eq!(run(&["--threads", "1"])["ledgers_skipped"], 10);
    equal(&stored(folder), &printed);
    ok(folder, &["db", "stop"]);
}
