//! Following into a real Postgres: each ledger is there soon after it appears, from the cursor on; histories read backwards are the same tables.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use starmill_tests::binary::{Said, Server, fails, folder, ok, said, starmill};

const PATIENCE: Duration = Duration::from_secs(60);

fn spawn(folder: &Path, arguments: &[&str]) -> Child {
    starmill(folder).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ended(child: Child, signal: &str) -> Said {
    assert!(std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    said(child.wait_with_output().unwrap())
}

/// The frames of a file, each with its mark.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let mut rest = &bytes[..];
    let mut out = Vec::new();
    while let Some(mark) = rest.first_chunk::<4>() {
        let (frame, more) = rest.split_at(4 + (u32::from_be_bytes(*mark) & 0x7fff_ffff) as usize);
        out.push(frame.to_vec());
        rest = more;
    }
    out
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(format!(".{name}")), bytes).unwrap();
    std::fs::rename(folder.join(format!(".{name}")), folder.join(name)).unwrap();
}

#[test]
fn a_folder_is_followed_and_the_next_run_goes_on_at_the_cursor() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &["synth", "--ledgers", "40", "--tx-per-ledger", "10", "--output", "chain.xdr"]);
    let frames = frames(&folder.join("chain.xdr"));
    std::fs::create_dir(folder.join("live")).unwrap();
    put(&folder.join("live"), "a", &frames[..5].concat());
    ok(folder, &["run", "live", "--to", "2"]);
    let server = Server::of(folder);
    let to = ["--database-url", &server.url];
    let top = || server.query("select max(hi) from ledger_coverage");
    let follower = spawn(folder, &[&["run", "--follow", "live", "--json"], &to[..]].concat());
    wait_until("what is there already", || top() == "6");
    for (n, frame) in (5..20).zip(&frames[5..20]) {
        put(&folder.join("live"), &format!("{n:03}"), frame);
        wait_until("a new file", || top() == (n + 2).to_string());
    }
    let said = ended(follower, "-INT");
    assert_eq!(said.status, Some(130), "{said:?}");
    let summary: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&summary["ledgers"], &summary["last_ledger"]), (&19.into(), &21.into()));
    assert!(summary["read_to_commit_milliseconds"]["max"].as_u64().is_some(), "{summary}");

    // Files of covered ledgers may be gone: it goes on at the cursor.
    std::fs::remove_file(folder.join("live/a")).unwrap();
    put(&folder.join("live"), "rest", &frames[20..].concat());
    ok(folder, &[&["run", "--follow", "live", "--to", "41"], &to[..]].concat());
    assert_eq!(server.query("select lo, hi from ledger_coverage"), "2|41");
    ok(folder, &["run", "chain.xdr", "--data-dir", "one"]);
    assert_eq!(server.checksums(), Server::of_data(folder, "one").checksums());
}

#[test]
fn a_pipe_is_followed_over_its_writers() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &["synth", "--ledgers", "30", "--tx-per-ledger", "5", "--output", "chain.xdr"]);
    let frames = frames(&folder.join("chain.xdr"));
    assert!(std::process::Command::new("mkfifo").arg(folder.join("meta")).status().unwrap().success());
    ok(folder, &["run", "chain.xdr", "--to", "2"]);
    let server = Server::of(folder);
    let follower = spawn(folder, &["run", "--follow", "meta", "--database-url", &server.url]);
    let top = || server.query("select max(hi) from ledger_coverage");
    // A validator that starts anew sends some ledgers again.
    for (from, to) in [(0, 10), (7, 20), (19, 30)] {
        std::fs::write(folder.join("meta"), frames[from..to].concat()).unwrap();
        wait_until("a writer's ledgers", || top() == (to + 1).to_string());
    }
    assert_eq!(ended(follower, "-TERM").status, Some(130));
    ok(folder, &["run", "chain.xdr", "--data-dir", "one"]);
    assert_eq!(server.checksums(), Server::of_data(folder, "one").checksums());
}

#[test]
fn an_empty_database_follows_from_the_first_ledger_that_appears() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &["synth", "--ledgers", "5", "--tx-per-ledger", "3", "--output", "chain.xdr"]);
    std::fs::create_dir(folder.join("live")).unwrap();
    let follower = spawn(folder, &["run", "--follow", "live", "--to", "6"]);
    std::thread::sleep(Duration::from_millis(700));
    put(&folder.join("live"), "all", &std::fs::read(folder.join("chain.xdr")).unwrap());
    let said = said(follower.wait_with_output().unwrap());
    assert_eq!(said.status, Some(0), "{said:?}");
    let status: serde_json::Value = serde_json::from_str(&ok(folder, &["status", "--json"])).unwrap();
    assert_eq!(status["coverage"], serde_json::json!([[2, 6]]));
    // A database of another network is not written to.
    fails(folder, &["run", "--follow", "live", "--network", "testnet"], "network-mismatch");
}

#[test]
fn newest_first_fills_history_to_the_same_tables() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &["synth", "--ledgers", "60", "--tx-per-ledger", "10", "--output", "chain.xdr"]);
    let frames = frames(&folder.join("chain.xdr"));
    std::fs::create_dir(folder.join("lake")).unwrap();
    for (n, part) in frames.chunks(7).enumerate() {
        put(&folder.join("lake"), &format!("{n:03}"), &part.concat());
    }
    // The tip is there; history comes after it.
    ok(folder, &["run", "lake", "--from", "50"]);
    let summary: serde_json::Value =
        serde_json::from_str(&ok(folder, &["run", "lake", "--backfill", "--newest-first", "--to", "49", "--json"])).unwrap();
    assert_eq!((&summary["ledgers"], &summary["ledgers_skipped"]), (&48.into(), &0.into()), "{summary}");
    assert_eq!(summary["last_ledger"], 8, "the oldest file comes last: {summary}");
    let history = |server: &Server<'_>| {
        let mine = ["transactions|", "operations|", "transactions_accounts|", "operations_accounts|", "state_changes|", "ledger_coverage|"];
        let all = server.checksums();
        all.lines().filter(|line| mine.iter().any(|table| line.starts_with(table))).map(str::to_owned).collect::<Vec<_>>()
    };
    let backwards = history(&Server::of(folder));
    assert_eq!(backwards.len(), 6);
    ok(folder, &["run", "chain.xdr", "--data-dir", "one"]);
    assert_eq!(backwards, history(&Server::of_data(folder, "one")));
    // Once more changes nothing, and a stream cannot be read so.
    let again: serde_json::Value = serde_json::from_str(&ok(folder, &["run", "lake", "--backfill", "--newest-first", "--json"])).unwrap();
    assert_eq!((&again["ledgers"], &again["ledgers_skipped"]), (&0.into(), &60.into()));
    fails(folder, &["run", "-", "lake", "--newest-first"], "empty-file");
}
