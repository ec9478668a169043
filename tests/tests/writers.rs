//! Two processes on one database: a run at the tip and a backfill beside it, a standby that takes over, history that is kept for so long and no longer,
//! and a run that ends when asked to whatever holds it up.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use starmill_tests::binary::{Server, fails, folder, ok, said, starmill};

/// Longest that anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn chain(folder: &Path, more: &[&str]) {
    ok(folder, &[&["synth", "--output", "chain.xdr"], more].concat());
}

fn coverage(folder: &Path) -> String {
    let status: serde_json::Value = serde_json::from_str(&ok(folder, &["status", "--json"])).unwrap();
    status["coverage"].to_string()
}

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

fn signal(child: &Child, name: &str) {
    assert!(std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_backfill_beside_the_tip_gives_the_tables_of_one_run() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, &["--ledgers", "120", "--tx-per-ledger", "20"]);
    // All of it by one run, for comparison.
    ok(folder, &["run", "chain.xdr", "--data-dir", "one"]);
    // The tip begins in the middle, after the set-up that current state needs.
    ok(folder, &["run", "chain.xdr", "--to", "2"]);
    let server = Server::of(folder);
    let to = ["--database-url", &server.url];
    ok(folder, &[&["run", "chain.xdr", "--from", "60", "--to", "61"], &to[..]].concat());
    let tip = spawn(folder, &[&["run", "chain.xdr", "--from", "62"], &to[..]].concat());
    let backfill = spawn(folder, &[&["run", "chain.xdr", "--backfill", "--to", "61"], &to[..]].concat());
    for child in [tip, backfill] {
        let said = said(child.wait_with_output().unwrap());
        assert_eq!(said.status, Some(0), "{said:?}");
    }
    assert_eq!(coverage(folder), "[[2,121]]");
    let history = |server: &Server<'_>| {
        let all = server.checksums();
        let mine = ["transactions|", "operations|", "transactions_accounts|", "operations_accounts|", "state_changes|"];
        all.lines().filter(|line| mine.iter().any(|table| line.starts_with(table))).map(str::to_owned).collect::<Vec<_>>()
    };
    let other = Server::of_data(folder, "one");
    assert_eq!(history(&server), history(&other));
    assert_eq!(history(&server).len(), 5);
}

#[test]
fn a_second_writer_of_a_role_is_refused_unless_it_stands_by() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, &["--ledgers", "40", "--tx-per-ledger", "5"]);
    ok(folder, &["run", "chain.xdr", "--to", "3"]);
    let server = Server::of(folder);
    let to = ["--database-url", &server.url];
    // A tip that waits for its source holds the role.
    let mut tip = spawn(folder, &[&["run", "-", "--network", "local"], &to[..]].concat());
    let bytes = std::fs::read(folder.join("chain.xdr")).unwrap();
    tip.stdin.as_mut().unwrap().write_all(&bytes[..bytes.len() / 2]).unwrap();
    wait_until("the tip writes", || server.query("select max(hi) > 3 from ledger_coverage") == "t");
    let line = fails(folder, &[&["run", "chain.xdr"], &to[..]].concat(), "writer-busy");
    assert!(line.contains("--standby"), "{line}");
    // The other role is free.
    ok(folder, &[&["run", "chain.xdr", "--backfill", "--to", "3"], &to[..]].concat());
    let standby = spawn(folder, &[&["run", "chain.xdr", "--standby", "--json"], &to[..]].concat());
    let before = server.query("select max(hi) from ledger_coverage");
    std::thread::sleep(Duration::from_millis(4_500));
    assert_eq!(server.query("select max(hi) from ledger_coverage"), before, "the standby has written");
    tip.kill().unwrap();
    tip.wait().unwrap();
    let said = said(standby.wait_with_output().unwrap());
    assert!(said.status == Some(0) && said.err.contains("standing by: "), "{said:?}");
    assert_eq!(coverage(folder), "[[2,41]]");
}

#[test]
fn a_standby_ends_when_asked_to() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, &["--ledgers", "4", "--tx-per-ledger", "2"]);
    ok(folder, &["run", "chain.xdr", "--to", "2"]);
    let server = Server::of(folder);
    let to = ["--database-url", &server.url];
    let mut tip = spawn(folder, &[&["run", "-", "--network", "local"], &to[..]].concat());
    tip.stdin.as_mut().unwrap().write_all(&std::fs::read(folder.join("chain.xdr")).unwrap()).unwrap();
    wait_until("the tip writes", || server.query("select max(hi) > 2 from ledger_coverage") == "t");
    let standby = spawn(folder, &[&["run", "chain.xdr", "--standby"], &to[..]].concat());
    std::thread::sleep(Duration::from_millis(500));
    let asked = Instant::now();
    signal(&standby, "-TERM");
    let said = said(standby.wait_with_output().unwrap());
    assert!(said.status == Some(130) && asked.elapsed() < Duration::from_secs(5), "{:?} {said:?}", asked.elapsed());
    tip.kill().unwrap();
    tip.wait().unwrap();
}

#[test]
fn history_older_than_kept_goes_and_its_coverage_with_it() {
    let folder = folder();
    let folder = folder.path();
    // Eight ledgers a day for ten days.
    chain(folder, &["--ledgers", "80", "--tx-per-ledger", "5", "--close-interval", "10800"]);
    let summary: serde_json::Value =
        serde_json::from_str(&ok(folder, &["run", "chain.xdr", "--retention", "3d", "--json", "--memory-mib", "1"])).unwrap();
    assert!(summary["partitions_dropped"].as_u64().unwrap() > 0, "{summary}");
    let server = Server::of(folder);
    let oldest =
        server.query("select max(ledger_created_at)::date - min(ledger_created_at)::date from transactions").parse::<u32>().unwrap();
    assert!((3..=4).contains(&oldest), "{oldest} days are there");
    // What is covered has its rows; what is gone is not covered.
    assert_eq!(
        server.query("select lo, hi from ledger_coverage"),
        server.query("select min(ledger_number), max(ledger_number) from transactions")
    );
    let balances = server.query("select count(*) from native_balances");
    assert_ne!(balances, "0");
}

#[test]
fn who_asks_for_the_end_has_it_though_the_database_does_not_answer() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, &["--ledgers", "40", "--tx-per-ledger", "5"]);
    ok(folder, &["run", "chain.xdr", "--to", "3"]);
    let server = Server::of(folder);
    let to = ["--database-url", &server.url];
    let mut lock = std::process::Command::new("psql")
        .args([&server.url, "-qAtX", "-c", "begin; lock table transactions in access exclusive mode; select 1; select pg_sleep(100)"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let held = "select count(*) from pg_locks where relation = 'transactions'::regclass and mode = 'AccessExclusiveLock' and granted";
    wait_until("the table is locked", || server.query(held) == "1");
    let run = spawn(folder, &[&["run", "chain.xdr"], &to[..]].concat());
    let waits = "select count(*) from pg_locks where relation = 'transactions'::regclass and not granted";
    wait_until("the run waits for the lock", || server.query(waits) != "0");
    let asked = Instant::now();
    signal(&run, "-TERM");
    let said = said(run.wait_with_output().unwrap());
    assert!(asked.elapsed() < Duration::from_secs(7), "took {:?}", asked.elapsed());
    assert!(said.status == Some(130) && said.err.contains("given up"), "{said:?}");
    server
        .query("select pg_terminate_backend(pid) from pg_locks where relation = 'transactions'::regclass and mode = 'AccessExclusiveLock'");
    lock.wait().unwrap();
    ok(folder, &[&["run", "chain.xdr"], &to[..]].concat());
    assert_eq!(coverage(folder), "[[2,41]]");
    ok(folder, &["run", "chain.xdr", "--data-dir", "one"]);
    assert_eq!(server.checksums(), Server::of_data(folder, "one").checksums());
}
