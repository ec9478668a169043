//! Commits into a real Postgres: what is sent is what is stored, a ledger is written once, a commit that fails leaves nothing.

mod support;

use std::time::{Duration, Instant};

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_ledger::AddressBytes;
use starmill_ledger::coverage::LedgerRange;
use starmill_ledger::rows::{OperationAccountRow, OperationRow, Rows as _, TransactionAccountRow, TransactionRow};
use starmill_ledger::sink::{Batch, Sink as _};
use starmill_sinks::postgres::{RowCounts, status};
use starmill_sinks::{CopyRows, PostgresSink};
use starmill_xdr as _;
use stellar_strkey as _;
use support::{DAY, Database, Sql, batch, database, ledger, postgres_installed, put_ledger};
use thiserror as _;

const HISTORY: [&str; 4] = ["transactions", "transactions_accounts", "operations", "operations_accounts"];

fn counts(db: &Database) -> [u64; 4] {
    HISTORY.map(|table| db.sql.count(table))
}

#[test]
fn stores_what_is_sent() {
    if !postgres_installed("stores_what_is_sent") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    let mut batch = Batch::<CopyRows>::new();
    // 1999-12-31 23:59:59, 0001-01-01 and the last second of 9999.
    for (sequence, closed_at, id) in [(1, 946_684_799, i64::MIN), (2, -62_135_596_800, 0), (i32::MAX as u32, 253_402_300_799, i64::MAX)] {
        batch.ledgers.push(ledger(sequence, closed_at));
        let account_id = AddressBytes([sequence.to_be_bytes()[3]; 33]);
        batch.rows.transaction(&TransactionRow {
            to_id: id,
            hash: &[0xAB; 32],
            inner_hash: &[0; 32],
            fee_charged: id,
            result_code: "TransactionResultCodeTxSuccess",
            is_fee_bump: id > 0,
            ledger: sequence,
            closed_at,
        });
        batch.rows.operation(&OperationRow {
            id,
            operation_type: "RESTORE_FOOTPRINT",
            operation_xdr: if id == 0 { &[] } else { &[0, 0xFF, 7] },
            result_code: "",
            successful: id < 0,
            ledger: sequence,
            closed_at,
        });
        batch.rows.transaction_account(&TransactionAccountRow { tx_to_id: id, account_id, closed_at });
        batch.rows.operation_account(&OperationAccountRow { operation_id: id, account_id, closed_at });
    }
    sink.commit(&mut batch).unwrap();
    let (min, max) = (i64::MIN, i64::MAX);
    let (hash, times) = ("ab".repeat(32), ["1999-12-31 23:59:59", "0001-01-01 00:00:00", "9999-12-31 23:59:59"]);
    let time = "to_char(ledger_created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')";
    let rows = |columns: &str, table: &str, id: &str| db.sql.rows(&format!("SELECT {columns}, {time} FROM {table} ORDER BY {id}"));
    assert_eq!(
        rows("to_id, encode(hash, 'hex'), fee_charged, result_code, ledger_number, is_fee_bump", "transactions", "to_id"),
        [(min, 1, "f"), (0, 2, "f"), (max, i32::MAX, "t")]
            .iter()
            .zip(times)
            .map(|((id, ledger, bump), time)| { format!("{id}|{hash}|{id}|TransactionResultCodeTxSuccess|{ledger}|{bump}|{time}") })
            .collect::<Vec<_>>()
    );
    assert_eq!(
        rows("id, operation_type, encode(operation_xdr, 'hex'), result_code, successful, ledger_number", "operations", "id"),
        [(min, 1, "00ff07", "t"), (0, 2, "-", "f"), (max, i32::MAX, "00ff07", "f")]
            .iter()
            .zip(times)
            .map(|((id, ledger, xdr, ok), time)| { format!("{id}|RESTORE_FOOTPRINT|{xdr}||{ok}|{ledger}|{time}") })
            .collect::<Vec<_>>()
    );
    let accounts: Vec<String> = [(min, 1_u8), (0, 2), (max, 255)]
        .iter()
        .zip(times)
        .map(|((id, byte), time)| format!("{id}|{}|{time}", format!("{byte:02x}").repeat(33)))
        .collect();
    assert_eq!(rows("tx_to_id, encode(account_id, 'hex')", "transactions_accounts", "tx_to_id"), accounts);
    assert_eq!(rows("operation_id, encode(account_id, 'hex')", "operations_accounts", "operation_id"), accounts);
    assert_eq!(
        db.sql.rows("SELECT relname FROM pg_class JOIN pg_inherits ON inhrelid = oid WHERE inhparent = 'operations'::regclass ORDER BY 1"),
        ["operations_p00010101", "operations_p19991231", "operations_p99991231"]
    );
}

#[test]
fn covers_what_it_committed() {
    if !postgres_installed("covers_what_it_committed") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    sink.commit(&mut Batch::new()).unwrap();
    for sequences in [5..8_u32, 20..21, 8..10, 30..31, 10..20, 25..28, 28..30] {
        sink.commit(&mut batch(sequences)).unwrap();
        let stored: Vec<String> = sink.coverage().ranges().iter().map(|range| format!("{}|{}", range.lo, range.hi)).collect();
        assert_eq!(db.sql.rows("SELECT lo, hi FROM ledger_coverage ORDER BY lo"), stored);
    }
    // What lies between the text cursors is whole: they are the ends of the highest range.
    let cursors = db.sql.rows("SELECT key, value FROM ingest_store ORDER BY key");
    assert_eq!(
        cursors,
        [
            "latest_ingest_ledger|30",
            "oldest_ingest_ledger|25",
            "protocol_SEP41_current_state_cursor|30",
            "protocol_SEP41_history_cursor|30"
        ]
    );
    let covered = sink.coverage();
    assert_eq!(covered.ranges(), [LedgerRange { lo: 5, hi: 20 }, LedgerRange { lo: 25, hi: 30 }]);
    let metrics = sink.metrics();
    assert_eq!((metrics.commits(), metrics.ledgers(), metrics.rows()), (7, 22, 22 * 80));
    assert!(metrics.bytes_sent() > 22 * 60 * 63 && metrics.postgres_time() > Duration::ZERO);
    drop(sink);

    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    assert_eq!(sink.coverage(), covered);
    assert!(sink.coverage().contains(20) && !sink.coverage().contains(21));
    assert_eq!(counts(&db), [220, 660, 220, 660]);
    // A ledger forced in a second time is refused, and would collide instead of doubling.
    let error = sink.commit(&mut batch(20..23)).unwrap_err();
    assert_eq!(error.code(), "ledger-covered-already", "{error}");
    assert!(error.to_string().contains("ledger 20 "), "{error}");
    db.sql.run("UPDATE ledger_coverage SET lo = 9 WHERE lo = 5");
    let error = sink.commit(&mut batch(7..9)).unwrap_err();
    assert_eq!((error.code(), error.sqlstate()), ("rows-exist", Some("23505")), "{error}");
    assert!(error.to_string().contains("COPY transactions, ledgers 7-8"), "{error}");
    db.sql.run("UPDATE ledger_coverage SET lo = 5 WHERE lo = 9");
    assert_eq!(counts(&db), [220, 660, 220, 660]);
    sink.commit(&mut batch(21..25)).unwrap();
    assert_eq!(sink.coverage().ranges(), [LedgerRange { lo: 5, hi: 30 }]);

    let status = status(&db.config.url, RowCounts::Exact).unwrap();
    assert_eq!((status.network.as_str(), status.coverage.gaps().len(), status.tables.len()), (support::NETWORK, 0, 17));
    let transactions = &status.tables[0];
    assert_eq!((transactions.name, transactions.rows, transactions.partitions), ("transactions", 260, 1));
    db.sql.run("ANALYZE");
    let estimated = starmill_sinks::postgres::status(&db.config.url, RowCounts::Estimated).unwrap();
    assert_eq!(estimated.tables.iter().map(|table| table.rows).take(4).collect::<Vec<_>>(), [260, 780, 260, 780]);
    assert!(transactions.bytes > 0 && status.database_bytes > transactions.bytes && status.writer_pid.is_some());
}

#[test]
fn a_batch_spans_days_and_keeps_its_order() {
    if !postgres_installed("a_batch_spans_days_and_keeps_its_order") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    let mut batch = Batch::new();
    put_ledger(&mut batch, 1, DAY - 1, 20);
    put_ledger(&mut batch, 2, DAY, 20);
    let before = batch.rows.clone();
    sink.commit(&mut batch).unwrap();
    assert_eq!((batch.rows.bytes(), batch.rows.rows()), (before.bytes(), before.rows()), "the batch is left to its owner");
    assert_eq!(
        db.sql.rows("SELECT tableoid::regclass::text AS name, count(*) FROM transactions GROUP BY 1 ORDER BY 1"),
        ["transactions_p20260617|20", "transactions_p20260618|20"]
    );
    // Sorted by account as they lie on disk.
    let stored = db.sql.rows("SELECT encode(account_id, 'hex') FROM transactions_accounts_p20260618 ORDER BY ctid");
    assert_eq!(stored.len(), 60);
    assert!(stored.is_sorted());
    // Partitions that another writer made meanwhile are known after opening.
    drop(sink);
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    batch.clear();
    put_ledger(&mut batch, 3, DAY + 1, 1);
    sink.commit(&mut batch).unwrap();
    assert_eq!(db.sql.count("transactions"), 41);
}

#[test]
fn a_refused_row_leaves_nothing() {
    if !postgres_installed("a_refused_row_leaves_nothing") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    let mut bad = batch(100..110);
    bad.rows.operation(&OperationRow {
        id: 1,
        operation_type: "NO_SUCH_OPERATION",
        operation_xdr: &[1],
        result_code: "op_success",
        successful: true,
        ledger: 109,
        closed_at: DAY + 109 * 6,
    });
    let error = sink.commit(&mut bad).unwrap_err();
    assert_eq!((error.code(), error.sqlstate()), ("row-refused", Some("23514")), "{error}");
    assert!(error.to_string().contains("COPY operations, ledgers 100-109"), "{error}");
    assert_eq!(counts(&db), [0; 4]);
    assert_eq!(db.sql.count("ledger_coverage") + db.sql.count("ingest_store"), 0);
    assert_eq!(db.sql.count("pg_inherits"), 0, "partitions go with their rows");
    assert!(!sink.coverage().contains(100));
    let mut far = batch(1..2);
    far.ledgers[0].closed_at = i64::MAX;
    assert_eq!(sink.commit(&mut far).unwrap_err().code(), "ledger-out-of-range");
    sink.commit(&mut batch(100..110)).unwrap();
    assert_eq!(counts(&db), [100, 300, 100, 300]);
}

#[test]
fn a_connection_lost_in_the_middle_leaves_nothing() {
    if !postgres_installed("a_connection_lost_in_the_middle_leaves_nothing") {
        return;
    }
    let db = database();
    let mut config = db.config.clone();
    config.retry_max = Duration::ZERO;
    let mut sink = PostgresSink::open(config).unwrap();
    sink.commit(&mut batch(1..3)).unwrap();
    // Somebody else's lock holds the COPY of operations up, so that the session is ended while rows of other tables have been sent.
    let blocker = Sql::connect(&db.config.url);
    blocker.run("BEGIN; LOCK TABLE operations IN SHARE ROW EXCLUSIVE MODE");
    let url = db.config.url.clone();
    let killer = std::thread::spawn(move || {
        let sql = Sql::connect(&url);
        let until = Instant::now() + Duration::from_secs(20);
        let waiting = "SELECT pid FROM pg_stat_activity WHERE application_name = 'starmill' AND wait_event_type = 'Lock' AND query LIKE 'COPY operations%' AND datname = current_database()";
        while sql.rows(waiting).is_empty() {
            assert!(Instant::now() < until, "the COPY never came to wait");
            std::thread::sleep(Duration::from_millis(10));
        }
        sql.one(&format!("SELECT pg_terminate_backend(pid) FROM ({waiting}) w"))
    });
    let mut next = batch(3..6);
    let sent = next.rows.clone();
    let error = sink.commit(&mut next).unwrap_err();
    assert_eq!(killer.join().unwrap(), "t");
    assert_eq!(error.code(), "connection-lost", "{error}");
    assert!(error.is_transient());
    blocker.run("ROLLBACK");
    assert_eq!(counts(&db), [20, 60, 20, 60]);
    assert_eq!(db.sql.rows("SELECT lo, hi FROM ledger_coverage"), ["1|2"]);
    assert_eq!((next.rows.rows(), next.rows.bytes()), (sent.rows(), sent.bytes()), "the batch can be sent again");
    sink.reopen().unwrap();
    assert!(sink.coverage().contains(2) && !sink.coverage().contains(3));
    sink.commit(&mut next).unwrap();
    assert_eq!(counts(&db), [50, 150, 50, 150]);
}

#[test]
fn one_writer_at_a_time() {
    if !postgres_installed("one_writer_at_a_time") {
        return;
    }
    let db = database();
    let mut quick = db.config.clone();
    quick.writer_wait = Duration::ZERO;
    let mut first = PostgresSink::open(db.config.clone()).unwrap();
    let error = PostgresSink::open(quick).unwrap_err();
    assert_eq!(error.code(), "writer-busy");
    assert!(error.to_string().contains("server process "), "{error}");
    // A writer that got past the lock all the same is fenced off by its epoch.
    db.sql.run("UPDATE starmill_writers SET epoch = epoch + 1 WHERE role = 'tip'");
    assert_eq!(first.commit(&mut batch(1..2)).unwrap_err().code(), "writer-fenced");
    assert_eq!(counts(&db), [0; 4]);
    // A writer that goes away is waited for.
    let config = db.config.clone();
    let second = std::thread::spawn(move || PostgresSink::open(config));
    std::thread::sleep(Duration::from_millis(100));
    drop(first);
    let mut second = second.join().unwrap().unwrap();
    second.commit(&mut batch(1..2)).unwrap();
    assert_eq!(db.sql.count("transactions"), 10);
}

#[test]
fn large_batches_go_in_pieces_and_keep_their_buffers() {
    if !postgres_installed("large_batches_go_in_pieces_and_keep_their_buffers") {
        return;
    }
    let db = database();
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    let mut batch = Batch::new();
    for sequence in 1..=5 {
        put_ledger(&mut batch, sequence, DAY, 6_000);
    }
    let started = Instant::now();
    sink.commit(&mut batch).unwrap();
    let metrics = sink.metrics();
    println!(
        "30,000 transactions, {} rows, {} bytes: {:?}, of it Postgres {:?}, sorting {:?}",
        metrics.rows(),
        metrics.bytes_sent(),
        started.elapsed(),
        metrics.postgres_time(),
        metrics.sort_time()
    );
    assert_eq!(counts(&db), [30_000, 90_000, 30_000, 90_000]);
}
