//! State changes and current state as JSON lines; the golden format like the rest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use starmill_ledger::rows::{ContractEventsRow, EntryOp, KeyValue, StateChangeRow, Threshold};
use starmill_ledger::strkey;

/// A JSON object under construction; keys come out sorted.
pub(super) struct Object(Map<String, Value>);

impl Object {
    pub(super) fn new() -> Self {
        Self(Map::new())
    }

    pub(super) fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    pub(super) fn set_if(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// The line: the table first, then the keys.
    pub(super) fn line(self, table: &str) -> String {
        let keys = Value::Object(self.0).to_string();
        format!("{{\"t\":\"{table}\",{}", &keys[1..])
    }
}

/// The name of what a ledger did to an entry; accounts are created where other entries are added.
pub(super) fn op(op: EntryOp, account: bool) -> &'static str {
    match op {
        EntryOp::Add if account => "CREATE",
        EntryOp::Add => "ADD",
        EntryOp::Update => "UPDATE",
        EntryOp::Remove => "REMOVE",
    }
}

/// An amount with seven decimals.
pub(crate) fn seven_decimals(amount: i128) -> String {
    let (sign, digits) = (if amount < 0 { "-" } else { "" }, amount.unsigned_abs());
    format!("{sign}{}.{:07}", digits / 10_000_000, digits % 10_000_000)
}

/// The JSON of a row's `key_value`.
pub(crate) fn key_value(value: &KeyValue<'_>) -> Value {
    let sides = |old: Option<&[u8]>, new: Option<&[u8]>, text: &dyn Fn(&[u8]) -> String| {
        let object = Object::new().set_if("old", old.map(text)).set_if("new", new.map(text));
        Value::Object(object.0)
    };
    match *value {
        KeyValue::Texts { old, new } => sides(old, new, &|bytes| String::from_utf8_lossy(bytes).into_owned()),
        KeyValue::Base64 { old, new } => sides(old, new, &|bytes| STANDARD.encode(bytes)),
        KeyValue::LiveUntilLedger(ledger) => json!({ "live_until_ledger": ledger }),
        KeyValue::Signer(key) => json!({ "signer": strkey::signer_key(&key) }),
    }
}

/// A state change.
pub(super) fn state_change(table: &str, row: &StateChangeRow<'_>) -> String {
    Object::new()
        .set("to_id", row.place.to_id)
        .set("operation_id", row.place.operation_id)
        .set("state_change_id", row.state_change_id)
        .set("category", row.category.name())
        .set("reason", row.reason.name())
        .set("account_id", row.account_id.to_strkey())
        .set_if("token_id", row.token_id.map(|a| a.to_strkey()))
        .set_if("amount", row.amount.map(|a| a.to_string()))
        .set_if("to_muxed_id", row.to_muxed_id.map(|id| id.to_string()))
        .set_if("signer_account_id", row.signer.and_then(|key| strkey::signer_key(&key)))
        .set_if("spender_account_id", row.spender_account_id.map(|a| a.to_strkey()))
        .set_if("creator_account_id", row.creator_account_id.map(|a| a.to_strkey()))
        .set_if("destination_account_id", row.destination_account_id.map(|a| a.to_strkey()))
        .set_if("liquidity_pool_id", row.liquidity_pool_id.map(hex::encode))
        .set_if("signer_weight_old", row.signer_weight_old)
        .set_if("signer_weight_new", row.signer_weight_new)
        .set_if("threshold", row.threshold.map(Threshold::name))
        .set_if("threshold_old", row.threshold_old)
        .set_if("threshold_new", row.threshold_new)
        .set_if("trustline_limit_old", row.trustline_limit_old.map(|l| l.to_string()))
        .set_if("trustline_limit_new", row.trustline_limit_new.map(|l| seven_decimals(l.into())))
        .set_if("flags", row.flags)
        .set_if("data_entry_name", row.data_entry_name.map(|name| String::from_utf8_lossy(name).into_owned()))
        .set_if("key_value", row.key_value.as_ref().map(key_value))
        .line(table)
}

/// Events of an operation: how many, and the first bytes of the SHA-256 of their XDR in a row.
pub(super) fn contract_events(row: &ContractEventsRow<'_>) -> String {
    let mut sha = Sha256::new();
    row.events.iter().for_each(|event| sha.update(event.bytes));
    Object::new()
        .set("tx_index", row.tx_index)
        .set("op_index", row.op_index)
        .set("count", row.events.len())
        .set("events_xdr_sha256_8", hex::encode(&sha.finalize()[..8]))
        .line("contract_events")
}
