//! `starmill verify` finds every row that is not as its ledger says, and only those; `--repair` makes it so.

use std::path::Path;

use serde_json::Value;
use starmill_tests::binary::{Server, fails, folder, ok, run};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a verification that must find nothing says.
#[track_caller]
fn clean(folder: &Path, arguments: &[&str]) -> Value {
    let lines = lines(&ok(folder, &[&["verify", "--json"], arguments].concat()));
    assert_eq!((lines.len(), &lines[0]["differences"]), (1, &0.into()), "{lines:?}");
    lines[0].clone()
}

/// The differences that a verification tells, and its summary.
#[track_caller]
fn found(folder: &Path, arguments: &[&str]) -> (Vec<Value>, Value) {
    let said = run(folder, &[&["verify", "--json"], arguments].concat());
    assert!(said.status == Some(1) && said.err.contains("error[differences]: "), "{said:?}");
    let mut lines = lines(&said.out);
    let summary = lines.pop().unwrap();
    assert_eq!(summary["differences"], lines.len(), "{summary}");
    (lines, summary)
}

fn chain(folder: &Path) {
    ok(folder, &["synth", "--ledgers", "60", "--tx-per-ledger", "20", "--output", "chain.xdr"]);
}

#[test]
fn what_was_written_is_found_true_whichever_part_is_looked_at() {
    let folder = folder();
    let folder = folder.path();
    chain(folder);
    ok(folder, &["run", "chain.xdr"]);
    let all = clean(folder, &["chain.xdr"]);
    assert_eq!((&all["ledgers"], &all["current_state"]), (&60.into(), &"whole".into()));
    for (from, to) in [("2", "30"), ("17", "41"), ("40", "61"), ("61", "61")] {
        let part = clean(folder, &["chain.xdr", "--from", from, "--to", to]);
        assert_eq!(part["current_state"], "range", "{from} to {to}");
    }
    // Nothing of it stays behind.
    let server = Server::of(folder);
    assert_eq!(server.query("select count(*) from pg_namespace where nspname like 'starmill%'"), "0");
}

#[test]
fn only_what_is_covered_is_judged() {
    let folder = folder();
    let folder = folder.path();
    chain(folder);
    for (from, to) in [("2", "20"), ("30", "40"), ("50", "55")] {
        ok(folder, &["run", "chain.xdr", "--from", from, "--to", to]);
    }
    let all = clean(folder, &["chain.xdr"]);
    assert_eq!(all["ranges"], serde_json::json!([[2, 20], [30, 40], [50, 55]]));
    assert_eq!((&all["ledgers_not_covered"], &all["current_state"]), (&24.into(), &"none".into()));
    // History that is filled in below leaves current state as it was: what only those ledgers changed is missing there, and nothing else.
    ok(folder, &["run", "chain.xdr", "--backfill"]);
    let (rows, summary) = found(folder, &["chain.xdr"]);
    assert_eq!(summary["current_state"], "whole");
    let filled = |ledger: u64| (21..30).contains(&ledger) || (41..50).contains(&ledger);
    for row in &rows {
        let table = row["table"].as_str().unwrap();
        assert!(!["transactions", "operations", "state_changes"].contains(&table) && !table.ends_with("_accounts"), "{row}");
        // An account that one of those ledgers has removed is there still.
        assert!(row["expected"].is_null() || row["ledger"].as_u64().is_none_or(filled), "{row}");
    }
    ok(folder, &["verify", "chain.xdr", "--repair"]);
    ok(folder, &["run", "chain.xdr", "--data-dir", "one"]);
    assert_eq!(Server::of(folder).checksums(), Server::of_data(folder, "one").checksums());
}

#[test]
fn current_state_that_began_in_the_middle_is_no_fault() {
    let folder = folder();
    let folder = folder.path();
    chain(folder);
    ok(folder, &["run", "chain.xdr", "--from", "40"]);
    clean(folder, &["chain.xdr"]);
    ok(folder, &["run", "chain.xdr", "--backfill"]);
    let all = clean(folder, &["chain.xdr"]);
    assert_eq!((&all["ledgers"], &all["current_state"]), (&60.into(), &"range".into()));
}

#[test]
fn every_kind_of_damage_is_found_and_repaired() {
    let folder = folder();
    let folder = folder.path();
    chain(folder);
    ok(folder, &["run", "chain.xdr"]);
    let server = Server::of(folder);
    let true_sums = server.checksums();
    let toid = |ledger: i64| ledger << 32;
    let damages = [
        ("transactions", 10, format!("delete from transactions where to_id = (select min(to_id) from transactions where to_id >= {})", toid(10))),
        ("transactions", 11, format!("update transactions set fee_charged = fee_charged + 1 where to_id = (select min(to_id) from transactions where to_id >= {})", toid(11))),
        ("transactions_accounts", 12, format!("insert into transactions_accounts select tx_to_id, '\\x30{}', ledger_created_at from transactions_accounts where tx_to_id >= {} order by 1 limit 1", "ab".repeat(32), toid(12))),
        ("operations", 13, format!("update operations set operation_xdr = '\\x00' where id = (select min(id) from operations where id >= {})", toid(13))),
        ("operations_accounts", 14, format!("delete from operations_accounts where ctid = (select min(ctid) from operations_accounts where operation_id >= {} and operation_id < {})", toid(14), toid(15))),
        ("state_changes", 15, format!("update state_changes set amount = '1' where (to_id, operation_id, state_change_id) = (select to_id, operation_id, state_change_id from state_changes where to_id >= {} and amount is not null order by 1, 2, 3 limit 1)", toid(15))),
        ("native_balances", 61, "update native_balances set balance = balance + 1 where account_id = (select account_id from native_balances where last_modified_ledger = 61 order by 1 limit 1)".to_owned()),
        ("trustline_balances", 0, "delete from trustline_balances where (account_id, asset_id) = (select account_id, asset_id from trustline_balances order by 1, 2 limit 1)".to_owned()),
    ];
    for (table, ledger, damage) in &damages {
        server.query(damage);
        let (rows, _) = found(folder, &["chain.xdr"]);
        assert_eq!(rows.len(), 1, "{damage}: {rows:?}");
        assert_eq!(rows[0]["table"], *table, "{damage}");
        assert!(*ledger == 0 || rows[0]["ledger"] == *ledger, "{damage}: {rows:?}");
        assert_ne!(rows[0]["expected"], rows[0]["found"]);
        // Looking alone changes nothing.
        assert_ne!(server.checksums(), true_sums, "{damage}");
        let repaired = lines(&ok(folder, &["verify", "chain.xdr", "--repair", "--json"]));
        assert_eq!(repaired.last().unwrap()["repaired"], true, "{damage}");
        assert_eq!(server.checksums(), true_sums, "{damage}");
    }
    // All of it at once, in a part: what lies outside stays as it is.
    for (_, _, damage) in &damages {
        server.query(damage);
    }
    let (rows, _) = found(folder, &["chain.xdr", "--from", "11", "--to", "14"]);
    assert_eq!(rows.len(), 4, "{rows:?}");
    let (rows, _) = found(folder, &["chain.xdr"]);
    assert_eq!(rows.len(), damages.len(), "{rows:?}");
    let shown = run(folder, &["verify", "chain.xdr", "--differences-max", "2"]);
    assert!(shown.out.lines().count() == 2 && shown.err.contains("8 rows differ"), "{shown:?}");
    ok(folder, &["verify", "chain.xdr", "--repair"]);
    clean(folder, &["chain.xdr"]);
    assert_eq!(server.checksums(), true_sums);
}

#[test]
fn damage_in_a_ledger_does_not_spread_to_its_repair_from_a_false_source() {
    let folder = folder();
    let folder = folder.path();
    chain(folder);
    fails(folder, &["verify", "chain.xdr"], "no-database");
    ok(folder, &["run", "chain.xdr"]);
    // Another chain of the same network has other rows, and no link to what is there: it is told, not written.
    ok(folder, &["synth", "--ledgers", "60", "--tx-per-ledger", "3", "--seed", "2", "--output", "other.xdr"]);
    let (rows, _) = found(folder, &["other.xdr", "--from", "20", "--to", "20"]);
    assert!(rows.iter().all(|row| row["ledger"] == 20 || row["ledger"].as_u64() > Some(20)), "{rows:?}");
    clean(folder, &["chain.xdr"]);
    fails(folder, &["verify", "chain.xdr", "--network", "testnet"], "network-mismatch");
    fails(folder, &["verify", "chain.xdr", "--to", "70"], "range-not-reached");
}
