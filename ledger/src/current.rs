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
    places: Vec<Place>,
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
        let places = &mut self.places;
        fold(&mut self.native_balances, places, |r| &r.account_id, |r| r.account_id, |r| r.op, |r| rows.native_balance(r));
        self.trustline_assets.dedup();
        self.trustline_assets.sort_unstable();
        self.trustline_assets.dedup();
        self.trustline_assets.drain(..).for_each(|asset| rows.trustline_asset(&asset));
        let trustlines = &mut self.trustline_balances;
        fold(trustlines, places, |r| &r.account_id, |r| (r.account_id, r.asset), |r| r.op, |r| rows.trustline_balance(r));
        let sac_balances = &mut self.sac_balances;
        fold(sac_balances, places, |r| &r.account_id, |r| (r.account_id, r.contract_id), |r| r.op, |r| rows.sac_balance(r));
        fold(&mut self.liquidity_pools, places, |r| &r.pool_id, |r| r.pool_id, |r| r.op, |r| rows.liquidity_pool(r));
        let shares = &mut self.liquidity_pool_balances;
        fold(shares, places, |r| &r.account_id, |r| (r.account_id, r.pool_id), |r| r.op, |r| rows.liquidity_pool_balance(r));
        first(&mut self.sac_tokens, |r| r.contract_id, |r| rows.sac_token(r));
        first(&mut self.protocol_wasms, |r| r.wasm_hash, |r| rows.protocol_wasm(r));
        self.protocol_contracts.reverse();
        first(&mut self.protocol_contracts, |r| r.contract_id, |r| rows.protocol_contract(r));
        sum(&mut self.sep41_balances, |r| rows.sep41_balance_delta(r));
        self.sep41_allowances.reverse();
        first(&mut self.sep41_allowances, |r| (r.owner_id, r.spender_id, r.contract_id), |r| rows.sep41_allowance(r));
    }
}

/// Where a step stands among those of its kind: the first eight bytes of its key, when it happened, its index.
type Place = (u64, u64, usize);

/// The last step of each entry; nothing for a removal right after the entry was made, if it was not there before the ledger.
///
/// `leading` is the beginning of the key, at least eight bytes. They decide nearly every comparison, so steps are sorted by numbers alone;
/// whole keys are compared only among those whose first bytes are the same, and that is one entry changed several times as a rule.
fn fold<R: Copy, K: Ord, L: AsRef<[u8]>>(
    steps: &mut Vec<Step<R>>,
    places: &mut Vec<Place>,
    leading: impl Fn(&R) -> &L,
    key: impl Fn(&R) -> K,
    op: impl Fn(&R) -> EntryOp,
    mut write: impl FnMut(&R),
) {
    let prefix = |row: &R| leading(row).as_ref().first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    places.clear();
    places.extend(steps.iter().enumerate().map(|(index, step)| (prefix(&step.row), step.order, index)));
    // By index last: changes of one operation keep their order.
    places.sort_unstable();
    let key = |place: &Place| key(&steps[place.2].row);
    let op = |place: &Place| op(&steps[place.2].row);
    for alike in places.chunk_by_mut(|a, b| a.0 == b.0) {
        if !alike.is_sorted_by(|a, b| key(a) == key(b)) {
            alike.sort_by_key(&key);
        }
        for entry in alike.chunk_by(|a, b| key(a) == key(b)) {
            let made_here = entry.first().is_some_and(|first| !steps[first.2].existed);
            let netted = made_here && matches!(entry, [.., before, last] if op(before) == EntryOp::Add && op(last) == EntryOp::Remove);
            if let (Some(last), false) = (entry.last(), netted) {
                write(&steps[last.2].row);
            }
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
