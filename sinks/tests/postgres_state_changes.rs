//! `state_changes` in a real Postgres: every column, at the ends of its range, read back as text.

mod support;

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{Category, KeyValue, Place, Reason, Rows as _, StateChangeRow, Threshold};
use starmill_ledger::sink::{Batch, Sink as _};
use starmill_sinks::{CopyRows, PostgresSink};
use starmill_xdr::{SignerKey, SignerKeyEd25519SignedPayload};
use stellar_strkey as _;
use support::{database, ledger, postgres_installed};
use thiserror as _;

const COLUMNS: &str = "to_id, operation_id, state_change_id, state_change_category, state_change_reason, ledger_number, \
    extract(epoch FROM ledger_created_at)::bigint, encode(account_id, 'hex'), encode(token_id, 'hex'), amount, encode(signer_account_id, 'hex'), \
    encode(spender_account_id, 'hex'), encode(creator_account_id, 'hex'), encode(destination_account_id, 'hex'), liquidity_pool_id, \
    signer_weight_old, signer_weight_new, threshold, threshold_old, threshold_new, trustline_limit_old, trustline_limit_new, flags, \
    data_entry_name, key_value, to_muxed_id";

const PLACE: Place = Place { to_id: 7, operation_id: 8, ledger: 9, closed_at: 1_700_000_000 };

fn address(version: u8, fill: u8) -> AddressBytes {
    AddressBytes::new(version, &[fill; 32])
}

/// Commits rows and reads them back by id.
fn stored(rows: &[StateChangeRow<'_>]) -> Vec<String> {
    let db = database();
    let mut sink = PostgresSink::open(db.config.clone()).unwrap();
    let mut batch = Batch::<CopyRows>::new();
    for row in rows {
        if batch.ledgers.last().is_none_or(|ledger| ledger.sequence != row.place.ledger) {
            batch.ledgers.push(ledger(row.place.ledger, row.place.closed_at));
            batch.rows.ledger(&batch.ledgers[batch.ledgers.len() - 1]);
        }
        batch.rows.state_change(row);
    }
    sink.commit(&mut batch).unwrap();
    assert_eq!(batch.rows.rows(), rows.len() as u64);
    // As they lie on disk: in arrival order.
    db.sql.rows(&format!("SELECT {COLUMNS} FROM state_changes ORDER BY tableoid, ctid"))
}

#[test]
fn every_column_at_its_ends() {
    if !postgres_installed("every_column_at_its_ends") {
        return;
    }
    let low = Place { to_id: i64::MIN, operation_id: i64::MIN, ledger: 1, closed_at: -62_135_596_800 };
    let high = Place { to_id: i64::MAX, operation_id: i64::MAX, ledger: i32::MAX as u32, closed_at: 253_402_300_799 };
    let mut least = StateChangeRow::new(low, i64::MIN, Category::BalanceAuthorization, Reason::Credit, address(0x30, 0));
    least.amount = Some(i128::MIN);
    least.signer = Some(SignerKey::HashX(&[0; 32]));
    least.signer_weight_old = Some(i16::MIN);
    least.signer_weight_new = Some(i16::MIN);
    least.threshold = Some(Threshold::Low);
    least.threshold_old = Some(i16::MIN);
    least.threshold_new = Some(i16::MIN);
    least.trustline_limit_old = Some(i64::MIN);
    least.trustline_limit_new = Some(i64::MIN);
    least.flags = Some(i16::MIN);
    least.data_entry_name = Some(b"");
    least.key_value = Some(KeyValue::Texts { old: None, new: None });
    least.to_muxed_id = Some(0);
    let mut most = StateChangeRow::new(high, i64::MAX, Category::SignatureThreshold, Reason::Update, address(0x58, 0xFF));
    most.token_id = Some(address(0x10, 1));
    most.amount = Some(i128::MAX);
    most.signer = Some(SignerKey::PreAuthTx(&[2; 32]));
    most.spender_account_id = Some(address(0x30, 3));
    most.creator_account_id = Some(address(0x10, 4));
    most.destination_account_id = Some(address(0x08, 5));
    most.liquidity_pool_id = Some(&[0xAB; 32]);
    most.signer_weight_old = Some(i16::MAX);
    most.signer_weight_new = Some(255);
    most.threshold = Some(Threshold::High);
    most.threshold_old = Some(i16::MAX);
    most.threshold_new = Some(0);
    most.trustline_limit_old = Some(i64::MAX);
    most.trustline_limit_new = Some(i64::MAX);
    most.flags = Some(127);
    most.data_entry_name = Some(b"a name of any length, with \"quotes\" and \\");
    most.key_value = Some(KeyValue::LiveUntilLedger(u32::MAX));
    most.to_muxed_id = Some(u64::MAX);
    let (min, max) = (i64::MIN, i64::MAX);
    let fill = |version: &str, byte: &str| format!("{version}{}", byte.repeat(32));
    assert_eq!(
        stored(&[least, most]),
        [
            format!(
                "{min}|{min}|{min}|BALANCE_AUTHORIZATION|CREDIT|1|-62135596800|{}|-|{}|{}|-|-|-|-|-32768|-32768|LOW|-32768|-32768|{min}|\
                 -922337203685.4775808|-32768||{{}}|0",
                fill("30", "00"),
                i128::MIN,
                fill("b8", "00")
            ),
            format!(
                "{max}|{max}|{max}|SIGNATURE_THRESHOLD|UPDATE|2147483647|253402300799|{}|{}|{}|{}|{}|{}|{}|{}|32767|255|HIGH|32767|0|{max}|\
                 922337203685.4775807|127|a name of any length, with \"quotes\" and \\|{{\"live_until_ledger\": 4294967295}}|{}",
                fill("58", "ff"),
                fill("10", "01"),
                i128::MAX,
                fill("98", "02"),
                fill("30", "03"),
                fill("10", "04"),
                fill("08", "05"),
                "ab".repeat(32),
                u64::MAX
            ),
        ]
    );
}

#[test]
fn what_is_absent_is_null() {
    if !postgres_installed("what_is_absent_is_null") {
        return;
    }
    let row = |id, category, reason| StateChangeRow::new(PLACE, id, category, reason, address(0x30, 1));
    // Ids descend: the order is that of arrival.
    let rows = [row(2, Category::Account, Reason::Merge), row(1, Category::Trustline, Reason::Add)];
    let account = format!("30{}", "01".repeat(32));
    let nulls = ["-"; 18].join("|");
    assert_eq!(
        stored(&rows),
        [format!("7|8|2|ACCOUNT|MERGE|9|1700000000|{account}|{nulls}"), format!("7|8|1|TRUSTLINE|ADD|9|1700000000|{account}|{nulls}")]
    );
}

#[test]
fn every_category_and_reason_is_one_that_the_table_takes() {
    if !postgres_installed("every_category_and_reason_is_one_that_the_table_takes") {
        return;
    }
    let categories = [
        Category::Balance,
        Category::Account,
        Category::Signer,
        Category::SignatureThreshold,
        Category::DataEntry,
        Category::HomeDomain,
        Category::Allowance,
        Category::Flags,
        Category::Trustline,
        Category::BalanceAuthorization,
        Category::Balance,
    ];
    let reasons = [
        Reason::Create,
        Reason::Merge,
        Reason::Debit,
        Reason::Credit,
        Reason::Mint,
        Reason::Burn,
        Reason::Add,
        Reason::Remove,
        Reason::Update,
        Reason::Set,
        Reason::Clear,
    ];
    let rows: Vec<_> =
        (0..).zip(categories.into_iter().zip(reasons)).map(|(id, (c, r))| StateChangeRow::new(PLACE, id, c, r, address(0x30, 1))).collect();
    assert_eq!(stored(&rows).len(), 11);
}

#[test]
fn limits_json_and_signers() {
    if !postgres_installed("limits_json_and_signers") {
        return;
    }
    let payload = SignerKeyEd25519SignedPayload { ed25519: &[6; 32], payload: &[1, 2, 3] };
    let key = SignerKey::Ed25519SignedPayload(&payload);
    let mut rows = Vec::new();
    let mut put = |change: &dyn Fn(&mut StateChangeRow<'static>)| {
        let mut row = StateChangeRow::new(PLACE, rows.len() as i64, Category::DataEntry, Reason::Add, address(0x30, 1));
        change(&mut row);
        rows.push(row);
    };
    put(&|row| row.trustline_limit_new = Some(0));
    put(&|row| row.trustline_limit_new = Some(-1));
    put(&|row| row.trustline_limit_new = Some(12_345_678_901));
    put(&|row| row.key_value = Some(KeyValue::Texts { old: Some(b"a\"\\/<>&\n"), new: Some("\u{20AC}".as_bytes()) }));
    put(&|row| row.key_value = Some(KeyValue::Texts { old: None, new: Some(b"x\0y\xFF") }));
    put(&|row| row.key_value = Some(KeyValue::Base64 { old: Some(&[]), new: Some(&[0xFF; 64]) }));
    put(&|row| row.key_value = Some(KeyValue::Base64 { old: Some(&[0xFB, 0xEF]), new: None }));
    put(&|row| row.data_entry_name = Some(b"x\0\xC3\xA9\xFF"));
    let mut rows: Vec<StateChangeRow<'_>> = rows;
    let mut signer = StateChangeRow::new(PLACE, 90, Category::Signer, Reason::Add, address(0x30, 1));
    (signer.signer, signer.key_value) = (Some(key), Some(KeyValue::Signer(key)));
    rows.push(signer);
    signer.state_change_id = 91;
    (signer.signer, signer.key_value) = (Some(SignerKey::Ed25519(&[7; 32])), None);
    rows.push(signer);
    let stored = stored(&rows);
    let column = |row: usize, column: usize| stored[row].split('|').nth(column).unwrap().to_owned();
    let (limit, name, json, signer) = (21, 23, 24, 10);
    assert_eq!([column(0, limit), column(1, limit), column(2, limit)], ["0.0000000", "-0.0000001", "1234.5678901"]);
    assert_eq!(column(3, json), r#"{"new": "€", "old": "a\"\\/<>&\n"}"#);
    assert_eq!(column(4, json), "{\"new\": \"x\u{FFFD}y\u{FFFD}\"}");
    assert_eq!(column(5, json), format!(r#"{{"new": "{}/w==", "old": ""}}"#, "/".repeat(84)));
    assert_eq!(column(6, json), r#"{"old": "++8="}"#);
    assert_eq!(column(7, name), "x\u{FFFD}é\u{FFFD}");
    assert_eq!(column(8, signer), format!("78{}", "06".repeat(32)));
    let text = starmill_ledger::strkey::signer_key(&key).unwrap();
    assert!(text.starts_with('P'));
    assert_eq!(column(8, json), format!(r#"{{"signer": "{text}"}}"#));
    assert_eq!((column(9, signer), column(9, json)), (format!("30{}", "07".repeat(32)), "-".to_owned()));
}
