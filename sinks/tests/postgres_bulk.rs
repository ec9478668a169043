//! Partitions loaded in bulk, in a real Postgres: the same tables as inserting gives, seen by nobody before they are whole, whatever dies on the way,
//! and in nobody's way.

#[path = "support/state.rs"]
mod state;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

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
use starmill_sinks::postgres::{BULK_STEPS, HISTORY_TABLES, Retained, RowCounts, Step, StepAction, Steps, WriterRole, status};
use starmill_sinks::{CopyRows, PostgresConfig, PostgresSink};
use starmill_xdr as _;
use state::Filler;
use stellar_strkey as _;
use support::{DAY, Database, Sql, database, postgres_installed, put_ledger};
use thiserror as _;

const DAY_SECONDS: i64 = 86_400;
/// The tip's ledger, on a day far above the others; it deploys the SEP-41 token whose rows are history too.
const TOP: u32 = 900;

/// Ledgers, ten a day, with rows in every table of history. Those below `TOP` would move current state if they were let.
fn ledgers(sequences: impl IntoIterator<Item = u32>) -> Batch<CopyRows> {
    let mut all = Batch::<CopyRows>::new();
    for sequence in sequences {
        let mut one = Batch::new();
        put_ledger(&mut one, sequence, DAY + i64::from(sequence / 10) * DAY_SECONDS + i64::from(sequence % 10), sequence % 4);
        let mut filler = Filler::inside(one, sequence).native(EntryOp::Update, 1, sequence.into()).sep41(9, 1).sep41(8, 1);
        for n in 0..sequence % 4 {
            filler = filler.payment(n);
        }
        all.ledgers.append(&mut filler.batch.ledgers);
        all.rows.append(&mut filler.batch.rows);
    }
    all
}

/// The tip's writer, which has written `TOP`.
fn tip(db: &Database) -> PostgresSink {
    let mut tip = PostgresSink::open(db.config.clone()).unwrap();
    let batch = ledgers([TOP]);
    let mut batch = Filler::inside(batch, TOP).wasm(3, true).deploy(9, 3).batch;
    tip.commit(&mut batch).unwrap();
    tip
}

fn backfill(db: &Database) -> PostgresConfig {
    PostgresConfig { role: WriterRole::Backfill, copy_connections: 2, ..db.config.clone() }
}

fn inserting(db: &Database) -> PostgresConfig {
    PostgresConfig { bulk: false, ..backfill(db) }
}

/// The hook hears of the steps of this kind of work, and of the middle of one table.
fn with_steps(config: &PostgresConfig, steps: impl Fn(Step) -> StepAction + Send + Sync + 'static) -> PostgresConfig {
    let ours = |step| BULK_STEPS.contains(&step) || matches!(step, Step::Committed | Step::Copying("operations"));
    let hook = move |step| if ours(step) { steps(step) } else { StepAction::GoOn };
    PostgresConfig { steps: Some(Steps(Arc::new(hook))), ..config.clone() }
}

/// Everything that a reader may rely on: each table of history by partition, each row of it, what is covered, cursors, current state, and how each
/// partition is made.
fn database_as_read(sql: &Sql) -> Vec<String> {
    let mut all = Vec::new();
    for table in HISTORY_TABLES {
        let query = format!(
            "SELECT tableoid::regclass::text, count(*), md5(string_agg(row, '|' ORDER BY row)) \
             FROM (SELECT tableoid, (to_jsonb(t) - 'ingested_at')::text AS row FROM {table} t) r GROUP BY 1 ORDER BY 1"
        );
        all.extend(sql.rows(&query));
    }
    let partitions = "SELECT inhparent::regclass::text, inhrelid::regclass::text, pg_get_expr(c.relpartbound, c.oid), reloptions, \
                      ARRAY(SELECT pg_get_constraintdef(o.oid) FROM pg_constraint o WHERE conrelid = c.oid AND contype IN ('p', 'c') ORDER BY 1), \
                      ARRAY(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = c.oid ORDER BY 1), \
                      (SELECT count(*) FROM pg_index JOIN pg_inherits ii ON ii.inhrelid = indexrelid WHERE indrelid = c.oid AND indisvalid) \
                      FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid WHERE relkind = 'r' ORDER BY 1, 2";
    all.extend(sql.rows(partitions));
    all.extend(sql.rows("SELECT lo, hi FROM ledger_coverage ORDER BY lo"));
    all.extend(sql.rows("SELECT key, value FROM ingest_store ORDER BY key"));
    all.extend(sql.rows("SELECT account_id, balance FROM native_balances"));
    all
}

/// Compares two of those and shows the first difference.
fn same(left: &[String], right: &[String], what: &str) {
    let difference = left.iter().zip(right).find(|(left, right)| left != right);
    assert_eq!((difference, left.len()), (None, right.len()), "{what}");
}

/// What must not be there when nothing is being loaded.
fn leftovers(sql: &Sql) -> Vec<String> {
    sql.rows(
        "SELECT relname FROM pg_class WHERE relname ~ '^starmill_bulk_.*_p[0-9]+' \
         UNION ALL SELECT first_day::text FROM starmill_bulk UNION ALL SELECT lo::text FROM starmill_bulk_ledgers",
    )
}

fn covered(sql: &Sql) -> String {
    sql.rows("SELECT lo, hi FROM ledger_coverage ORDER BY lo").join(" ")
}

/// What a database holds after these ledgers were inserted, batch by batch.
fn inserted(batches: &[&[u32]]) -> Vec<String> {
    let db = database();
    drop(tip(&db));
    let mut sink = PostgresSink::open(inserting(&db)).unwrap();
    for batch in batches {
        sink.commit(&mut ledgers(batch.iter().copied())).unwrap();
    }
    database_as_read(&db.sql)
}

#[test]
fn the_same_tables_as_inserting_and_nothing_seen_before_the_whole() {
    if !postgres_installed("the_same_tables_as_inserting_and_nothing_seen_before_the_whole") {
        return;
    }
    let all: Vec<u32> = (15..48).collect();
    let expected = inserted(&[&all]);
    // Batches within a day, at its edge, over the edge, over three days, all at once.
    for sizes in [&[1][..], &[5, 10], &[7, 3], &[33], &[26, 7]] {
        let db = database();
        drop(tip(&db));
        let before = database_as_read(&db.sql);
        let mut sink = PostgresSink::open(backfill(&db)).unwrap();
        let (mut rest, mut sizes) = (all.as_slice(), sizes.iter().cycle());
        while !rest.is_empty() {
            let (batch, after) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            sink.commit(&mut ledgers(batch.iter().copied())).unwrap();
            rest = after;
            let next = after.first().copied().unwrap_or(48);
            // Days that are whole are covered at once; the first and the last, of which more might come, at the end.
            let whole = if next > 40 {
                "20|39 "
            } else if next > 30 {
                "20|29 "
            } else {
                ""
            };
            assert_eq!(covered(&db.sql), format!("{whole}{TOP}|{TOP}"), "next {next}");
            if whole.is_empty() {
                same(&database_as_read(&db.sql), &before, "before anything is whole");
                assert_eq!(sink.metrics().ledgers(), 0);
            }
            assert!(!sink.coverage().contains(15));
        }
        let (loading, rows) = sink.loading();
        assert!(loading == 5 + 8 && rows > loading, "{loading} ledgers, {rows} rows");
        sink.finish().unwrap();
        assert_eq!(sink.loading(), (0, 0));
        same(&database_as_read(&db.sql), &expected, "at the end");
        assert_eq!(leftovers(&db.sql), [""; 0]);
        assert!(sink.coverage().contains(15) && sink.coverage().contains(47) && !sink.coverage().contains(48));
        assert_eq!((sink.metrics().ledgers(), sink.metrics().partitions_attached()), (33, 4));
        // What comes later of a partition that is there is inserted.
        sink.commit(&mut ledgers(48..50)).unwrap();
        assert_eq!((covered(&db.sql), sink.loading()), (format!("15|49 {TOP}|{TOP}"), (0, 0)));
    }
}

#[test]
fn whatever_step_it_dies_at() {
    if !postgres_installed("whatever_step_it_dies_at") {
        return;
    }
    let all: Vec<u32> = (15..32).collect();
    let expected = inserted(&[&all]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    for n in 0.. {
        let db = database();
        drop(tip(&db));
        let (steps, list) = (AtomicUsize::new(0), Arc::clone(&seen));
        let dying = with_steps(&backfill(&db), move |step| {
            list.lock().unwrap().push(step);
            if steps.fetch_add(1, Ordering::Relaxed) == n { StepAction::Die } else { StepAction::GoOn }
        });
        let work = |sink: &mut PostgresSink| {
            let there = sink.coverage();
            for batch in all.chunks(7) {
                sink.commit(&mut ledgers(batch.iter().copied().filter(|sequence| !there.contains(*sequence))))?;
            }
            sink.finish()
        };
        let mut sink = PostgresSink::open(dying).unwrap();
        let died = work(&mut sink);
        drop(sink);
        let mut sink = PostgresSink::open(backfill(&db)).unwrap();
        assert_eq!(leftovers(&db.sql), [""; 0], "step {n}");
        let rows = "SELECT DISTINCT ledger_number FROM transactions WHERE NOT ledger_is_committed(ledger_number)";
        assert_eq!(db.sql.rows(rows), [""; 0], "step {n}");
        work(&mut sink).unwrap();
        same(&database_as_read(&db.sql), &expected, &format!("step {n}"));
        if died.is_ok() {
            break;
        }
        assert_eq!(died.unwrap_err().code(), "ended-by-test");
    }
    let seen = seen.lock().unwrap();
    for step in BULK_STEPS.into_iter().chain([Step::Committed, Step::Copying("operations")]) {
        assert!(seen.contains(&step), "{step:?} was never reached");
    }
}

#[test]
fn goes_on_over_lost_connections() {
    if !postgres_installed("goes_on_over_lost_connections") {
        return;
    }
    let all: Vec<u32> = (15..38).collect();
    let expected = inserted(&[&all]);
    let db = database();
    drop(tip(&db));
    let steps = AtomicUsize::new(0);
    let url = db.config.url.clone();
    // Every third step or so: by itself, or since somebody ends all its sessions.
    let losing = with_steps(&backfill(&db), move |_| match steps.fetch_add(1, Ordering::Relaxed) % 7 {
        1 => StepAction::LoseConnection,
        4 => {
            let url = url.clone();
            let end = move || {
                Sql::connect(&url).run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'starmill' AND datname = current_database()",
                );
            };
            std::thread::spawn(end).join().unwrap();
            StepAction::GoOn
        }
        _ => StepAction::GoOn,
    });
    let mut sink = PostgresSink::open(losing).unwrap();
    for batch in all.chunks(3) {
        sink.commit(&mut ledgers(batch.iter().copied())).unwrap();
    }
    sink.finish().unwrap();
    assert!(sink.metrics().retries() > 5);
    same(&database_as_read(&db.sql), &expected, "at the end");
    assert_eq!(leftovers(&db.sql), [""; 0]);
}

#[test]
fn newest_first_in_blocks() {
    if !postgres_installed("newest_first_in_blocks") {
        return;
    }
    let expected = inserted(&[&(15..61).collect::<Vec<_>>()]);
    let db = database();
    drop(tip(&db));
    let mut sink = PostgresSink::open(backfill(&db)).unwrap();
    // Each block ends in the middle of a day, which the next one fills up from below.
    for lo in [55, 45, 35, 25, 15] {
        for from in (lo..61.min(lo + 10)).step_by(4) {
            sink.commit(&mut ledgers(from..61.min(lo + 10).min(from + 4))).unwrap();
        }
    }
    sink.finish().unwrap();
    assert_eq!(sink.metrics().partitions_attached(), 6, "each day in one go");
    same(&database_as_read(&db.sql), &expected, "at the end");
}

#[test]
fn only_what_is_below_the_top_and_has_no_partition() {
    if !postgres_installed("only_what_is_below_the_top_and_has_no_partition") {
        return;
    }
    let db = database();
    // Nothing is covered: current state moves forward, so nothing goes in bulk.
    let mut sink = PostgresSink::open(backfill(&db)).unwrap();
    sink.commit(&mut ledgers(41..45)).unwrap();
    assert_eq!((covered(&db.sql), sink.loading()), ("41|44".to_owned(), (0, 0)));
    // 28-29 and 30-39 are of days that are not there, 40 of one that is, 45-47 above the top.
    sink.commit(&mut ledgers((28..41).chain(45..48))).unwrap();
    assert_eq!((covered(&db.sql), sink.loading().0), ("30|47".to_owned(), 2));
    assert_eq!(db.sql.one("SELECT balance FROM native_balances"), "47");
    assert_eq!(sink.metrics().partitions_attached(), 1, "the day between, which is whole");
    sink.finish().unwrap();
    assert_eq!(covered(&db.sql), "28|47");
    let inserted = {
        let db = database();
        let mut sink = PostgresSink::open(inserting(&db)).unwrap();
        sink.commit(&mut ledgers(41..45)).unwrap();
        sink.commit(&mut ledgers((28..41).chain(45..48))).unwrap();
        database_as_read(&db.sql)
    };
    same(&database_as_read(&db.sql), &inserted, "at the end");
    // A batch that was committed cannot be again, in either way; one that was loaded is there.
    assert_eq!(sink.commit(&mut ledgers(30..32)).unwrap_err().code(), "ledger-covered-already");
    sink.commit(&mut ledgers(11..13)).unwrap();
    sink.commit(&mut ledgers(11..13)).unwrap();
    assert_eq!(sink.commit(&mut ledgers(12..14)).unwrap_err().code(), "ledger-covered-already");
    assert_eq!(sink.loading().0, 2);
    assert_eq!(sink.gathering_from(), Some(11));
    sink.finish().unwrap();
    assert_eq!((covered(&db.sql), sink.gathering_from()), ("11|12 28|47".to_owned(), None));
}

#[test]
fn a_tip_beside_it_is_not_held_up() {
    if !postgres_installed("a_tip_beside_it_is_not_held_up") {
        return;
    }
    let expected = inserted(&[&[11, 12, 13, 14, 15, 16, 17, 18, 19, 25, 26]]);
    let db = database();
    let mut tip = tip(&db);
    let other = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&other);
    // At each step of the backfill the tip writes: into the same partition, before it is attached and while it is.
    let config = with_steps(&backfill(&db), move |step| {
        if step == Step::Indexed
            && let Some(sink) = slot.lock().unwrap().take()
        {
            let write = move |mut sink: PostgresSink| sink.commit(&mut ledgers([26])).unwrap();
            std::thread::spawn(move || write(sink)).join().unwrap();
        }
        StepAction::GoOn
    });
    let mut sink = PostgresSink::open(config).unwrap();
    sink.commit(&mut ledgers(13..17)).unwrap();
    // The ledgers that are being loaded are the backfill's; all others of the partition are the tip's to write.
    assert_eq!(tip.commit(&mut ledgers([16])).unwrap_err().code(), "ledger-pending");
    assert_eq!(tip.retain(DAY + 50 * DAY_SECONDS).unwrap(), Retained::default(), "nothing is dropped under it");
    tip.commit(&mut ledgers([11, 12, 17])).unwrap();
    assert_eq!(covered(&db.sql), format!("11|12 17|17 {TOP}|{TOP}"));
    sink.commit(&mut ledgers([18, 19, 25])).unwrap();
    *other.lock().unwrap() = Some(tip);
    sink.finish().unwrap();
    assert_eq!(covered(&db.sql), format!("11|19 25|26 {TOP}|{TOP}"));
    same(&database_as_read(&db.sql), &expected, "at the end");
    assert_eq!(leftovers(&db.sql), [""; 0]);
}

#[test]
fn a_dead_backfill_is_in_nobodys_way() {
    if !postgres_installed("a_dead_backfill_is_in_nobodys_way") {
        return;
    }
    let db = database();
    let mut first = tip(&db);
    let mut sink = PostgresSink::open(backfill(&db)).unwrap();
    sink.commit(&mut ledgers(13..17)).unwrap();
    // While it lives, a tip that opens leaves it alone.
    first.reopen().unwrap();
    assert_eq!(first.commit(&mut ledgers([16])).unwrap_err().code(), "ledger-pending");
    drop(sink);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !leftovers(&db.sql).is_empty() {
        assert!(std::time::Instant::now() < until);
        first.reopen().unwrap();
    }
    first.commit(&mut ledgers([16])).unwrap();
    // A backfill that another one has taken the place of loses what it had loaded, and says so.
    let mut sink = PostgresSink::open(backfill(&db)).unwrap();
    sink.commit(&mut ledgers(23..27)).unwrap();
    db.sql.run(&format!("SELECT pg_terminate_backend({})", status(&db.config.url, RowCounts::Estimated).unwrap().backfill_pid.unwrap()));
    drop(PostgresSink::open(backfill(&db)).unwrap());
    assert_eq!(sink.commit(&mut ledgers([27])).unwrap_err().code(), "bulk-lost");
    assert_eq!(sink.finish().unwrap_err().code(), "bulk-lost");
    assert_eq!(covered(&db.sql), format!("16|16 {TOP}|{TOP}"));
}
