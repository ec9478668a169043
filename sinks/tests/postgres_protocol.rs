//! The commit of large batches in a real Postgres: whatever step a writer dies at, what is left is what is covered, and the same batch again is there
//! once; an older writer adds nothing; tip and backfill work side by side.

#[path = "support/state.rs"]
mod state;
mod support;

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
use starmill_ledger::rows::{EntryOp, Rows as _};
use starmill_ledger::sink::{Batch, Sink as _};
use starmill_sinks::postgres::{HISTORY_TABLES, STEPS, Standby, Step, StepAction, Steps, WriterRole};
use starmill_sinks::{CopyRows, PostgresConfig, PostgresSink};
use starmill_xdr as _;
use state::Filler;
use stellar_strkey as _;
use support::{DAY, Database, Sql, batch, database, postgres_installed, put_ledger};
use thiserror as _;

/// Every batch goes ahead of its commit, over two connections.
fn ahead(db: &Database) -> PostgresConfig {
    let mut config = db.config.clone();
    (config.copy_connections, config.ahead_rows_min) = (2, 0);
    config
}

fn with_steps(config: &PostgresConfig, steps: impl Fn(Step) -> StepAction + Send + Sync + 'static) -> PostgresConfig {
    let mut config = config.clone();
    config.steps = Some(Steps(Arc::new(steps)));
    config
}

/// Rows in every table of history, ledgers with `transactions` transactions each; with the SEP-41 token of the first ledger.
fn full(sequences: std::ops::Range<u32>, transactions: u32) -> Batch<CopyRows> {
    let mut all = Batch::<CopyRows>::new();
    for sequence in sequences {
        let mut one = Batch::new();
        put_ledger(&mut one, sequence, DAY, transactions);
        let mut filler =
            Filler::inside(one, sequence).wasm(3, true).deploy(9, 3).sep41(9, 1).delta(9, 1, 1).native(EntryOp::Update, 1, sequence.into());
        for n in 0..transactions {
            filler = filler.payment(n);
        }
        all.ledgers.append(&mut filler.batch.ledgers);
        all.rows.append(&mut filler.batch.rows);
    }
    all
}

/// Rows of each ledger in every table of history.
fn history(sql: &Sql, prefix: &str) -> Vec<String> {
    let ids = ["to_id", "tx_to_id", "id", "operation_id", "to_id"];
    let table =
        |(table, id): (&str, &str)| sql.rows(&format!("SELECT '{table}', {id} >> 32, count(*) FROM {prefix}{table} GROUP BY 2 ORDER BY 2"));
    HISTORY_TABLES.into_iter().zip(ids).flat_map(table).collect()
}

/// What `history` says when exactly these ledgers are there.
fn expected(sequences: std::ops::Range<u32>, transactions: u32) -> Vec<String> {
    let each = [transactions, 3 * transactions, transactions, 3 * transactions, 3 * transactions + 1];
    let table = |(table, rows): (&str, u32)| sequences.clone().map(move |n| format!("{table}|{n}|{rows}")).collect::<Vec<_>>();
    HISTORY_TABLES.into_iter().zip(each).flat_map(table).collect()
}

#[test]
fn whatever_step_it_dies_at() {
    if !postgres_installed("whatever_step_it_dies_at") {
        return;
    }
    for config in [ahead as fn(&Database) -> PostgresConfig, |db| db.config.clone()] {
        let db = database();
        let config = config(&db);
        drop(PostgresSink::open(config.clone()).unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        for (n, lo) in (0..).zip((1_u32..).step_by(4)) {
            let (steps, list) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&seen));
            let dying = with_steps(&config, move |step| {
                list.lock().unwrap().push(step);
                if steps.fetch_add(1, Ordering::Relaxed) == n { StepAction::Die } else { StepAction::GoOn }
            });
            let mut batch = full(lo..lo + 4, 7);
            let sent = batch.rows.rows();
            let died = PostgresSink::open(dying).and_then(|mut sink| sink.commit(&mut batch));
            assert_eq!(batch.rows.rows(), sent);
            assert_eq!(history(&db.sql, "committed_").iter().filter(|row| !expected(1..lo + 4, 7).contains(row)).count(), 0);
            if died.is_ok() {
                break;
            }
            assert_eq!(died.unwrap_err().code(), "ended-by-test");
            let mut sink = PostgresSink::open(config.clone()).unwrap();
            let covered = sink.coverage().ranges().last().map_or(0, |range| range.hi);
            assert!([lo - 1, lo + 3].contains(&covered), "step {n}: covered to {covered}");
            assert_eq!(history(&db.sql, ""), expected(1..covered + 1, 7), "step {n}");
            assert_eq!(db.sql.rows("SELECT * FROM starmill_pending"), [""; 0]);
            let state = "SELECT coalesce(max(balance), 0), coalesce((SELECT max(balance) FROM sep41_balances), 0) FROM native_balances";
            assert_eq!(db.sql.one(state), format!("{covered}|{covered}"), "current state is that of the highest covered ledger");
            if covered < lo {
                sink.commit(&mut batch).unwrap();
            } else {
                assert_eq!(sink.commit(&mut batch).unwrap_err().code(), "ledger-covered-already");
            }
            assert_eq!(history(&db.sql, ""), expected(1..lo + 4, 7), "step {n}");
            assert_eq!(history(&db.sql, "committed_"), expected(1..lo + 4, 7), "step {n}");
            assert_eq!(db.sql.one(state), format!("{0}|{0}", lo + 3));
            assert_eq!(db.sql.one("SELECT value FROM ingest_store WHERE key = 'latest_ingest_ledger'"), (lo + 3).to_string());
        }
        let seen = seen.lock().unwrap();
        for step in STEPS {
            // Here an undisturbed writer follows each that died: it has made the partitions, and cleaned (tests/tests/kill.rs comes to these too).
            let expected = step.is_in(config.ahead_rows_min == 0) && !matches!(step, Step::Cleaned(_) | Step::Partitioned);
            assert_eq!(seen.contains(&step), expected, "{step}");
        }
    }
}

#[test]
fn what_is_ahead_is_not_committed_for_readers() {
    if !postgres_installed("what_is_ahead_is_not_committed_for_readers") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(ahead(&db)).unwrap();
    sink.commit(&mut full(1..5, 5)).unwrap();
    drop(sink);
    let mut dying =
        PostgresSink::open(with_steps(&ahead(&db), |step| if step == Step::HistoryWritten { StepAction::Die } else { StepAction::GoOn }))
            .unwrap();
    assert!(dying.commit(&mut full(5..9, 5)).is_err());
    assert_eq!(history(&db.sql, ""), expected(1..9, 5), "there, but ahead");
    assert_eq!(history(&db.sql, "committed_"), expected(1..5, 5));
    assert_eq!(db.sql.rows("SELECT role, lo, hi, closed_from = closed_to FROM starmill_pending"), ["tip|5|8|t"]);
    assert_eq!(
        db.sql.one("SELECT ledger_is_committed(4), ledger_is_committed(5), ledger_is_committed(0), ledger_is_committed(NULL)"),
        "t|f|f|-"
    );
    db.sql.run("SET enable_seqscan TO off");
    let plan = db.sql.rows("EXPLAIN SELECT 1 FROM ledger_coverage c WHERE int8range(c.lo, c.hi, '[]') @> 5::bigint").join(" ");
    assert!(plan.contains("ledger_coverage_disjoint"), "{plan}");
    drop(dying);
    drop(PostgresSink::open(db.config.clone()).unwrap());
    assert_eq!(history(&db.sql, ""), expected(1..5, 5));
}

#[test]
fn an_older_writer_adds_nothing() {
    if !postgres_installed("an_older_writer_adds_nothing") {
        return;
    }
    // At each of these steps of the older writer another one of its role opens: its main session is ended, which frees the lock, the rest of it lives.
    for moment in [Step::Pending, Step::Copied("transactions"), Step::CopiesCommitted, Step::HistoryWritten, Step::StateWritten] {
        let db = database();
        drop(PostgresSink::open(db.config.clone()).unwrap());
        let newer = Arc::new(Mutex::new(None));
        let (slot, config) = (Arc::clone(&newer), ahead(&db));
        let older = with_steps(&ahead(&db), move |step| {
            let mut slot = slot.lock().unwrap();
            if step == moment && slot.is_none() {
                let config = config.clone();
                let opened = std::thread::spawn(move || {
                    let sql = Sql::connect(&config.url);
                    sql.run("SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND locktype = 'advisory' AND mode = 'ExclusiveLock'");
                    PostgresSink::open(config).unwrap()
                });
                *slot = Some(opened.join().unwrap());
            }
            StepAction::GoOn
        });
        let mut older = PostgresSink::open(older).unwrap();
        let error = older.commit(&mut full(1..4, 50)).unwrap_err();
        assert!(matches!(error.code(), "writer-fenced" | "writer-busy"), "{moment:?}: {error}");
        assert_eq!(history(&db.sql, ""), [""; 0], "{moment:?}");
        let mut newer = newer.lock().unwrap().take().unwrap();
        newer.commit(&mut full(1..4, 50)).unwrap();
        assert_eq!(history(&db.sql, ""), expected(1..4, 50));
        assert_eq!(older.commit(&mut full(4..5, 5)).unwrap_err().code(), "writer-busy");
        assert_eq!(db.sql.rows("SELECT lo, hi FROM ledger_coverage"), ["1|3"]);
    }
}

#[test]
fn copies_compare_the_epoch() {
    if !postgres_installed("copies_compare_the_epoch") {
        return;
    }
    let db = database();
    let url = db.config.url.clone();
    let config = with_steps(&ahead(&db), move |step| {
        if step == Step::Pending {
            let url = url.clone();
            std::thread::spawn(move || Sql::connect(&url).run("UPDATE starmill_writers SET epoch = epoch + 1")).join().unwrap();
        }
        StepAction::GoOn
    });
    let mut sink = PostgresSink::open(config).unwrap();
    assert_eq!(sink.commit(&mut full(1..4, 5)).unwrap_err().code(), "writer-fenced");
    assert_eq!(history(&db.sql, ""), [""; 0]);
}

#[test]
fn tip_and_backfill_at_once() {
    if !postgres_installed("tip_and_backfill_at_once") {
        return;
    }
    let db = database();
    let mut backfill = ahead(&db);
    backfill.role = WriterRole::Backfill;
    drop(PostgresSink::open(ahead(&db)).unwrap());
    let work = |config: PostgresConfig, ledgers: std::ops::Range<u32>, step: u32| {
        std::thread::spawn(move || {
            let mut sink = PostgresSink::open(config).unwrap();
            for lo in ledgers.clone().step_by(step as usize) {
                sink.commit(&mut full(lo..ledgers.end.min(lo + step), 4)).unwrap();
            }
        })
    };
    // The tip in small commits and in large ones; they meet in the middle.
    let threads = [work(db.config.clone(), 61..81, 1), work(backfill.clone(), 1..61, 7)];
    for thread in threads {
        thread.join().unwrap();
    }
    let threads = [work(ahead(&db), 101..121, 3), work(backfill.clone(), 81..101, 3)];
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(db.sql.rows("SELECT lo, hi FROM ledger_coverage"), ["1|120"]);
    assert_eq!(history(&db.sql, ""), expected(1..121, 4));
    assert_eq!(
        db.sql.rows("SELECT key, value FROM ingest_store ORDER BY key")[..2],
        ["latest_ingest_ledger|120", "oldest_ingest_ledger|1"]
    );
    assert_eq!(db.sql.one("SELECT balance, last_modified_ledger FROM native_balances"), "120|120");
    assert_eq!(db.sql.count("starmill_pending"), 0);
    // Both at the same ledgers: one of them is told.
    let seen = Arc::new(Mutex::new(String::new()));
    let (code, config) = (Arc::clone(&seen), db.config.clone());
    let slow = with_steps(&backfill, move |step| {
        if step == Step::Pending {
            let config = config.clone();
            let other = std::thread::spawn(move || PostgresSink::open(config).unwrap().commit(&mut full(131..132, 4)).unwrap_err());
            code.lock().unwrap().push_str(other.join().unwrap().code());
        }
        StepAction::GoOn
    });
    PostgresSink::open(slow).unwrap().commit(&mut full(130..135, 4)).unwrap();
    assert_eq!(*seen.lock().unwrap(), "ledger-pending");
    assert_eq!(history(&db.sql, "committed_"), history(&db.sql, ""));
}

#[test]
fn a_backfill_above_everything_gives_way_to_the_tip() {
    if !postgres_installed("a_backfill_above_everything_gives_way_to_the_tip") {
        return;
    }
    for ahead_rows_min in [0, u64::MAX] {
        let db = database();
        let mut config = ahead(&db);
        config.role = WriterRole::Backfill;
        config.ahead_rows_min = ahead_rows_min;
        let tip = db.config.clone();
        let came = AtomicUsize::new(0);
        let config = with_steps(&config, move |step| {
            // Ledger 500 of the tip comes while 5-8 are written, planned as the newest there are.
            if step == Step::StateWritten && came.fetch_add(1, Ordering::Relaxed) == 1 {
                let tip = tip.clone();
                std::thread::spawn(move || {
                    let mut newest = Filler::new().ledger(500).native(EntryOp::Update, 2, 500).wasm(5, true);
                    PostgresSink::open(tip).unwrap().commit(&mut newest.batch).unwrap();
                })
                .join()
                .unwrap();
            }
            StepAction::GoOn
        });
        let mut backfill = PostgresSink::open(config).unwrap();
        backfill.commit(&mut full(1..5, 3)).unwrap();
        assert_eq!(db.sql.one("SELECT balance FROM native_balances"), "4", "no tip yet: its ledgers are the newest");
        backfill.commit(&mut full(5..9, 3)).unwrap();
        assert_eq!(db.sql.rows("SELECT balance FROM native_balances ORDER BY 1"), ["4", "500"], "planned anew: history alone");
        assert_eq!(backfill.metrics().retries(), 1);
        assert_eq!(db.sql.rows("SELECT lo, hi FROM ledger_coverage ORDER BY 1"), ["1|8", "500|500"]);
        assert_eq!(history(&db.sql, ""), expected(1..9, 3), "SEP-41 history of a token known by then");
        // Above the tip again: it learns what the tip has learned.
        backfill.commit(&mut Filler::new().ledger(501).deploy(7, 5).batch).unwrap();
        assert_eq!(db.sql.one("SELECT count(*) FROM contract_tokens"), "2");
    }
}

#[test]
fn a_standby_waits_and_takes_over() {
    if !postgres_installed("a_standby_waits_and_takes_over") {
        return;
    }
    let db = database();
    let first = PostgresSink::open(db.config.clone()).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut config = db.config.clone();
    (config.wait_for_writer, config.writer_wait) = (true, Duration::ZERO);
    let lines = Arc::clone(&told);
    config.standby = Some(Standby(Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned()))));
    let second = std::thread::spawn(move || PostgresSink::open(config));
    let until = Instant::now() + Duration::from_secs(20);
    while told.lock().unwrap().is_empty() {
        assert!(Instant::now() < until, "never stood by");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!second.is_finished());
    // A backfill is no rival.
    let mut backfill = db.config.clone();
    backfill.role = WriterRole::Backfill;
    drop(PostgresSink::open(backfill).unwrap());
    drop(first);
    let mut second = second.join().unwrap().unwrap();
    let told = told.lock().unwrap();
    assert!(told.len() == 1 && told[0].starts_with("server process "), "{told:?}");
    second.commit(&mut batch(1..3)).unwrap();
}
