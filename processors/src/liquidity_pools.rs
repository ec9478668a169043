//! Liquidity pools (CAP-38): their reserves after the ledger, and who holds how many shares. For every change of a pool or of a trustline
//! for pool shares by an operation, so also when a payment or an offer only trades with the pool (docs/rows.md, liquidity pools).

use starmill_ledger::changes::Change;
use starmill_ledger::rows::{AssetId, LiquidityPoolBalanceRow, LiquidityPoolRow};
use starmill_ledger::{AddressBytes, CurrentState, OperationView};
use starmill_xdr::{LiquidityPoolEntry, LiquidityPoolEntryBody, TrustLineAsset, TrustLineEntry};

use crate::entries;

/// Collects a change of a pool.
pub(crate) fn emit(view: &OperationView<'_, '_>, change: &Change<'_>, pool: &LiquidityPoolEntry<'_>, state: &mut CurrentState) {
    let LiquidityPoolEntryBody::LiquidityPoolConstantProduct(body) = pool.body;
    let row = LiquidityPoolRow {
        op: entries::op(change),
        pool_id: *pool.liquidity_pool_id,
        operation_id: view.id(),
        asset_a: AssetId::of(&body.params.asset_a),
        reserve_a: body.reserve_a,
        asset_b: AssetId::of(&body.params.asset_b),
        reserve_b: body.reserve_b,
        ledger: view.transaction.head.sequence,
    };
    state.liquidity_pool(entries::existed(change), row);
}

/// Collects a change of a trustline, if it is for pool shares.
pub(crate) fn emit_shares(view: &OperationView<'_, '_>, change: &Change<'_>, line: &TrustLineEntry<'_>, state: &mut CurrentState) {
    let TrustLineAsset::PoolShare(pool_id) = line.asset else { return };
    let row = LiquidityPoolBalanceRow {
        op: entries::op(change),
        account_id: AddressBytes::account_id(&line.account_id),
        pool_id: *pool_id,
        operation_id: view.id(),
        shares: line.balance,
        ledger: view.transaction.head.sequence,
    };
    state.liquidity_pool_balance(entries::existed(change), row);
}
