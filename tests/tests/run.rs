//! `starmill run` into a real Postgres: what is in the tables is what `starmill rows` says, whatever happened on the way.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use starmill_tests::binary::{fails, folder, ok, run, said, starmill};

/// A chain of ledgers 2 to `ledgers + 1`, framed.
fn chain(folder: &Path, ledgers: u32, transactions: u32) {
    ok(folder, &["synth", "--ledgers", &ledgers.to_string(), "--tx-per-ledger", &transactions.to_string(), "--output", "chain.xdr"]);
}

/// Everything in the history tables, in the form of `starmill rows`, sorted.
fn tables(folder: &Path) -> Vec<String> {
    let queries = [
        "select 'transactions', to_id, encode(hash, 'hex'), fee_charged, result_code, is_fee_bump, ledger_number, \
         extract(epoch from ledger_created_at)::int8 from transactions",
        "select 'operations', id, operation_type, length(operation_xdr), substr(encode(sha256(operation_xdr), 'hex'), 1, 16), result_code, \
         successful from operations",
        "select 'transactions_accounts', tx_to_id, address_text(account_id) from transactions_accounts",
        "select 'operations_accounts', operation_id, address_text(account_id) from operations_accounts",
        "select 'state_changes', to_id, operation_id, state_change_id, state_change_category, state_change_reason, \
         address_text(account_id), coalesce(address_text(token_id), '-'), coalesce(amount, '-') from state_changes",
    ];
    let mut lines: Vec<String> = Vec::new();
    for query in queries {
        let out = ok(folder, &["db", "psql", "--", "-qAtX", "-F", " ", "-c", query]);
        lines.extend(out.lines().map(str::to_owned));
    }
    lines.sort();
    lines
}

/// The same from `starmill rows`.
fn rows(folder: &Path, file: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in ok(folder, &["rows", file]).lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |column: &str| match &row[column] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => "-".to_owned(),
            serde_json::Value::Bool(value) => if *value { "t" } else { "f" }.to_owned(),
            other => other.to_string(),
        };
        let columns: Vec<String> = match row["t"].as_str().unwrap() {
            "transactions" => {
                ["to_id", "hash", "fee_charged", "result_code", "is_fee_bump", "ledger_number", "ledger_created_at"].map(text).to_vec()
            }
            "operations" => {
                ["id", "operation_type", "operation_xdr_len", "operation_xdr_sha256_8", "result_code", "successful"].map(text).to_vec()
            }
            "transactions_accounts" => vec![text("tx_to_id"), text("account_id")],
            "operations_accounts" => vec![text("operation_id"), text("account_id")],
            "state_changes" => {
                ["to_id", "operation_id", "state_change_id", "category", "reason", "account_id", "token_id", "amount"].map(text).to_vec()
            }
            _ => continue,
        };
        lines.push(format!("{} {}", text("t"), columns.join(" ")));
    }
    lines.sort();
    lines
}

fn summary(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let mut all = vec!["run", "--json"];
    all.extend(arguments);
    serde_json::from_str(&ok(folder, &all)).unwrap()
}

fn status(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&ok(folder, &["status", "--json"])).unwrap()
}

#[test]
fn tables_hold_what_rows_says_and_running_twice_changes_nothing() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 30, 20);
    let first = summary(folder, &["chain.xdr", "--threads", "2"]);
    assert_eq!((&first["ledgers"], &first["transactions"], &first["last_ledger"]), (&30.into(), &600.into(), &31.into()));
    let expected = rows(folder, "chain.xdr");
    // Rows of current state come on top.
    assert!(expected.len() > 4_000 && first["rows"].as_u64().unwrap() > expected.len() as u64, "{} of {first}", expected.len());
    assert_eq!(tables(folder), expected);
    let second = summary(folder, &["chain.xdr"]);
    assert_eq!((&second["ledgers"], &second["ledgers_skipped"]), (&0.into(), &30.into()));
    assert_eq!(tables(folder), expected);
    assert_eq!(status(folder)["coverage"], serde_json::json!([[2, 31]]));
}

#[test]
fn addresses_have_their_text_in_the_database() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 1, 1);
    ok(folder, &["run", "chain.xdr"]);
    let key = "3f0c34bf93ad0d9971d04ccc90f705511c838aad9734a4a2fb0d7a03fc7fe89a";
    // Examples of SEP-23.
    for (version, expected) in [
        ("30", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"),
        ("10", "CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUWDA"),
        ("58", "LA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUPJN"),
        ("08", "BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TU"),
    ] {
        let query = format!("select address_text('\\x{version}{key}')");
        assert_eq!(ok(folder, &["db", "psql", "--", "-qAtX", "-c", &query]).trim(), expected);
    }
}

#[test]
fn parts_in_any_order_give_the_same_tables() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 30, 5);
    for (from, to) in [("20", "31"), ("2", "5"), ("4", "21")] {
        ok(folder, &["run", "chain.xdr", "--from", from, "--to", to]);
    }
    assert_eq!(status(folder)["coverage"], serde_json::json!([[2, 31]]));
    assert_eq!(tables(folder), rows(folder, "chain.xdr"));
}

/// Feeds a run on standard input, slowly enough that it is in the middle when `until` says so.
fn feed(folder: &Path, bytes: &[u8], mut until: impl FnMut(&mut Child) -> bool) -> Child {
    let mut child =
        starmill(folder).args(["run", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for part in bytes.chunks(bytes.len() / 40 + 1) {
        if input.write_all(part).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(25));
        if until(&mut child) {
            // The pipe stays open: a run must end without waiting for its source.
            std::mem::forget(input);
            return child;
        }
    }
    child
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn ctrl_c_commits_what_was_read_and_says_where_it_stands() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 200, 10);
    let bytes = std::fs::read(folder.join("chain.xdr")).unwrap();
    ok(folder, &["run", "chain.xdr", "--to", "3"]);
    let begin = Instant::now();
    let child = feed(folder, &bytes, |_| begin.elapsed() > Duration::from_millis(700));
    signal(&child, "-INT");
    let asked = Instant::now();
    let said = said(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < Duration::from_secs(5), "took {:?} to stop", asked.elapsed());
    assert_eq!(said.status, Some(130), "{said:?}");
    let summary: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(summary["outcome"], "stopped");
    let last = summary["last_ledger"].as_u64().unwrap();
    assert!((4..201).contains(&last), "{summary}");
    assert_eq!(status(folder)["coverage"], serde_json::json!([[2, last]]));
    ok(folder, &["run", "chain.xdr"]);
    assert_eq!(tables(folder), rows(folder, "chain.xdr"));
}

#[test]
fn a_killed_run_leaves_whole_ledgers_and_the_next_completes() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 300, 10);
    let bytes = std::fs::read(folder.join("chain.xdr")).unwrap();
    ok(folder, &["run", "chain.xdr", "--to", "2"]);
    for wait in [400, 650, 900] {
        let begin = Instant::now();
        let mut child = feed(folder, &bytes, |_| begin.elapsed() > Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    ok(folder, &["run", "chain.xdr"]);
    assert_eq!(status(folder)["coverage"], serde_json::json!([[2, 301]]));
    assert_eq!(tables(folder), rows(folder, "chain.xdr"));
}

#[test]
fn bad_input_is_one_line_and_leaves_the_tables_as_they_were() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 20, 5);
    let good = std::fs::read(folder.join("chain.xdr")).unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    put("empty", b"");
    put("text", b"these are not ledgers, whatever they are called");
    put("truncated", &good[..good.len() - 9]);
    put("oversized", &[&[0xff, 0xff, 0xff, 0xfc], &good[4..2_000]].concat());
    let mut garbage = good.clone();
    // Deep inside the third frame: the record marks stay true.
    let third = frame_start(&good, 2) + 600;
    garbage[third..third + 64].fill(0xee);
    put("garbage", &garbage);
    ok(folder, &["run", "chain.xdr", "--to", "2"]);
    let before = tables(folder);
    for (file, code) in [("empty", "empty-file"), ("text", "wrong-type"), ("oversized", "frame-too-large"), ("absent", "not-found")] {
        let line = fails(folder, &["run", file], code);
        assert!(line.contains(file), "{line}");
        assert_eq!(tables(folder), before, "after {file}");
    }
    fails(folder, &["run", "chain.xdr", "garbage"], "duplicate-ledger");
    fails(folder, &["run", "chain.xdr", "--network", "testnet"], "network-mismatch");
    assert_eq!(tables(folder), before);

    // What stands before the damage is written, what comes after is not.
    let line = fails(folder, &["run", "truncated"], "frame-truncated");
    assert!(line.contains("ledger 20 is written"), "{line}");
    let said = run(folder, &["run", "garbage", "--to", "10", "--data-dir", "other"]);
    assert_eq!(said.status, Some(1), "{said:?}");
    assert!(said.err.contains("ledger 4") && said.err.contains("starmill rows"), "{said:?}");
    let other = ok(folder, &["status", "--json", "--data-dir", "other"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&other).unwrap()["coverage"], serde_json::json!([[2, 3]]));

    ok(folder, &["run", "chain.xdr"]);
    assert_eq!(tables(folder), rows(folder, "chain.xdr"));
}

/// Where the body of frame `n` begins, 0-based.
fn frame_start(framed: &[u8], n: usize) -> usize {
    let mut at = 0;
    for _ in 0..n {
        let mark = u32::from_be_bytes(framed[at..at + 4].try_into().unwrap());
        at += 4 + (mark & 0x7fff_ffff) as usize;
    }
    at + 4
}

#[test]
fn one_writer_to_a_folder() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 100, 5);
    let bytes = std::fs::read(folder.join("chain.xdr")).unwrap();
    ok(folder, &["run", "chain.xdr", "--to", "2"]);
    let mut line = String::new();
    let begin = Instant::now();
    let mut child = feed(folder, &bytes, |_| {
        if begin.elapsed() > Duration::from_millis(600) && line.is_empty() {
            line = fails(folder, &["run", "chain.xdr"], "data-dir-busy");
            // Reading goes on beside a writer.
            ok(folder, &["status"]);
            return true;
        }
        false
    });
    assert!(line.contains(&format!("process {}", child.id())), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    ok(folder, &["run", "chain.xdr"]);
    assert_eq!(tables(folder), rows(folder, "chain.xdr"));
}

#[test]
fn json_lines_hold_the_same_rows_and_are_not_written_twice() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 10, 5);
    ok(folder, &["run", "chain.xdr", "--sink", "jsonl:out", "--to", "6"]);
    ok(folder, &["run", "chain.xdr", "--sink", "jsonl:out"]);
    let mut written: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder.join("out")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|e| e == "jsonl") {
            assert!(!name.ends_with(".part"), "{name} is half-written");
            written.extend(std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned));
        }
    }
    written.sort();
    let mut expected: Vec<String> = ok(folder, &["rows", "chain.xdr"]).lines().map(str::to_owned).collect();
    expected.sort();
    assert_eq!(written, expected);
}

#[test]
fn a_range_that_is_not_there_is_an_error_after_what_is_there_was_written() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, 5, 1);
    let line = fails(folder, &["run", "chain.xdr", "--to", "9", "--sink", "null:"], "range-not-reached");
    assert!(line.contains("ledgers 7 to 9"), "{line}");
}

#[test]
fn wrong_usage_ends_with_status_2() {
    let folder = folder();
    for arguments in [&["run"][..], &["nonsense"], &["run", "x", "--sink", "sqlite:x"], &["run", "x", "--threads", "0"]] {
        assert_eq!(run(folder.path(), arguments).status, Some(2), "{arguments:?}");
    }
}
