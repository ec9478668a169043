//! Rows of current state as the columns of [`super::tables`], and the ids that are made from names.

use std::collections::HashMap;

use starmill_ledger::rows::{
    AssetId, CreditAsset, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, SacBalanceRow, Sep41AllowanceRow, Sep41BalanceDelta,
    TrustlineBalanceRow,
};
use starmill_ledger::{AddressBytes, derived_id};

use super::super::copy::fields::{bytes_field, hex, integer, null, seven_decimals, text};
use super::columns::Columns;

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

fn address(out: &mut Vec<u8>, value: &AddressBytes) {
    bytes_field(out, &value.0);
}

fn int8(out: &mut Vec<u8>, value: i64) {
    bytes_field(out, &value.to_be_bytes());
}

/// A number in a column that has a sign. None of ours comes near its end but a SEP-41 expiration that means never.
fn int4(out: &mut Vec<u8>, value: u32) {
    bytes_field(out, &i32::try_from(value).unwrap_or(i32::MAX).to_be_bytes());
}

fn boolean(out: &mut Vec<u8>, value: bool) {
    bytes_field(out, &[u8::from(value)]);
}

fn strkey(out: &mut Vec<u8>, value: &AddressBytes) {
    bytes_field(out, value.to_strkey().as_bytes());
}

pub(crate) fn trustline_asset(out: &mut Columns, asset: &CreditAsset, ids: &mut Ids) {
    let [id, code, issuer, ..] = out.row();
    bytes_field(id, &ids.asset(asset));
    text(code, asset.code_text());
    strkey(issuer, &AddressBytes::account(&asset.issuer));
}

/// The token of an asset contract.
pub(crate) fn sac_token(out: &mut Columns, contract: &AddressBytes, asset: &AssetId, ids: &mut Ids) {
    let [id, contract_id, kind, code, issuer, name, symbol, decimals] = out.row();
    bytes_field(id, &ids.contract(contract));
    strkey(contract_id, contract);
    text(kind, b"SAC");
    text(name, asset.to_text().as_bytes());
    match asset {
        AssetId::Native => {
            null(code);
            null(issuer);
            text(symbol, b"native");
        }
        AssetId::Credit(asset) => {
            text(code, asset.code_text());
            strkey(issuer, &AddressBytes::account(&asset.issuer));
            text(symbol, asset.code_text());
        }
    }
    int4(decimals, 7);
}

/// The token of a SEP-41 contract, of which no metadata are known.
pub(crate) fn sep41_token(out: &mut Columns, contract: &AddressBytes, ids: &mut Ids) {
    let [id, contract_id, kind, code, issuer, name, symbol, decimals] = out.row();
    bytes_field(id, &ids.contract(contract));
    strkey(contract_id, contract);
    text(kind, b"sep41");
    [code, issuer, name, symbol].into_iter().for_each(null);
    int4(decimals, 0);
}

pub(crate) fn protocol_wasm(out: &mut Columns, hash: &[u8; 32], is_sep41: bool) {
    let [wasm_hash, protocol_id, ..] = out.row();
    bytes_field(wasm_hash, hash);
    if is_sep41 { text(protocol_id, b"SEP41") } else { null(protocol_id) }
}

pub(crate) fn protocol_contract(out: &mut Columns, contract: &[u8; 32], wasm: &[u8; 32]) {
    let [contract_id, wasm_hash, ..] = out.row();
    bytes_field(contract_id, contract);
    bytes_field(wasm_hash, wasm);
}

pub(crate) fn trustline_balance(out: &mut Columns, row: &TrustlineBalanceRow, ids: &mut Ids) {
    let [account_id, asset_id, balance, trust_limit, buying, selling, flags, ledger] = out.row();
    address(account_id, &row.account_id);
    bytes_field(asset_id, &ids.asset(&row.asset));
    int8(balance, row.balance);
    int8(trust_limit, row.trust_limit);
    int8(buying, row.buying_liabilities);
    int8(selling, row.selling_liabilities);
    int4(flags, row.flags);
    int8(ledger, row.ledger.into());
}

pub(crate) fn trustline_balance_gone(out: &mut Columns, row: &TrustlineBalanceRow, ids: &mut Ids) {
    let [account_id, asset_id, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    bytes_field(asset_id, &ids.asset(&row.asset));
    int8(ledger, row.ledger.into());
}

pub(crate) fn native_balance(out: &mut Columns, row: &NativeBalanceRow) {
    let [account_id, balance, minimum, buying, selling, subentries, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    int8(balance, row.balance);
    int8(minimum, row.minimum_balance);
    int8(buying, row.buying_liabilities);
    int8(selling, row.selling_liabilities);
    int4(subentries, row.num_subentries);
    int8(ledger, row.ledger.into());
}

pub(crate) fn native_balance_gone(out: &mut Columns, row: &NativeBalanceRow) {
    let [account_id, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    int8(ledger, row.ledger.into());
}

pub(crate) fn sac_balance(out: &mut Columns, row: &SacBalanceRow, ids: &mut Ids) {
    let [account_id, contract_id, balance, authorized, clawback, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    bytes_field(contract_id, &ids.contract(&row.contract_id));
    seven_decimals(balance, row.balance);
    boolean(authorized, row.is_authorized);
    boolean(clawback, row.is_clawback_enabled);
    int4(ledger, row.ledger);
}

pub(crate) fn sac_balance_gone(out: &mut Columns, row: &SacBalanceRow, ids: &mut Ids) {
    let [account_id, contract_id, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    bytes_field(contract_id, &ids.contract(&row.contract_id));
    int4(ledger, row.ledger);
}

pub(crate) fn liquidity_pool(out: &mut Columns, row: &LiquidityPoolRow) {
    let [pool_id, asset_a, amount_a, asset_b, amount_b, ledger, ..] = out.row();
    hex(pool_id, &row.pool_id);
    text(asset_a, row.asset_a.to_text().as_bytes());
    int8(amount_a, row.reserve_a);
    text(asset_b, row.asset_b.to_text().as_bytes());
    int8(amount_b, row.reserve_b);
    int8(ledger, row.ledger.into());
}

pub(crate) fn liquidity_pool_gone(out: &mut Columns, row: &LiquidityPoolRow) {
    let [pool_id, ledger, ..] = out.row();
    hex(pool_id, &row.pool_id);
    int8(ledger, row.ledger.into());
}

pub(crate) fn liquidity_pool_balance(out: &mut Columns, row: &LiquidityPoolBalanceRow) {
    let [account_id, pool_id, shares, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    hex(pool_id, &row.pool_id);
    int8(shares, row.shares);
    int8(ledger, row.ledger.into());
}

pub(crate) fn liquidity_pool_balance_gone(out: &mut Columns, row: &LiquidityPoolBalanceRow) {
    let [account_id, pool_id, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    hex(pool_id, &row.pool_id);
    int8(ledger, row.ledger.into());
}

pub(crate) fn sep41_balance(out: &mut Columns, row: &Sep41BalanceDelta, ids: &mut Ids) {
    let [account_id, contract_id, delta, ledger, ..] = out.row();
    address(account_id, &row.account_id);
    bytes_field(contract_id, &ids.contract(&row.contract_id));
    integer(delta, row.delta);
    int4(ledger, row.ledger);
}

/// A balance that is gone if it has come to 0.
pub(crate) fn sep41_balance_touched(out: &mut Columns, row: &Sep41BalanceDelta, ids: &mut Ids) {
    let [account_id, contract_id, ..] = out.row();
    address(account_id, &row.account_id);
    bytes_field(contract_id, &ids.contract(&row.contract_id));
}

pub(crate) fn sep41_allowance(out: &mut Columns, row: &Sep41AllowanceRow, ids: &mut Ids) {
    let [owner_id, spender_id, contract_id, amount, expiration, ledger, ..] = out.row();
    address(owner_id, &row.owner_id);
    address(spender_id, &row.spender_id);
    bytes_field(contract_id, &ids.contract(&row.contract_id));
    integer(amount, row.amount);
    int4(expiration, row.expiration_ledger);
    int4(ledger, row.ledger);
}

pub(crate) fn sep41_allowance_gone(out: &mut Columns, row: &Sep41AllowanceRow, ids: &mut Ids) {
    let [owner_id, spender_id, contract_id, ledger, ..] = out.row();
    address(owner_id, &row.owner_id);
    address(spender_id, &row.spender_id);
    bytes_field(contract_id, &ids.contract(&row.contract_id));
    int4(ledger, row.ledger);
}
