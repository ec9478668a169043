//! Current state, folded: of all changes of an entry in a ledger the last one counts.
//!
//! The process stage collects changes chunk by chunk; at the end of a ledger, when all are together, the fold nets them and writes one row an
//! entry. An entry that ends removed is a REMOVE, also if the ledger itself made it, which then removes no row; only if it was made in the
//! ledger and the removal came right after, there is nothing to write (docs/rows.md, current state). Rows come out sorted by key.

use crate::rows::{
    CreditAsset, EntryOp, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, ProtocolContractRow, ProtocolWasmRow, Rows,
    SacBalanceRow, SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta, TrustlineBalanceRow,
};

/// One change of an entry.
#[derive(Clone, Copy, Debug)]
struct Step<R> {
    /// When it happened, among the changes of its entry.
    order: u64,
    /// Whether the entry was there before this change, or came back from the archive by it.
    existed: bool,
    row: R,
}

/// The changes that a chunk, or a ledger, has made so far. Buffers are kept from ledger to ledger.
#[derive(Debug, Default)]
pub struct CurrentState {
    native_balances: Vec<Step<NativeBalanceRow>>,
    trustline_assets: Vec<CreditAsset>,
    trustline_balances: Vec<Step<TrustlineBalanceRow>>,
    sac_balances: Vec<Step<SacBalanceRow>>,
    liquidity_pools: Vec<Step<LiquidityPoolRow>>,
    liquidity_pool_balances: Vec<Step<LiquidityPoolBalanceRow>>,
    sac_tokens: Vec<SacTokenRow>,
    protocol_wasms: Vec<ProtocolWasmRow>,
    protocol_contracts: Vec<ProtocolContractRow>,
    sep41_balances: Vec<Sep41BalanceDelta>,
    sep41_allowances: Vec<Sep41AllowanceRow>,
    /// Where the steps being folded come by key.
    order: Vec<(u64, usize)>,
}

/// The order of an operation's change: its TOID.
fn order_of(operation_id: i64) -> u64 {
    operation_id.unsigned_abs()
}

impl CurrentState {
    /// A change of an account. `order` ascends over fees, operations and refunds of the whole ledger, in the order in which they happened.
    pub fn native_balance(&mut self, order: u64, existed: bool, row: NativeBalanceRow) {
        self.native_balances.push(Step { order, existed, row });
    }

    /// A change of a trustline for a credit asset.
    pub fn trustline_balance(&mut self, existed: bool, row: TrustlineBalanceRow) {
        self.trustline_assets.push(row.asset);
        self.trustline_balances.push(Step { order: order_of(row.operation_id), existed, row });
    }

    /// A change of what a contract holds of an asset.
    pub fn sac_balance(&mut self, existed: bool, row: SacBalanceRow) {
        self.sac_balances.push(Step { order: order_of(row.operation_id), existed, row });
    }

    /// A change of a pool.
    pub fn liquidity_pool(&mut self, existed: bool, row: LiquidityPoolRow) {
        self.liquidity_pools.push(Step { order: order_of(row.operation_id), existed, row });
    }

    /// A change of pool shares.
    pub fn liquidity_pool_balance(&mut self, existed: bool, row: LiquidityPoolBalanceRow) {
        self.liquidity_pool_balances.push(Step { order: order_of(row.operation_id), existed, row });
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
        self.trustline_assets.append(&mut later.trustline_assets);
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
        // What is appended to a value that is dropped is forgotten; the buffers stay.
        Self::default().append(self);
    }

    /// Nets a whole ledger, writes its rows, and is empty again.
    pub fn fold<R: Rows>(&mut self, rows: &mut R) {
        let order = &mut self.order;
        fold(&mut self.native_balances, order, |r| &r.account_id, |r| r.account_id, |r| r.op, |r| rows.native_balance(r));
        self.trustline_assets.sort_unstable();
        self.trustline_assets.dedup();
        self.trustline_assets.drain(..).for_each(|asset| rows.trustline_asset(&asset));
        let trustlines = &mut self.trustline_balances;
        fold(trustlines, order, |r| &r.account_id, |r| (r.account_id, r.asset), |r| r.op, |r| rows.trustline_balance(r));
        let sac_balances = &mut self.sac_balances;
        fold(sac_balances, order, |r| &r.account_id, |r| (r.account_id, r.contract_id), |r| r.op, |r| rows.sac_balance(r));
        fold(&mut self.liquidity_pools, order, |r| &r.pool_id, |r| r.pool_id, |r| r.op, |r| rows.liquidity_pool(r));
        let shares = &mut self.liquidity_pool_balances;
        fold(shares, order, |r| &r.account_id, |r| (r.account_id, r.pool_id), |r| r.op, |r| rows.liquidity_pool_balance(r));
        first(&mut self.sac_tokens, |r| r.contract_id, |r| rows.sac_token(r));
        first(&mut self.protocol_wasms, |r| r.wasm_hash, |r| rows.protocol_wasm(r));
        self.protocol_contracts.reverse();
        first(&mut self.protocol_contracts, |r| r.contract_id, |r| rows.protocol_contract(r));
        sum(&mut self.sep41_balances, |r| rows.sep41_balance_delta(r));
        self.sep41_allowances.reverse();
        first(&mut self.sep41_allowances, |r| (r.owner_id, r.spender_id, r.contract_id), |r| rows.sep41_allowance(r));
    }
}

/// The last step of each entry; nothing for a removal right after the entry was made, if it was not there before the ledger.
///
/// `leading` is the beginning of the key, at least eight bytes: they decide nearly every comparison, and are compared as one number.
fn fold<R: Copy, K: Ord, L: AsRef<[u8]>>(
    steps: &mut Vec<Step<R>>,
    order: &mut Vec<(u64, usize)>,
    leading: impl Fn(&R) -> &L,
    key: impl Fn(&R) -> K,
    op: impl Fn(&R) -> EntryOp,
    mut write: impl FnMut(&R),
) {
    order.clear();
    let prefix = |row: &R| leading(row).as_ref().first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    order.extend(steps.iter().enumerate().map(|(index, step)| (prefix(&step.row), index)));
    // By index last: changes of one operation keep their order.
    order.sort_unstable_by(|(a_prefix, a), (b_prefix, b)| {
        let keys = || key(&steps[*a].row).cmp(&key(&steps[*b].row));
        a_prefix.cmp(b_prefix).then_with(keys).then_with(|| steps[*a].order.cmp(&steps[*b].order)).then(a.cmp(b))
    });
    for entry in order.chunk_by(|(a_prefix, a), (b_prefix, b)| a_prefix == b_prefix && key(&steps[*a].row) == key(&steps[*b].row)) {
        let op = |place: &(u64, usize)| op(&steps[place.1].row);
        let made_here = entry.first().is_some_and(|(_, first)| !steps[*first].existed);
        let netted = made_here && matches!(entry, [.., before, last] if op(before) == EntryOp::Add && op(last) == EntryOp::Remove);
        if let (Some((_, last)), false) = (entry.last(), netted) {
            write(&steps[*last].row);
        }
    }
    steps.clear();
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
