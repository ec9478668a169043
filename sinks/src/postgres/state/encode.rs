//! Rows of current state as binary COPY into the temporary tables of [`super::tables`], and the ids that are made from names.

use std::collections::HashMap;

use starmill_ledger::rows::{
    AssetId, CreditAsset, EntryOp, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, SacBalanceRow, Sep41AllowanceRow,
    Sep41BalanceDelta, TrustlineBalanceRow,
};
use starmill_ledger::{AddressBytes, derived_id};

use super::super::copy::Encoded;
use super::super::copy::fields::{bytes_field, field, hex, integer, null, seven_decimals, text};

/// Names whose ids are held; beyond it the memo begins anew.
const IDS_MAX: usize = 65_536;

/// Ids that are dear to make: text of a key, a hash. Only looked up.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    assets: HashMap<CreditAsset, [u8; 16]>,
    contracts: HashMap<AddressBytes, [u8; 16]>,
}

impl Ids {
    fn asset(&mut self, asset: &CreditAsset) -> [u8; 16] {
        if self.assets.len() >= IDS_MAX {
            self.assets.clear();
        }
        *self.assets.entry(*asset).or_insert_with(|| derived_id::trustline_asset(asset).into_bytes())
    }

    fn contract(&mut self, contract: &AddressBytes) -> [u8; 16] {
        if self.contracts.len() >= IDS_MAX {
            self.contracts.clear();
        }
        *self.contracts.entry(*contract).or_insert_with(|| derived_id::contract_token(contract).into_bytes())
    }
}

/// Begins a row.
fn begin(out: &mut Encoded, fields: u8) -> &mut Vec<u8> {
    out.rows += 1;
    out.bytes.extend_from_slice(&[0, fields]);
    &mut out.bytes
}

/// A number in a column that has a sign. None of ours comes near its end but a SEP-41 expiration that means never.
fn int4(value: u32) -> [u8; 4] {
    i32::try_from(value).unwrap_or(i32::MAX).to_be_bytes()
}

fn removed(op: EntryOp) -> [u8; 1] {
    [u8::from(op == EntryOp::Remove)]
}

pub(crate) fn trustline_asset(out: &mut Encoded, asset: &CreditAsset, ids: &mut Ids) {
    let out = begin(out, 3);
    bytes_field(out, &ids.asset(asset));
    text(out, asset.code_text());
    text(out, AddressBytes::account(&asset.issuer).to_strkey().as_bytes());
}

/// The token of an asset contract.
pub(crate) fn sac_token(out: &mut Encoded, contract: &AddressBytes, asset: &AssetId, ids: &mut Ids) {
    let out = begin(out, 8);
    bytes_field(out, &ids.contract(contract));
    text(out, contract.to_strkey().as_bytes());
    text(out, b"SAC");
    match asset {
        AssetId::Native => {
            null(out);
            null(out);
            text(out, b"native");
            text(out, b"native");
        }
        AssetId::Credit(asset) => {
            text(out, asset.code_text());
            text(out, AddressBytes::account(&asset.issuer).to_strkey().as_bytes());
            text(out, asset.to_text().as_bytes());
            text(out, asset.code_text());
        }
    }
    bytes_field(out, &int4(7));
}

/// The token of a SEP-41 contract, of which no metadata are known.
pub(crate) fn sep41_token(out: &mut Encoded, contract: &AddressBytes, ids: &mut Ids) {
    let out = begin(out, 8);
    bytes_field(out, &ids.contract(contract));
    text(out, contract.to_strkey().as_bytes());
    text(out, b"sep41");
    (0..4).for_each(|_| null(out));
    bytes_field(out, &int4(0));
}

pub(crate) fn protocol_wasm(out: &mut Encoded, hash: &[u8; 32], is_sep41: bool) {
    let out = begin(out, 2);
    bytes_field(out, hash);
    bytes_field(out, &[u8::from(is_sep41)]);
}

pub(crate) fn protocol_contract(out: &mut Encoded, contract: &[u8; 32], wasm_hash: &[u8; 32]) {
    let out = begin(out, 2);
    bytes_field(out, contract);
    bytes_field(out, wasm_hash);
}

pub(crate) fn trustline_balance(out: &mut Encoded, row: &TrustlineBalanceRow, ids: &mut Ids) {
    let out = begin(out, 9);
    let mut block = [0; 130];
    let at = field(&mut block, 0, row.account_id.0);
    let at = field(&mut block, at, ids.asset(&row.asset));
    let at = field(&mut block, at, row.balance.to_be_bytes());
    let at = field(&mut block, at, row.trust_limit.to_be_bytes());
    let at = field(&mut block, at, row.buying_liabilities.to_be_bytes());
    let at = field(&mut block, at, row.selling_liabilities.to_be_bytes());
    let at = field(&mut block, at, int4(row.flags));
    let at = field(&mut block, at, i64::from(row.ledger).to_be_bytes());
    field(&mut block, at, removed(row.op));
    out.extend_from_slice(&block);
}

pub(crate) fn native_balance(out: &mut Encoded, row: &NativeBalanceRow) {
    let out = begin(out, 8);
    let mut block = [0; 110];
    let at = field(&mut block, 0, row.account_id.0);
    let at = field(&mut block, at, row.balance.to_be_bytes());
    let at = field(&mut block, at, row.minimum_balance.to_be_bytes());
    let at = field(&mut block, at, row.buying_liabilities.to_be_bytes());
    let at = field(&mut block, at, row.selling_liabilities.to_be_bytes());
    let at = field(&mut block, at, int4(row.num_subentries));
    let at = field(&mut block, at, i64::from(row.ledger).to_be_bytes());
    field(&mut block, at, removed(row.op));
    out.extend_from_slice(&block);
}

pub(crate) fn sac_balance(out: &mut Encoded, row: &SacBalanceRow, ids: &mut Ids) {
    let out = begin(out, 7);
    bytes_field(out, &row.account_id.0);
    bytes_field(out, &ids.contract(&row.contract_id));
    seven_decimals(out, row.balance);
    bytes_field(out, &[u8::from(row.is_authorized)]);
    bytes_field(out, &[u8::from(row.is_clawback_enabled)]);
    bytes_field(out, &int4(row.ledger));
    bytes_field(out, &removed(row.op));
}

pub(crate) fn liquidity_pool(out: &mut Encoded, row: &LiquidityPoolRow) {
    let out = begin(out, 7);
    hex(out, &row.pool_id);
    text(out, row.asset_a.to_text().as_bytes());
    bytes_field(out, &row.reserve_a.to_be_bytes());
    text(out, row.asset_b.to_text().as_bytes());
    bytes_field(out, &row.reserve_b.to_be_bytes());
    bytes_field(out, &i64::from(row.ledger).to_be_bytes());
    bytes_field(out, &removed(row.op));
}

pub(crate) fn liquidity_pool_balance(out: &mut Encoded, row: &LiquidityPoolBalanceRow) {
    let out = begin(out, 5);
    bytes_field(out, &row.account_id.0);
    hex(out, &row.pool_id);
    bytes_field(out, &row.shares.to_be_bytes());
    bytes_field(out, &i64::from(row.ledger).to_be_bytes());
    bytes_field(out, &removed(row.op));
}

pub(crate) fn sep41_balance(out: &mut Encoded, row: &Sep41BalanceDelta, ids: &mut Ids) {
    let out = begin(out, 4);
    bytes_field(out, &row.account_id.0);
    bytes_field(out, &ids.contract(&row.contract_id));
    integer(out, row.delta);
    bytes_field(out, &int4(row.ledger));
}

/// An amount of 0 removes the allowance.
pub(crate) fn sep41_allowance(out: &mut Encoded, row: &Sep41AllowanceRow, ids: &mut Ids) {
    let out = begin(out, 7);
    bytes_field(out, &row.owner_id.0);
    bytes_field(out, &row.spender_id.0);
    bytes_field(out, &ids.contract(&row.contract_id));
    integer(out, row.amount);
    bytes_field(out, &int4(row.expiration_ledger));
    bytes_field(out, &int4(row.ledger));
    bytes_field(out, &[u8::from(row.amount == 0)]);
}
