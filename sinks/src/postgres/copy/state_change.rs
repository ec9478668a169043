//! Rows of `state_changes` as binary COPY. Texts, numbers as text and JSON are written where they stay. Columns: docs/rows.md, state changes.

use std::io::Write as _;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use starmill_ledger::AddressBytes;
use starmill_ledger::address::version;
use starmill_ledger::rows::SignerKey;
use starmill_ledger::rows::{KeyValue, StateChangeRow};
use starmill_ledger::strkey;

use super::fields::{bytes_field, field, hex, integer, measured, null, optional, seven_decimals, storable, text};
use super::timestamp;

/// The statement; its column list is the order in which [`encode`] writes.
pub(super) const COPY: &str = "COPY state_changes (to_id, state_change_id, state_change_category, state_change_reason, ledger_created_at, \
     ledger_number, account_id, operation_id, token_id, amount, signer_account_id, spender_account_id, creator_account_id, \
     destination_account_id, liquidity_pool_id, signer_weight_old, signer_weight_new, threshold, threshold_old, threshold_new, \
     trustline_limit_old, trustline_limit_new, flags, data_entry_name, key_value, to_muxed_id) FROM STDIN (FORMAT binary)";
const COLUMNS: u8 = 26;
/// Where the eight bytes of `state_change_id` stand in a row.
const ID_AT: usize = 18;
/// Version byte that opens binary jsonb.
const JSONB_VERSION: u8 = 1;

/// Appends a row.
pub(crate) fn encode(out: &mut Vec<u8>, row: &StateChangeRow<'_>) {
    let mut head = [0; 26];
    head[1] = COLUMNS;
    let at = field(&mut head, 2, row.place.to_id.to_be_bytes());
    field(&mut head, at, row.state_change_id.to_be_bytes());
    out.extend_from_slice(&head);
    bytes_field(out, row.category.name().as_bytes());
    bytes_field(out, row.reason.name().as_bytes());
    let mut block = [0; 69];
    let at = field(&mut block, 0, timestamp(row.place.closed_at));
    let at = field(&mut block, at, row.place.ledger.to_be_bytes());
    let at = field(&mut block, at, row.account_id.0);
    field(&mut block, at, row.place.operation_id.to_be_bytes());
    out.extend_from_slice(&block);
    optional(out, address(row.token_id));
    or_null(out, row.amount, integer);
    optional(out, row.signer.map(|key| signer(&key)));
    optional(out, address(row.spender_account_id));
    optional(out, address(row.creator_account_id));
    optional(out, address(row.destination_account_id));
    or_null(out, row.liquidity_pool_id, hex);
    optional(out, row.signer_weight_old.map(i16::to_be_bytes));
    optional(out, row.signer_weight_new.map(i16::to_be_bytes));
    or_null(out, row.threshold, |out, threshold| bytes_field(out, threshold.name().as_bytes()));
    optional(out, row.threshold_old.map(i16::to_be_bytes));
    optional(out, row.threshold_new.map(i16::to_be_bytes));
    or_null(out, row.trustline_limit_old, integer);
    or_null(out, row.trustline_limit_new, |out, limit| seven_decimals(out, limit.into()));
    optional(out, row.flags.map(i16::to_be_bytes));
    or_null(out, row.data_entry_name, text);
    or_null(out, row.key_value.as_ref(), key_value);
    or_null(out, row.to_muxed_id, integer);
}

/// Gives an encoded row another id.
pub(crate) fn renumber(row: &mut [u8], state_change_id: i64) {
    if let Some(id) = row.get_mut(ID_AT..ID_AT + 8) {
        id.copy_from_slice(&state_change_id.to_be_bytes());
    }
}

fn or_null<T>(out: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    match value {
        Some(value) => write(out, value),
        None => null(out),
    }
}

fn address(address: Option<AddressBytes>) -> Option<[u8; 33]> {
    address.map(|address| address.0)
}

/// Version byte and key; of a signed payload the key alone.
fn signer(key: &SignerKey<'_>) -> [u8; 33] {
    let (version, key) = match key {
        SignerKey::Ed25519(key) => (version::ACCOUNT, *key),
        SignerKey::PreAuthTx(hash) => (version::PRE_AUTH_TX, *hash),
        SignerKey::HashX(hash) => (version::HASH_X, *hash),
        SignerKey::Ed25519SignedPayload(signed) => (version::SIGNED_PAYLOAD, signed.ed25519),
    };
    AddressBytes::new(version, key).0
}

/// Binary jsonb: a version byte and the text.
fn key_value(out: &mut Vec<u8>, value: &KeyValue<'_>) {
    measured(out, |out| {
        out.push(JSONB_VERSION);
        // Writing to a Vec cannot fail, nor can serializing a text.
        match *value {
            KeyValue::Texts { old, new } => sides(out, old, new, |out, side| {
                let _ = serde_json::to_writer(out, &*storable(side));
            }),
            KeyValue::Base64 { old, new } => sides(out, old, new, |out, side| {
                let _ = write!(out, "\"{}\"", Base64Display::new(side, &STANDARD));
            }),
            KeyValue::LiveUntilLedger(ledger) => {
                let _ = write!(out, "{{\"live_until_ledger\":{ledger}}}");
            }
            KeyValue::Signer(key) => match strkey::signer_key(&key) {
                Some(key) => _ = write!(out, "{{\"signer\":\"{key}\"}}"),
                None => out.extend_from_slice(b"{\"signer\":null}"),
            },
        }
    });
}

/// An object of what was and what is, each left out where there is none.
fn sides(out: &mut Vec<u8>, old: Option<&[u8]>, new: Option<&[u8]>, write: impl Fn(&mut Vec<u8>, &[u8])) {
    out.push(b'{');
    if let Some(old) = old {
        out.extend_from_slice(b"\"old\":");
        write(out, old);
    }
    if let Some(new) = new {
        out.extend_from_slice(if old.is_some() { b",\"new\":" } else { b"\"new\":" });
        write(out, new);
    }
    out.push(b'}');
}
