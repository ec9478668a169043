//! SEP-41 tokens in a real Postgres: which contracts count from which ledger on, sums of balances, the end of allowances.

#[path = "support/state.rs"]
mod made;
mod support;

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use made::{Filler, contract};
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_ledger::sink::Sink as _;
use starmill_sinks::PostgresSink;
use stellar_strkey as _;
use support::{Database, database, postgres_installed};
use thiserror as _;

fn open(db: &Database) -> PostgresSink {
    PostgresSink::open(db.config.clone()).unwrap()
}

fn hex(byte: u8) -> String {
    format!("{byte:02x}").repeat(32)
}

const SEP41: &str = "SELECT get_byte(account_id, 1), t.type, balance, last_modified_ledger FROM sep41_balances s \
     JOIN contract_tokens t ON t.id = s.contract_id ORDER BY 1";
const ALLOWANCES: &str =
    "SELECT get_byte(spender_id, 1), amount, expiration_ledger, last_modified_ledger FROM sep41_allowances ORDER BY expiration_ledger, 1";
const SEP41_HISTORY: &str = "SELECT ledger_number, operation_id & 4095, state_change_id - (1::bigint << 40), get_byte(token_id, 1) FROM state_changes ORDER BY 1, 2, 3";

#[test]
fn sep41_rows_of_known_tokens_only() {
    if !postgres_installed("sep41_rows_of_known_tokens_only") {
        return;
    }
    let db = database();
    let mut sink = open(&db);
    let big = i128::MAX;
    let mut batch = Filler::new()
        .ledger(10)
        .sep41(9, 1)
        .delta(9, 1, 1_000)
        .allow(9, 2, 5, 500)
        // From the ledger that deploys it on, all of that ledger included.
        .ledger(11)
        .sep41(8, 1)
        .sep41(9, 1)
        .sep41(8, 1)
        .sep41(9, 1)
        .sep41(9, 2)
        .wasm(3, true)
        .wasm(4, false)
        .deploy(9, 3)
        .deploy(8, 4)
        .deploy(7, 0xEE)
        .delta(9, 1, 7)
        .delta(9, 2, big)
        .delta(9, 3, -4)
        .delta(8, 1, 1)
        .allow(9, 2, 5, 500)
        .ledger(12)
        .sep41(9, 1)
        .delta(9, 1, -7)
        .delta(9, 2, big)
        .delta(9, 4, 0);
    sink.commit(&mut batch.batch).unwrap();
    assert_eq!(db.sql.rows(SEP41_HISTORY), ["11|1|1|9", "11|1|2|9", "11|2|1|9", "12|1|1|9"]);
    // Sums have no end, a balance of 0 is none, a negative one is kept.
    let twice = format!("2|sep41|{}|12", 2 * i128::MAX.unsigned_abs());
    assert_eq!(db.sql.rows(SEP41), [twice.as_str(), "3|sep41|-4|11"]);
    assert_eq!(db.sql.rows(ALLOWANCES), ["2|5|500|11"]);
    let token = format!("{}|sep41|-|-|-|-|0", contract(9).to_strkey());
    assert_eq!(db.sql.rows("SELECT contract_id, type, code, issuer, name, symbol, decimals FROM contract_tokens"), [token]);
    let wasms = db.sql.rows("SELECT encode(wasm_hash, 'hex'), protocol_id FROM protocol_wasms ORDER BY 1");
    assert_eq!(wasms, [format!("{}|SEP41", hex(3)), format!("{}|-", hex(4))]);
    let contracts = "SELECT get_byte(contract_id, 0), get_byte(wasm_hash, 0) FROM protocol_contracts ORDER BY 1";
    assert_eq!(db.sql.rows(contracts), ["8|4", "9|3"], "code that was never seen has no row to point at");

    // Other code: no token in this ledger. Unseen code: none in this ledger, a token again after it.
    drop(sink);
    let mut sink = open(&db);
    let mut batch = Filler::new()
        .ledger(13)
        .sep41(9, 1)
        .deploy(9, 0xEE)
        .ledger(14)
        .sep41(9, 1)
        .delta(9, 2, -big)
        .ledger(15)
        .sep41(9, 1)
        .deploy(9, 4)
        .ledger(16)
        .sep41(9, 1)
        .delta(9, 3, 4)
        .ledger(17)
        .deploy(8, 3)
        .delta(8, 1, 2);
    sink.commit(&mut batch.batch).unwrap();
    assert_eq!(db.sql.rows(SEP41_HISTORY)[4..], ["14|1|1|9"]);
    assert_eq!(db.sql.rows(SEP41), ["1|sep41|2|17".to_owned(), format!("2|sep41|{big}|14"), "3|sep41|-4|11".to_owned()]);
    assert_eq!(db.sql.rows(contracts), ["8|3", "9|4"]);
    let mut zero = Filler::new().ledger(18).deploy(9, 3).delta(9, 2, -big).delta(9, 3, 5);
    sink.commit(&mut zero.batch).unwrap();
    assert_eq!(db.sql.rows(SEP41), ["1|sep41|2|17", "3|sep41|1|18"]);
}

#[test]
fn allowances_end() {
    if !postgres_installed("allowances_end") {
        return;
    }
    let db = database();
    let mut sink = open(&db);
    let mut batch =
        Filler::new().ledger(10).wasm(3, true).deploy(9, 3).allow(9, 1, 5, 10).allow(9, 2, i128::MAX, u32::MAX).allow(9, 3, 5, 11);
    sink.commit(&mut batch.batch).unwrap();
    // A ledger beyond what the column holds means never.
    let never = format!("2|{}|2147483647|10", i128::MAX);
    assert_eq!(db.sql.rows(ALLOWANCES), ["1|5|10|10", "3|5|11|10", &never]);
    let mut batch =
        Filler::new().ledger(11).allow(9, 2, 0, 0).allow(9, 4, 1, 5).allow(9, 5, 1, 20).ledger(12).allow(9, 5, 0, 20).allow(9, 6, 3, 12);
    sink.commit(&mut batch.batch).unwrap();
    assert_eq!(db.sql.rows(ALLOWANCES), ["6|3|12|12"]);
    db.sql.run(
        "INSERT INTO sep41_allowances SELECT owner_id, decode(lpad(to_hex(n), 66, '0'), 'hex'), contract_id, 1, n % 12, 1 \
         FROM sep41_allowances, generate_series(1, 2500) n",
    );
    let left = || db.sql.one("SELECT count(*), min(expiration_ledger) FROM sep41_allowances");
    sink.commit(&mut Filler::new().ledger(13).batch).unwrap();
    assert_eq!(left(), "1501|4", "a thousand a ledger, the oldest first");
    sink.commit(&mut Filler::new().ledger(5).batch).unwrap();
    assert_eq!(left(), "1501|4", "old ledgers clean nothing");
    sink.commit(&mut Filler::new().ledger(14).ledger(15).batch).unwrap();
    assert_eq!(left(), "0|-");
}
