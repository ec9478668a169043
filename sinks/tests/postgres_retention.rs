//! Retention in a real Postgres: what is wholly too old goes, with its space and its coverage; what is covered has all its rows.

#[path = "support/state.rs"]
mod state;
mod support;

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_ledger::rows::EntryOp;
use starmill_ledger::sink::{Batch, Sink as _};
use starmill_sinks::postgres::{Retained, WriterRole};
use starmill_sinks::{CopyRows, PostgresSink};
use starmill_xdr as _;
use state::Filler;
use stellar_strkey as _;
use support::{DAY, Database, Sql, database, ledger, postgres_installed, put_ledger};
use thiserror as _;

const DAY_SECONDS: i64 = 86_400;

/// Ten ledgers of one day, of which the last two have no transactions.
fn day(n: i64, transactions: u32) -> Batch<CopyRows> {
    let mut batch = Batch::new();
    for index in 0..10_u32 {
        let sequence = u32::try_from(n).unwrap() * 10 + index;
        put_ledger(&mut batch, sequence, DAY + n * DAY_SECONDS + i64::from(index), if index < 8 { transactions } else { 0 });
    }
    batch
}

fn covered(db: &Database) -> Vec<String> {
    db.sql.rows("SELECT lo, hi FROM ledger_coverage ORDER BY lo")
}

fn cursors(db: &Database) -> String {
    db.sql.rows("SELECT value FROM ingest_store ORDER BY key").join(" ")
}

#[test]
fn space_returns_and_coverage_tells_the_truth() {
    if !postgres_installed("space_returns_and_coverage_tells_the_truth") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    for n in 1..5 {
        sink.commit(&mut day(n, 500)).unwrap();
    }
    db.sql.run("CHECKPOINT");
    let size = || db.sql.one("SELECT pg_database_size(current_database())").parse::<i64>().unwrap();
    let relations = "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = ANY (ARRAY['transactions', \
         'transactions_accounts', 'operations', 'operations_accounts', 'state_changes']::regclass[])";
    let table_size = || db.sql.one(relations).parse::<i64>().unwrap();
    let before = (size(), table_size());
    // Not wholly older: nothing goes.
    assert_eq!(sink.retain(DAY + 2 * DAY_SECONDS - 1).unwrap(), Retained::default());
    // In the middle of the third day: the first two go, to their last ledger with rows.
    let retained = sink.retain(DAY + 3 * DAY_SECONDS + 40_000).unwrap();
    assert_eq!(retained, Retained { partitions: 10, ledger_to: Some(27) });
    assert_eq!(db.sql.one("SELECT min(ledger_number), count(*) FROM operations"), "30|8000");
    assert_eq!(covered(&db), ["28|49"], "ledgers without rows have lost none");
    assert_eq!(cursors(&db), "49 28 49 49");
    assert_eq!(sink.coverage().ledgers(), 22);
    db.sql.run("CHECKPOINT");
    let after = (size(), table_size());
    assert!(after.1 * 100 < before.1 * 55 && after.1 * 100 > before.1 * 45, "half of the tables: {before:?} {after:?}");
    assert!(before.0 - after.0 > (before.1 - after.1) * 9 / 10, "and of the database: {before:?} {after:?}");
    assert_eq!(sink.metrics().partitions_dropped(), 10);
    // The newest partition stays, whatever is asked.
    assert_eq!(sink.retain(i64::MAX).unwrap(), Retained { partitions: 5, ledger_to: Some(37) });
    assert_eq!(sink.retain(i64::MAX).unwrap(), Retained::default());
    assert_eq!(covered(&db), ["38|49"]);
    // What was dropped can be written again, as history.
    let mut old = Batch::new();
    put_ledger(&mut old, 27, DAY + 2 * DAY_SECONDS, 3);
    sink.commit(&mut old).unwrap();
    assert_eq!(covered(&db), ["27|27", "38|49"]);
}

#[test]
fn after_commits_once_for_each_partition() {
    if !postgres_installed("after_commits_once_for_each_partition") {
        return;
    }
    let db = database();
    let mut config = db.config.clone();
    config.retention_days = Some(1);
    let mut sink = PostgresSink::open(config).unwrap();
    for n in 1..6 {
        sink.commit(&mut day(n, 5)).unwrap();
        assert!(sink.retention_error().is_none());
        let first = 10 * (n - 1);
        assert_eq!(
            db.sql.one("SELECT min(ledger_number), max(ledger_number) FROM transactions"),
            format!("{}|{}", first.max(10), 10 * n + 7)
        );
        assert_eq!(sink.metrics().partitions_dropped(), 5 * u64::try_from((n - 2).max(0)).unwrap());
    }
    assert_eq!(covered(&db), ["38|59"]);
    // Who reads for long is not held up: a later commit drops it.
    let reader = Sql::connect(&db.config.url);
    reader.run("BEGIN; SELECT count(*) FROM transactions");
    sink.commit(&mut day(6, 5)).unwrap();
    assert_eq!(sink.retention_error().unwrap().code(), "interrupted");
    assert_eq!(covered(&db), ["38|69"]);
    reader.run("COMMIT");
    assert_eq!(sink.retain(DAY + 5 * DAY_SECONDS).unwrap().ledger_to, Some(47));
    assert_eq!(covered(&db), ["48|69"]);
}

#[test]
fn the_other_writer_is_not_cut_off() {
    if !postgres_installed("the_other_writer_is_not_cut_off") {
        return;
    }
    let db = database();
    let mut tip = PostgresSink::open(db.config.clone()).unwrap();
    let mut config = db.config.clone();
    // Inserting, as it does where partitions are there.
    (config.role, config.bulk) = (WriterRole::Backfill, false);
    let mut newest = Filler::inside(day(5, 5), 59).native(EntryOp::Update, 1, 59);
    tip.commit(&mut newest.batch).unwrap();
    for ahead_rows_min in [u64::MAX, 0] {
        config.ahead_rows_min = ahead_rows_min;
        let mut backfill = PostgresSink::open(config.clone()).unwrap();
        let mut first = day(1, 5);
        first.ledgers.retain(|ledger| ledger.sequence < 20);
        backfill.commit(&mut first).unwrap();
        // Its partition goes while it thinks that it is there.
        tip.retain(DAY + 3 * DAY_SECONDS).unwrap();
        assert_eq!(covered(&db), ["18|19", "50|59"]);
        let mut again = Batch::new();
        put_ledger(&mut again, 12, DAY + DAY_SECONDS + 2, 5);
        backfill.commit(&mut again).unwrap();
        assert_eq!(backfill.metrics().retries(), 1);
        assert_eq!(covered(&db), ["12|12", "18|19", "50|59"]);
        // What is being written ahead stays.
        db.sql.run("INSERT INTO starmill_pending (role, lo, hi, closed_from, closed_to) VALUES ('backfill', 13, 13, to_timestamp(0), to_timestamp(0))");
        assert_eq!(tip.retain(DAY + 3 * DAY_SECONDS).unwrap_or_default(), Retained::default());
        db.sql.run("DELETE FROM starmill_pending; DELETE FROM ledger_coverage WHERE lo < 50");
        drop(backfill);
        tip.reopen().unwrap();
        tip.retain(DAY + 3 * DAY_SECONDS).unwrap();
    }
    assert_eq!(db.sql.one("SELECT balance FROM native_balances"), "59");
    tip.commit(&mut Batch { ledgers: vec![ledger(60, DAY + 5 * DAY_SECONDS + 20)], rows: CopyRows::default() }).unwrap();
    assert_eq!(covered(&db), ["50|60"]);
}
