//! Current state, folded: of all changes of an entry in a ledger the last one counts.
//!
//! The process stage nets changes as they come, chunk by chunk ([`net`]); at the end of a ledger the chunks are joined and the fold writes one
//! row an entry. An entry that ends removed is a REMOVE, also if the ledger itself made it, which then removes no row; only if it was made in
//! the ledger and the removal came right after, there is nothing to write (docs/rows.md, current state). Rows come out sorted by key.

mod net;

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::rows::{
    CreditAsset, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, ProtocolContractRow, ProtocolWasmRow, Rows, SacBalanceRow,
    SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta, TrustlineBalanceRow,
};
use net::Entries;

/// The changes that a chunk, or a ledger, has made so far. Buffers are kept from ledger to ledger.
#[derive(Debug, Default)]
pub struct CurrentState {
    native_balances: Entries<NativeBalanceRow>,
    trustline_assets: HashSet<CreditAsset, RandomState>,
    trustline_balances: Entries<TrustlineBalanceRow>,
    sac_balances: Entries<SacBalanceRow>,
    liquidity_pools: Entries<LiquidityPoolRow>,
    liquidity_pool_balances: Entries<LiquidityPoolBalanceRow>,
    sac_tokens: Vec<SacTokenRow>,
    protocol_wasms: Vec<ProtocolWasmRow>,
    protocol_contracts: Vec<ProtocolContractRow>,
    sep41_balances: Vec<Sep41BalanceDelta>,
    sep41_allowances: Vec<Sep41AllowanceRow>,
    /// The assets being folded.
    assets: Vec<CreditAsset>,
}

/// The order of an operation's change: its TOID.
fn order_of(operation_id: i64) -> u64 {
    operation_id.unsigned_abs()
}

impl CurrentState {
    /// A change of an account. `order` ascends over fees, operations and refunds of the whole ledger, in the order in which they happened.
    pub fn native_balance(&mut self, order: u64, existed: bool, row: NativeBalanceRow) {
        self.native_balances.change(order, existed, row);
    }

    /// A change of a trustline for a credit asset.
    pub fn trustline_balance(&mut self, existed: bool, row: TrustlineBalanceRow) {
        if self.trustline_balances.change(order_of(row.operation_id), existed, row) {
            self.trustline_assets.insert(row.asset);
        }
    }

    /// A change of what a contract holds of an asset.
    pub fn sac_balance(&mut self, existed: bool, row: SacBalanceRow) {
        self.sac_balances.change(order_of(row.operation_id), existed, row);
    }

    /// A change of a pool.
    pub fn liquidity_pool(&mut self, existed: bool, row: LiquidityPoolRow) {
        self.liquidity_pools.change(order_of(row.operation_id), existed, row);
    }

    /// A change of pool shares.
    pub fn liquidity_pool_balance(&mut self, existed: bool, row: LiquidityPoolBalanceRow) {
        self.liquidity_pool_balances.change(order_of(row.operation_id), existed, row);
    }

    /// An asset contract; the first of a ledger counts.
    pub fn sac_token(&mut self, row: SacTokenRow) {
        self.sac_tokens.push(row);
    }

    /// Contract code; the first of a ledger counts.
    pub fn protocol_wasm(&mut self, row: ProtocolWasmRow) {
        self.protocol_wasms.push(row);
    }

    /// An instance of contract code; the last of a ledger counts.
    pub fn protocol_contract(&mut self, row: ProtocolContractRow) {
        self.protocol_contracts.push(row);
    }

    /// A movement of a SEP-41 token; all of a ledger are summed.
    pub fn sep41_balance(&mut self, row: Sep41BalanceDelta) {
        self.sep41_balances.push(row);
    }

    /// An allowance of a SEP-41 token; the last of a ledger counts.
    pub fn sep41_allowance(&mut self, row: Sep41AllowanceRow) {
        self.sep41_allowances.push(row);
    }

    /// Takes over what a later chunk of the same ledger has, and empties it.
    pub fn append(&mut self, later: &mut Self) {
        self.native_balances.append(&mut later.native_balances);
        self.trustline_assets.extend(later.trustline_assets.drain());
        self.trustline_balances.append(&mut later.trustline_balances);
        self.sac_balances.append(&mut later.sac_balances);
        self.liquidity_pools.append(&mut later.liquidity_pools);
        self.liquidity_pool_balances.append(&mut later.liquidity_pool_balances);
        self.sac_tokens.append(&mut later.sac_tokens);
        self.protocol_wasms.append(&mut later.protocol_wasms);
        self.protocol_contracts.append(&mut later.protocol_contracts);
        self.sep41_balances.append(&mut later.sep41_balances);
        self.sep41_allowances.append(&mut later.sep41_allowances);
    }

    /// Forgets what a ledger that failed has left.
    pub fn clear(&mut self) {
        self.native_balances.clear();
        self.trustline_assets.clear();
        self.trustline_balances.clear();
        self.sac_balances.clear();
        self.liquidity_pools.clear();
        self.liquidity_pool_balances.clear();
        self.sac_tokens.clear();
        self.protocol_wasms.clear();
        self.protocol_contracts.clear();
        self.sep41_balances.clear();
        self.sep41_allowances.clear();
    }

    /// Nets a whole ledger, writes its rows, and is empty again.
    pub fn fold<R: Rows>(&mut self, rows: &mut R) {
        self.native_balances.fold(|r| rows.native_balance(r));
        self.assets.extend(self.trustline_assets.drain());
        self.assets.sort_unstable();
        self.assets.drain(..).for_each(|asset| rows.trustline_asset(&asset));
        self.trustline_balances.fold(|r| rows.trustline_balance(r));
        self.sac_balances.fold(|r| rows.sac_balance(r));
        self.liquidity_pools.fold(|r| rows.liquidity_pool(r));
        self.liquidity_pool_balances.fold(|r| rows.liquidity_pool_balance(r));
        first(&mut self.sac_tokens, |r| r.contract_id, |r| rows.sac_token(r));
        first(&mut self.protocol_wasms, |r| r.wasm_hash, |r| rows.protocol_wasm(r));
        self.protocol_contracts.reverse();
        first(&mut self.protocol_contracts, |r| r.contract_id, |r| rows.protocol_contract(r));
        sum(&mut self.sep41_balances, |r| rows.sep41_balance_delta(r));
        self.sep41_allowances.reverse();
        first(&mut self.sep41_allowances, |r| (r.owner_id, r.spender_id, r.contract_id), |r| rows.sep41_allowance(r));
    }
}

/// The first of each key.
fn first<R: Copy, K: Ord>(list: &mut Vec<R>, key: impl Fn(&R) -> K, write: impl FnMut(&R)) {
    list.sort_by_key(&key);
    list.dedup_by(|later, earlier| key(later) == key(earlier));
    list.iter().for_each(write);
    list.clear();
}

/// One sum a balance; more than one row only where the sum does not fit 128 bits, and whoever adds the rows up loses nothing.
fn sum(list: &mut Vec<Sep41BalanceDelta>, mut write: impl FnMut(&Sep41BalanceDelta)) {
    list.sort_by_key(|d| (d.account_id, d.contract_id));
    for balance in list.chunk_by(|a, b| (a.account_id, a.contract_id) == (b.account_id, b.contract_id)) {
        let Some((any, rest)) = balance.split_first() else { continue };
        let mut sum = *any;
        for step in rest {
            if let Some(delta) = sum.delta.checked_add(step.delta) {
                sum.delta = delta;
            } else {
                write(&sum);
                sum.delta = step.delta;
            }
        }
        write(&sum);
    }
    list.clear();
}

#[cfg(test)]
mod tests;
