//! Current state in a real Postgres: what a batch nets to, what it must leave alone, which asset contracts count.

#[path = "support/state.rs"]
mod made;

use std::time::Instant;
mod support;

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use made::{Filler, asset_contract, contract, tables};
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_ledger::rows::EntryOp::{Add, Remove, Update};
use starmill_ledger::rows::Rows as _;
use starmill_ledger::sink::{Batch, Sink as _};
use starmill_sinks::{CopyRows, PostgresSink};
use stellar_strkey as _;
use support::{DAY, Database, database, postgres_installed, put_ledger};
use thiserror as _;

fn open(db: &Database) -> PostgresSink {
    PostgresSink::open(db.config.clone()).unwrap()
}

fn hex(byte: u8) -> String {
    format!("{byte:02x}").repeat(32)
}

const NATIVE: &str = "SELECT get_byte(account_id, 1), balance, minimum_balance, buying_liabilities, selling_liabilities, num_subentries, \
     last_modified_ledger FROM native_balances ORDER BY 1";
const SAC: &str = "SELECT get_byte(account_id, 1), code, balance, is_authorized, is_clawback_enabled, last_modified_ledger FROM sac_balances s \
     JOIN contract_tokens t ON t.id = s.contract_id ORDER BY 1, 2";
const SEP41_HISTORY: &str = "SELECT ledger_number, operation_id & 4095, state_change_id - (1::bigint << 40), get_byte(token_id, 1) FROM state_changes ORDER BY 1, 2, 3";

#[test]
fn the_last_ledger_of_a_batch_counts() {
    if !postgres_installed("the_last_ledger_of_a_batch_counts") {
        return;
    }
    let db = database();
    let mut sink = open(&db);
    let first = Filler::new()
        .ledger(10)
        .native(Add, 2, 20)
        .native(Add, 1, 10)
        .native(Add, 3, 30)
        .trustline(Add, 1, 1, 100)
        .trustline(Add, 1, 2, 200)
        .pool(Add, 5, 500)
        .shares(Add, 1, 5, 50)
        .shares(Add, 2, 5, 60);
    sink.commit(&mut { first }.batch).unwrap();
    let mut second = Filler::new()
        .ledger(11)
        .native(Remove, 1, 0)
        .native(Update, 2, 21)
        .native(Remove, 3, 0)
        .trustline(Remove, 1, 1, 0)
        .shares(Update, 1, 5, 51)
        .ledger(12)
        .native(Update, 2, 22)
        .native(Add, 3, i64::MAX - 3)
        .native(Add, 4, 40)
        .trustline(Update, 1, 2, 202)
        .pool(Update, 5, 502)
        .pool(Add, 6, 600)
        .ledger(13)
        .native(Remove, 4, 0)
        .pool(Remove, 6, 0)
        .shares(Remove, 2, 5, 0);
    let before = second.batch.rows.clone();
    sink.commit(&mut second.batch).unwrap();
    assert_eq!(second.batch.rows, before, "the batch is left to its owner");
    assert_eq!(
        db.sql.rows(NATIVE),
        ["2|22|23|24|25|4|12".to_owned(), format!("3|{}|{}|{}|{}|4|12", i64::MAX - 3, i64::MAX - 2, i64::MAX - 1, i64::MAX)]
    );
    let trustlines = "SELECT get_byte(account_id, 1), code, balance, trust_limit, buying_liabilities, selling_liabilities, flags, last_modified_ledger \
         FROM trustline_balances JOIN trustline_assets ON id = asset_id";
    assert_eq!(db.sql.rows(trustlines), ["1|A2|202|203|204|205|5|12"]);
    // Once seen, an asset stays.
    assert_eq!(db.sql.rows("SELECT code, left(issuer, 1) FROM trustline_assets ORDER BY 1"), ["A1|G", "A2|G"]);
    let pools = db.sql.rows("SELECT pool_id, asset_a, amount_a, left(asset_b, 4), amount_b, last_modified_ledger FROM liquidity_pools");
    assert_eq!(pools, [format!("{}|native|502|A1:G|503|12", hex(5))]);
    let shares = db.sql.rows("SELECT get_byte(account_id, 1), pool_id, shares, last_modified_ledger FROM liquidity_pool_balances");
    assert_eq!(shares, [format!("1|{}|51|11", hex(5))]);
}

#[test]
fn current_state_only_moves_forward() {
    if !postgres_installed("current_state_only_moves_forward") {
        return;
    }
    let db = database();
    let mut sink = open(&db);
    let everything = |filler: Filler, n: i64, add| {
        filler
            .native(add, 1, n)
            .trustline(add, 1, 1, n)
            .sac(add, 7, asset_contract(1), n.into())
            .pool(add, 5, n)
            .shares(add, 1, 5, n)
            .wasm(3, true)
            .deploy(9, 3)
            .delta(9, 1, n.into())
            .allow(9, 2, n.into(), 1000)
    };
    sink.commit(&mut everything(Filler::new().ledger(20), 20, Add).batch).unwrap();
    let state = tables(&db.sql);
    assert_eq!(state.len(), 12);
    // Older ledgers: history alone, whatever they bring, and whoever opens the database.
    drop(sink);
    let mut sink = open(&db);
    let older = Filler::new().ledger(10).native(Add, 2, 1).trustline(Add, 1, 8, 1).wasm(4, true).deploy(8, 4).sep41(9, 1).sep41(8, 1);
    sink.commit(&mut everything(older, 10, Update).ledger(11).native(Remove, 1, 0).sep41(8, 1).delta(9, 1, 5).batch).unwrap();
    let (history, rest): (Vec<_>, Vec<_>) = tables(&db.sql).into_iter().partition(|row| row.contains("FROM state_changes"));
    assert_eq!(rest, state);
    // Of tokens that are known by now, not of those that an old ledger would make known.
    assert_eq!((history.len(), db.sql.rows(SEP41_HISTORY)), (1, vec!["10|1|1|9".to_owned()]));
    // A batch on both sides of what is covered: the newer part counts.
    let mut both = Filler::new().ledger(12).native(Add, 5, 12).native(Update, 1, 12).ledger(21).native(Update, 1, 21);
    sink.commit(&mut both.batch).unwrap();
    assert_eq!(db.sql.rows(NATIVE), ["1|21|22|23|24|4|21"]);
    // A row that is newer than the batch stays as it is.
    db.sql.run("UPDATE native_balances SET last_modified_ledger = 99");
    sink.commit(&mut Filler::new().ledger(22).native(Update, 1, 22).batch).unwrap();
    sink.commit(&mut Filler::new().ledger(23).native(Remove, 1, 0).batch).unwrap();
    assert_eq!(db.sql.rows(NATIVE), ["1|21|22|23|24|4|99"]);
}

#[test]
fn balances_of_asset_contracts_only() {
    if !postgres_installed("balances_of_asset_contracts_only") {
        return;
    }
    let db = database();
    let mut sink = open(&db);
    let mut first = Filler::new()
        .ledger(10)
        // Its instance was seen.
        .sac_token(1)
        .sac(Add, 1, asset_contract(1), 12_345_678)
        // Its asset was seen.
        .trustline(Add, 1, 2, 5)
        .sac(Add, 1, asset_contract(2), i128::MAX)
        // Looks like one.
        .sac(Add, 1, contract(0xEE), 5)
        // Its asset comes later in the batch.
        .sac(Add, 1, asset_contract(3), 6)
        .ledger(11)
        .trustline(Add, 1, 3, 5)
        .sac(Add, 2, asset_contract(3), 7);
    sink.commit(&mut first.batch).unwrap();
    let max = i128::MAX;
    let max = format!("{}.{:07}", max / 10_000_000, max % 10_000_000);
    let expected = ["1|A1|1.2345678|t|f|10".to_owned(), format!("1|A2|{max}|t|f|10"), "2|A3|0.0000007|t|f|11".to_owned()];
    assert_eq!(db.sql.rows(SAC), expected);
    assert_eq!(sink.metrics().sac_balances_dropped(), 2);
    let token = |n: u8| {
        let issuer = made::holder(n).to_strkey();
        format!("{}|SAC|A{n}|{issuer}|A{n}:{issuer}|A{n}|7", asset_contract(n).to_strkey())
    };
    let tokens = "SELECT contract_id, type, code, issuer, name, symbol, decimals FROM contract_tokens ORDER BY code";
    assert_eq!(db.sql.rows(tokens), [token(1), token(2), token(3)]);
    // What the tables say is known after opening again: a token, and an asset without one.
    sink.commit(&mut Filler::new().ledger(12).trustline(Add, 1, 4, 5).batch).unwrap();
    drop(sink);
    let mut sink = open(&db);
    let mut second = Filler::new()
        .ledger(13)
        .sac(Update, 1, asset_contract(1), 0)
        .sac(Add, 1, asset_contract(4), 8)
        .sac(Remove, 2, asset_contract(3), 0)
        .sac(Add, 3, asset_contract(5), 1);
    sink.commit(&mut second.batch).unwrap();
    assert_eq!(db.sql.rows(SAC), ["1|A1|0.0000000|t|f|13".to_owned(), expected[1].clone(), "1|A4|0.0000008|t|f|13".to_owned()]);
    assert_eq!((sink.metrics().sac_balances_dropped(), db.sql.rows(tokens).len()), (1, 4));
}

#[test]
fn a_failure_in_the_last_statement_leaves_nothing() {
    if !postgres_installed("a_failure_in_the_last_statement_leaves_nothing") {
        return;
    }
    let db = database();
    let mut sink = open(&db);
    sink.commit(&mut Filler::new().ledger(9).native(Add, 1, 9).trustline(Add, 1, 1, 9).batch).unwrap();
    let before = tables(&db.sql);
    let fill = || {
        let filler = Filler::new().ledger(10).native(Update, 1, 10).native(Add, 2, 10).trustline(Remove, 1, 1, 0).trustline(Add, 1, 2, 1);
        let filler = filler.sac(Add, 1, asset_contract(2), 1).pool(Add, 1, 1).shares(Add, 1, 1, 1).wasm(3, true).deploy(9, 3);
        filler.sep41(9, 1).delta(9, 1, 1).allow(9, 1, 1, 100)
    };
    db.sql.run(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'; \
         CREATE TRIGGER refuse BEFORE UPDATE ON ingest_store FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let error = sink.commit(&mut fill().batch).unwrap_err();
    assert!(error.to_string().contains("ledger_coverage"), "{error}");
    assert_eq!(tables(&db.sql), before);
    // Nor was anything learned from it: what it would have made known is told again.
    db.sql.run("DROP TRIGGER refuse ON ingest_store");
    sink.commit(&mut fill().batch).unwrap();
    assert_eq!(tables(&db.sql).len(), 15);
    // A balance whose asset nobody named is refused at COMMIT.
    let mut orphan = Filler::new().ledger(11).native(Update, 1, 11);
    let row = starmill_ledger::rows::TrustlineBalanceRow {
        op: Add,
        account_id: made::holder(1),
        asset: made::asset(6),
        operation_id: 0,
        balance: 0,
        trust_limit: 0,
        buying_liabilities: 0,
        selling_liabilities: 0,
        flags: 0,
        ledger: 11,
    };
    orphan.batch.rows.trustline_balance(&row);
    let error = sink.commit(&mut orphan.batch).unwrap_err();
    assert_eq!(error.sqlstate(), Some("23503"), "{error}");
    assert!(error.to_string().contains("COMMIT of ledgers 11"), "{error}");
    assert_eq!(db.sql.rows(NATIVE)[0], "1|10|11|12|13|4|10");
}

/// A ledger of pseudo-random changes of few entries, so that all of them meet.
fn random_ledger(filler: Filler, sequence: u32) -> Filler {
    let mut state = u64::from(sequence).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u8::try_from((state >> 24) % below).unwrap()
    };
    let mut filler = filler.ledger(sequence);
    // One row an entry: the fold of a ledger promises it.
    for entry in 0..4 {
        let n = next(100);
        let op = [Add, Update, Remove][usize::from(n) % 3];
        filler = match next(9) {
            0 => filler.native(op, entry, n.into()),
            1 => filler.trustline(op, entry, next(4), n.into()),
            2 => filler.sac(op, entry, asset_contract(next(6)), n.into()),
            3 => filler.pool(op, entry, n.into()),
            4 => filler.shares(op, entry, next(3), n.into()),
            5 => filler.wasm(entry, entry % 2 == 0),
            6 => filler.deploy(entry, next(6)),
            7 => filler.delta(next(4), entry, i128::from(n % 3) - 1).sep41(next(4), entry.into()),
            _ => filler.allow(next(4), entry, (n % 2).into(), sequence + 4 * u32::from(n)),
        };
    }
    filler
}

#[test]
fn however_ledgers_are_divided_into_batches() {
    if !postgres_installed("however_ledgers_are_divided_into_batches") {
        return;
    }
    let last = 150;
    let left = [1000, 7, 1].map(|size: u32| {
        let db = database();
        let mut sink = open(&db);
        let mut dropped = 0;
        for first in (1..=last).step_by(size as usize) {
            let mut filler = (first..(first + size).min(last + 1)).fold(Filler::new(), random_ledger);
            sink.commit(&mut filler.batch).unwrap();
            // What is in memory is what is in the tables.
            if size == 7 && first % 5 == 0 {
                dropped += sink.metrics().sac_balances_dropped();
                drop(sink);
                sink = open(&db);
            }
        }
        println!("batches of {size}: {:?} in commits", sink.metrics().postgres_time());
        (tables(&db.sql), dropped + sink.metrics().sac_balances_dropped())
    });
    assert!(left[0].1 > 0);
    for table in ["sep41_balances", "sep41_allowances", "sac_balances", "state_changes", "native_balances", "protocol_contracts"] {
        assert!(left[0].0.iter().any(|row| row.contains(table)), "{table} is never met");
    }
    assert_eq!(left[0], left[1]);
    assert_eq!(left[0], left[2]);
}

/// 6,000 payments a ledger, of which each gives three state changes and changes two of 20,000 accounts and two trustlines.
fn busy_ledgers(first: u32, with_state: bool) -> Batch<CopyRows> {
    let mut batch = Batch::new();
    for sequence in first..first + 5 {
        put_ledger(&mut batch, sequence, DAY, 6_000);
        let mut filler = Filler::inside(std::mem::take(&mut batch), sequence);
        for n in (0..6_000_u32).filter(|_| with_state) {
            filler = filler.payment(n);
        }
        for n in (0..12_000_u32).filter(|_| with_state) {
            filler = filler.wide_balance((sequence * 12_000 + n) % 20_000);
        }
        batch = filler.batch;
    }
    batch
}

#[test]
fn busy_ledgers_commit_in_reasonable_time() {
    if !postgres_installed("busy_ledgers_commit_in_reasonable_time") {
        return;
    }
    let mut times = [false, true].map(|with_state| {
        let db = database();
        let mut sink = open(&db);
        let times = [1, 6, 11].map(|first| {
            let mut batch = busy_ledgers(first, with_state);
            let started = Instant::now();
            sink.commit(&mut batch).unwrap();
            started.elapsed()
        });
        if with_state {
            assert_eq!(["state_changes", "native_balances", "trustline_balances"].map(|t| db.sql.count(t)), [270_000, 20_000, 20_000]);
        }
        println!("state {with_state}: {times:?} a batch, sorting and netting {:?} in all", sink.metrics().sort_time());
        times
    });
    for times in &mut times {
        times.sort();
    }
    println!("30,000 transactions: {:?}, with 90,000 state changes and 120,000 balances {:?}", times[0][0], times[1][0]);
}
