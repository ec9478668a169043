//! Faults that may pass, in a real Postgres: sessions that are ended, statements that are stopped, deadlocks, a server that restarts. The commit comes to
//! its end by itself, and each ledger is there once. Faults that do not pass are told at once.

#[path = "support/state.rs"]
mod state;
mod support;

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_ledger::rows::{EntryOp, OperationRow, Rows as _};
use starmill_ledger::sink::Sink as _;
use starmill_sinks::postgres::{Step, StepAction, Steps};
use starmill_sinks::{PostgresConfig, PostgresSink, PrivateCluster};
use starmill_xdr as _;
use state::Filler;
use stellar_strkey as _;
use support::{DAY, Database, NETWORK, Sql, batch, database, folder, postgres_installed};
use thiserror as _;

fn ahead(config: &PostgresConfig) -> PostgresConfig {
    let mut config = config.clone();
    (config.copy_connections, config.ahead_rows_min) = (2, 0);
    config
}

/// Does something once, at the first of these steps, in a thread of its own.
fn once(config: &PostgresConfig, moment: Step, act: impl Fn() + Send + Sync + Clone + 'static) -> PostgresConfig {
    let mut config = config.clone();
    let times = AtomicUsize::new(0);
    config.steps = Some(Steps(Arc::new(move |step| {
        if step == moment && times.fetch_add(1, Ordering::Relaxed) == 0 {
            std::thread::spawn(act.clone()).join().unwrap();
        }
        StepAction::GoOn
    })));
    config
}

fn assert_once(db: &Database, hi: u64) {
    let counts = ["transactions", "transactions_accounts", "operations", "operations_accounts"].map(|table| db.sql.count(table));
    assert_eq!(counts, [10 * hi, 30 * hi, 10 * hi, 30 * hi]);
    assert_eq!(db.sql.rows("SELECT lo, hi FROM ledger_coverage"), [format!("1|{hi}")]);
    assert_eq!(db.sql.count("starmill_pending"), 0);
}

const STEPS: [Step; 6] =
    [Step::Pending, Step::Copied("transactions"), Step::CopiesCommitted, Step::StateWritten, Step::HistoryWritten, Step::Covered];

#[test]
fn ended_sessions_at_each_step() {
    if !postgres_installed("ended_sessions_at_each_step") {
        return;
    }
    // The writer's main session, those that copy, or all of them.
    for mode in ["= 'ExclusiveLock'", "= 'ShareLock'", "IS NOT NULL"] {
        let db = database();
        drop(PostgresSink::open(db.config.clone()).unwrap());
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND locktype = 'advisory' AND mode {mode}"
        );
        for (step, lo) in STEPS.into_iter().zip((1_u32..).step_by(3)) {
            let (url, end) = (db.config.url.clone(), end.clone());
            let config = once(&ahead(&db.config), step, move || Sql::connect(&url).run(&end));
            let mut sink = PostgresSink::open(config).unwrap();
            sink.commit(&mut batch(lo..lo + 3)).unwrap();
            assert_once(&db, u64::from(lo) + 2);
            assert!(sink.coverage().contains(lo + 2));
        }
    }
    // The same for a batch of one transaction.
    let db = database();
    drop(PostgresSink::open(db.config.clone()).unwrap());
    for (step, lo) in [Step::HistoryWritten, Step::StateWritten, Step::Covered].into_iter().zip((1_u32..).step_by(3)) {
        let url = db.config.url.clone();
        let end = "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND locktype = 'advisory'";
        let mut sink = PostgresSink::open(once(&db.config, step, move || Sql::connect(&url).run(end))).unwrap();
        sink.commit(&mut batch(lo..lo + 3)).unwrap();
        assert_once(&db, u64::from(lo) + 2);
        assert_eq!(sink.metrics().retries(), 1);
    }
}

#[test]
fn a_commit_whose_answer_is_lost() {
    if !postgres_installed("a_commit_whose_answer_is_lost") {
        return;
    }
    for ahead_rows_min in [0, u64::MAX] {
        let db = database();
        let mut config = ahead(&db.config);
        config.ahead_rows_min = ahead_rows_min;
        let times = AtomicUsize::new(0);
        config.steps = Some(Steps(Arc::new(move |step| {
            let lose = step == Step::Committed && times.fetch_add(1, Ordering::Relaxed) == 0;
            if lose { StepAction::LoseConnection } else { StepAction::GoOn }
        })));
        let mut sink = PostgresSink::open(config).unwrap();
        sink.commit(&mut batch(1..4)).unwrap();
        assert_once(&db, 3);
        assert_eq!((sink.metrics().retries(), sink.metrics().commits(), sink.coverage().ledgers()), (1, 1, 3));
        sink.commit(&mut batch(4..6)).unwrap();
        assert_once(&db, 5);
    }
}

#[test]
fn stopped_statements_and_deadlocks() {
    if !postgres_installed("stopped_statements_and_deadlocks") {
        return;
    }
    for ahead_rows_min in [0, u64::MAX] {
        let db = database();
        let mut config = ahead(&db.config);
        config.ahead_rows_min = ahead_rows_min;
        let mut sink = PostgresSink::open(config.clone()).unwrap();
        // The first attempt runs into a timeout: set by a trigger, since the writer's session has none.
        db.sql.run(
            "CREATE SEQUENCE attempts; CREATE FUNCTION hurry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               IF nextval('attempts') = 1 THEN PERFORM set_config('statement_timeout', '50ms', true); END IF; RETURN NULL; END $$; \
             CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               IF current_setting('statement_timeout') <> '0' THEN PERFORM pg_sleep(10); END IF; RETURN NULL; END $$; \
             CREATE TRIGGER hurry AFTER INSERT ON native_balances FOR EACH STATEMENT EXECUTE FUNCTION hurry(); \
             CREATE TRIGGER dawdle AFTER INSERT ON ledger_coverage FOR EACH STATEMENT EXECUTE FUNCTION dawdle()",
        );
        let mut first = Filler::inside(batch(1..4), 3).native(EntryOp::Update, 1, 1).native(EntryOp::Update, 2, 1);
        sink.commit(&mut first.batch).unwrap();
        assert_eq!((sink.metrics().retries(), db.sql.one("SELECT last_value FROM attempts")), (1, "2".to_owned()));
        assert_once(&db, 3);
        db.sql.run("DROP TRIGGER hurry ON native_balances; DROP TRIGGER dawdle ON ledger_coverage");
        drop(sink);

        // Another session holds the second account's row and then wants the first, which the commit holds; it would wait longer than the writer.
        let sql = Arc::new(Mutex::new(Some(Sql::connect(&db.config.url))));
        let other = Arc::clone(&sql);
        let config = once(&config, if ahead_rows_min == 0 { Step::Pending } else { Step::HistoryWritten }, move || {
            let sql = other.lock().unwrap().take().unwrap();
            sql.run("SET deadlock_timeout TO '1min'; BEGIN; UPDATE native_balances SET balance = 0 WHERE get_byte(account_id, 1) = 2");
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                sql.run("UPDATE native_balances SET balance = 0 WHERE get_byte(account_id, 1) = 1; COMMIT");
            });
        });
        let mut sink = PostgresSink::open(config).unwrap();
        let mut second = Filler::inside(batch(4..6), 5).native(EntryOp::Update, 1, 5).native(EntryOp::Update, 2, 5);
        sink.commit(&mut second.batch).unwrap();
        assert_eq!(sink.metrics().retries(), 1);
        assert_once(&db, 5);
        assert_eq!(db.sql.rows("SELECT balance FROM native_balances"), ["5", "5"]);
    }
}

#[test]
fn what_does_not_pass_is_told_at_once_and_leaves_nothing() {
    if !postgres_installed("what_does_not_pass_is_told_at_once_and_leaves_nothing") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(ahead(&db.config)).unwrap();
    let mut bad = batch(1..9);
    bad.rows.operation(&OperationRow {
        id: 8 << 32 | 1,
        operation_type: "NO_SUCH_OPERATION",
        operation_xdr: &[1],
        result_code: "op_success",
        successful: true,
        ledger: 8,
        closed_at: DAY + 48,
    });
    let started = Instant::now();
    let error = sink.commit(&mut bad).unwrap_err();
    assert_eq!((error.code(), error.sqlstate()), ("row-refused", Some("23514")), "{error}");
    assert!(error.to_string().contains("COPY operations, ledgers 1-8"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!((sink.metrics().retries(), db.sql.count("transactions"), db.sql.count("operations")), (0, 0, 0));
    assert_eq!(db.sql.count("starmill_pending") + db.sql.count("ledger_coverage"), 0);
    sink.commit(&mut batch(1..9)).unwrap();
    assert_once(&db, 8);
}

#[test]
fn no_connections_left_for_copying() {
    if !postgres_installed("no_connections_left_for_copying") {
        return;
    }
    // A cluster of its own: other tests need connections.
    let folder = folder();
    let cluster = PrivateCluster::start(&folder.path().join("data")).unwrap();
    let mut config = ahead(&PostgresConfig::new(cluster.url(), NETWORK));
    config.copy_connections = 30;
    let others: Vec<Sql> = (0..25).map(|_| Sql::connect(&config.url)).collect();
    let mut sink = PostgresSink::open(config).unwrap();
    sink.commit(&mut batch(1..9)).unwrap();
    assert_eq!(others[0].rows("SELECT lo, hi FROM ledger_coverage"), ["1|8"]);
    assert_eq!(others[0].count("transactions"), 80);
    drop((others, sink));
    cluster.stop().unwrap();
}

#[test]
fn a_server_that_restarts() {
    if !postgres_installed("a_server_that_restarts") {
        return;
    }
    let folder = folder();
    let data = folder.path().join("data");
    let cluster = PrivateCluster::start(&data).unwrap();
    let config = PostgresConfig::new(cluster.url(), NETWORK);
    drop(PostgresSink::open(config.clone()).unwrap());
    let pg_ctl = PrivateCluster::installed().unwrap().1.join("pg_ctl");
    let server = data.join("postgres");
    let owner = std::fs::metadata(&server).unwrap();
    for (n, (step, lo)) in [Step::Pending, Step::HistoryWritten, Step::Covered].into_iter().zip((1_u32..).step_by(3)).enumerate() {
        let (pg_ctl, server, owner) = (pg_ctl.clone(), server.clone(), (owner.uid(), owner.gid()));
        // Stopped politely, or without a word, which leaves recovery to go through what was written ahead.
        let restart = move || {
            let mut command = std::process::Command::new(&pg_ctl);
            command.args(["restart", "-w", "-s", "-m", if n == 1 { "fast" } else { "immediate" }, "-D"]).arg(&server);
            command.arg("-l").arg(server.join("restart.log")).uid(owner.0).gid(owner.1);
            assert!(command.status().unwrap().success());
        };
        let mut sink = PostgresSink::open(once(&ahead(&config), step, restart)).unwrap();
        sink.commit(&mut batch(lo..lo + 3)).unwrap();
        assert!(sink.metrics().retries() >= 1);
        let sql = Sql::connect(&config.url);
        assert_eq!(sql.count("transactions"), 10 * (u64::from(lo) + 2));
        assert_eq!(sql.rows("SELECT lo, hi FROM ledger_coverage"), [format!("1|{}", lo + 2)]);
    }
    cluster.stop().unwrap();
}
