//! Sequences of changes of an entry, and what is left of them.

use super::*;
use crate::AddressBytes;
use crate::rows::{EntryOp, LedgerRow, OperationAccountRow, OperationRow, TransactionAccountRow, TransactionRow};
use EntryOp::{Add, Remove, Update};

/// Rows that a fold wrote.
#[derive(Default)]
struct Folded {
    native: Vec<NativeBalanceRow>,
    lines: Vec<TrustlineBalanceRow>,
    assets: Vec<CreditAsset>,
    sac: Vec<SacBalanceRow>,
    pools: usize,
    shares: usize,
    tokens: Vec<SacTokenRow>,
    wasms: Vec<ProtocolWasmRow>,
    contracts: Vec<ProtocolContractRow>,
    deltas: Vec<Sep41BalanceDelta>,
    allowances: Vec<Sep41AllowanceRow>,
}

impl Rows for Folded {
    fn ledger(&mut self, _: &LedgerRow) {}
    fn transaction(&mut self, _: &TransactionRow<'_>) {}
    fn operation(&mut self, _: &OperationRow<'_>) {}
    fn transaction_account(&mut self, _: &TransactionAccountRow) {}
    fn operation_account(&mut self, _: &OperationAccountRow) {}
    fn native_balance(&mut self, row: &NativeBalanceRow) {
        self.native.push(*row);
    }
    fn trustline_asset(&mut self, asset: &CreditAsset) {
        self.assets.push(*asset);
    }
    fn trustline_balance(&mut self, row: &TrustlineBalanceRow) {
        self.lines.push(*row);
    }
    fn sac_balance(&mut self, row: &SacBalanceRow) {
        self.sac.push(*row);
    }
    fn liquidity_pool(&mut self, _: &LiquidityPoolRow) {
        self.pools += 1;
    }
    fn liquidity_pool_balance(&mut self, _: &LiquidityPoolBalanceRow) {
        self.shares += 1;
    }
    fn sac_token(&mut self, row: &SacTokenRow) {
        self.tokens.push(*row);
    }
    fn protocol_wasm(&mut self, row: &ProtocolWasmRow) {
        self.wasms.push(*row);
    }
    fn protocol_contract(&mut self, row: &ProtocolContractRow) {
        self.contracts.push(*row);
    }
    fn sep41_balance_delta(&mut self, row: &Sep41BalanceDelta) {
        self.deltas.push(*row);
    }
    fn sep41_allowance(&mut self, row: &Sep41AllowanceRow) {
        self.allowances.push(*row);
    }
    fn append(&mut self, _: &mut Self) {}
    fn rows(&self) -> u64 {
        0
    }
    fn bytes(&self) -> usize {
        0
    }
    fn clear(&mut self) {}
}

fn folded(mut state: CurrentState) -> Folded {
    let mut rows = Folded::default();
    state.fold(&mut rows);
    let mut again = Folded::default();
    state.fold(&mut again);
    assert!(again.native.is_empty() && again.lines.is_empty() && again.assets.is_empty(), "a fold leaves nothing behind");
    rows
}

fn account(name: u8) -> AddressBytes {
    AddressBytes::account(&[name; 32])
}

fn asset(name: u8) -> CreditAsset {
    CreditAsset { code: [name; 12], code_size: 12, issuer: [name; 32] }
}

fn native(name: u8, op: EntryOp, balance: i64) -> NativeBalanceRow {
    NativeBalanceRow {
        op,
        account_id: account(name),
        balance,
        minimum_balance: 0,
        buying_liabilities: 0,
        selling_liabilities: 0,
        num_subentries: 0,
        ledger: 1,
    }
}

fn line(op: EntryOp, operation_id: i64, balance: i64) -> TrustlineBalanceRow {
    TrustlineBalanceRow {
        op,
        account_id: account(1),
        asset: asset(1),
        operation_id,
        balance,
        trust_limit: 0,
        buying_liabilities: 0,
        selling_liabilities: 0,
        flags: 0,
        ledger: 1,
    }
}

/// What is left of changes of one account, pushed with these orders. The entry was there before each but a creation.
fn left(changes: &[(EntryOp, u64)]) -> Option<(EntryOp, i64)> {
    let mut state = CurrentState::default();
    for (op, order) in changes {
        // The balance tells which change a row is of.
        state.native_balance(*order, *op != Add, native(1, *op, i64::try_from(*order).unwrap()));
    }
    let rows = folded(state).native;
    assert!(rows.len() <= 1);
    rows.first().map(|row| (row.op, row.balance))
}

#[test]
fn the_last_change_counts() {
    assert_eq!(left(&[(Add, 1), (Update, 2), (Update, 3)]), Some((Update, 3)));
    assert_eq!(left(&[(Update, 1), (Remove, 2)]), Some((Remove, 2)));
    assert_eq!(left(&[(Remove, 1), (Add, 2)]), Some((Add, 2)));
    assert_eq!(left(&[(Add, 1)]), Some((Add, 1)));
    assert_eq!(left(&[(Remove, 1)]), Some((Remove, 1)));
}

#[test]
fn an_entry_made_and_removed_in_the_ledger_leaves_nothing() {
    assert_eq!(left(&[(Add, 1), (Remove, 2)]), None);
    assert_eq!(left(&[(Add, 1), (Remove, 2), (Add, 3), (Remove, 4)]), None);
}

#[test]
fn changed_in_between_it_leaves_a_removal_that_removes_nothing() {
    assert_eq!(left(&[(Add, 1), (Update, 2), (Remove, 3)]), Some((Remove, 3)));
}

#[test]
fn an_entry_that_was_there_and_ends_removed_is_removed() {
    assert_eq!(left(&[(Remove, 1), (Add, 2), (Remove, 3)]), Some((Remove, 3)));
    assert_eq!(left(&[(Update, 1), (Remove, 2), (Add, 3), (Remove, 4)]), Some((Remove, 4)));
}

#[test]
fn an_entry_restored_and_removed_is_removed() {
    let mut state = CurrentState::default();
    state.trustline_balance(true, line(Add, 7, 1));
    state.trustline_balance(true, line(Remove, 7, 2));
    assert_eq!(folded(state).lines, [line(Remove, 7, 2)]);
}

#[test]
fn the_order_of_pushes_is_of_no_matter() {
    assert_eq!(left(&[(Remove, 6), (Add, 5)]), None);
    assert_eq!(left(&[(Add, 5), (Remove, 6), (Update, 3)]), Some((Remove, 6)));
    assert_eq!(left(&[(Add, 5), (Remove, 6), (Add, 9)]), Some((Add, 9)));
    let (fee, operation, refund) = ((Update, 1), (Update, 2), (Update, 3));
    assert_eq!(left(&[operation, fee]), Some((Update, 2)));
    for changes in [[fee, operation, refund], [refund, operation, fee], [operation, refund, fee]] {
        assert_eq!(left(&changes), Some((Update, 3)));
    }
}

#[test]
fn of_changes_in_one_operation_the_later_counts() {
    let mut state = CurrentState::default();
    state.trustline_balance(false, line(Add, 7, 1));
    state.trustline_balance(true, line(Update, 7, 2));
    assert_eq!(folded(state).lines, [line(Update, 7, 2)]);
}

#[test]
fn an_entry_may_be_made_in_one_chunk_and_removed_in_a_later_one() {
    let (mut state, mut later) = (CurrentState::default(), CurrentState::default());
    state.trustline_balance(false, line(Add, 7, 1));
    later.trustline_balance(true, line(Remove, 8, 2));
    state.append(&mut later);
    let rows = folded(state);
    // The asset was there all the same.
    assert_eq!((rows.lines, rows.assets), (Vec::new(), vec![asset(1)]));
    assert!(folded(later).assets.is_empty());
}

#[test]
fn entries_are_told_apart_and_sorted_by_key() {
    let mut state = CurrentState::default();
    for (order, name) in [(1, 3), (2, 1), (3, 2)] {
        state.native_balance(order, true, native(name, Update, 0));
    }
    assert_eq!(folded(state).native, [1, 2, 3].map(|name| native(name, Update, 0)));

    let mut state = CurrentState::default();
    let row = |account_id, contract_id| SacBalanceRow {
        op: Update,
        account_id,
        contract_id,
        operation_id: 7,
        balance: 0,
        is_authorized: true,
        is_clawback_enabled: false,
        ledger: 1,
    };
    let all = [(1, 1), (1, 2), (2, 1)].map(|(holder, contract)| row(account(holder), account(contract)));
    for row in all.iter().rev() {
        state.sac_balance(true, *row);
    }
    assert_eq!(folded(state).sac, all);

    // Changes of one holder's entries in turn: the same first bytes, and each entry's own last change.
    let mut state = CurrentState::default();
    let at = |contract, operation_id, balance| SacBalanceRow { operation_id, balance, ..row(account(1), account(contract)) };
    for (contract, operation_id, balance) in [(3, 5, 1), (1, 6, 2), (3, 9, 3), (2, 7, 4), (1, 8, 5), (3, 7, 6)] {
        state.sac_balance(true, at(contract, operation_id, balance));
    }
    assert_eq!(folded(state).sac, [at(1, 8, 5), at(2, 7, 4), at(3, 9, 3)]);
}

#[test]
fn pools_and_shares_by_pool() {
    let mut state = CurrentState::default();
    for pool in [1, 1, 2] {
        state.liquidity_pool(
            true,
            LiquidityPoolRow {
                op: Update,
                pool_id: [pool; 32],
                operation_id: 7,
                asset_a: crate::rows::AssetId::Native,
                reserve_a: 1,
                asset_b: crate::rows::AssetId::Native,
                reserve_b: 1,
                ledger: 1,
            },
        );
        let shares =
            LiquidityPoolBalanceRow { op: Update, account_id: account(1), pool_id: [pool; 32], operation_id: 7, shares: 1, ledger: 1 };
        state.liquidity_pool_balance(true, shares);
    }
    let rows = folded(state);
    assert_eq!((rows.pools, rows.shares), (2, 2));
}

#[test]
fn of_tokens_and_code_the_first_counts_and_of_contracts_the_last() {
    let mut state = CurrentState::default();
    let token = |contract, of| SacTokenRow { contract_id: account(contract), asset: asset(of) };
    let wasm = |hash, bytecode_len| ProtocolWasmRow { wasm_hash: [hash; 32], bytecode_len, is_sep41: false };
    let contract = |id, wasm| ProtocolContractRow { contract_id: [id; 32], wasm_hash: [wasm; 32] };
    for row in [token(2, 1), token(1, 1), token(2, 9)] {
        state.sac_token(row);
    }
    for row in [wasm(2, 1), wasm(1, 1), wasm(2, 9)] {
        state.protocol_wasm(row);
    }
    for row in [contract(2, 1), contract(1, 1), contract(2, 9)] {
        state.protocol_contract(row);
    }
    let rows = folded(state);
    assert_eq!(rows.tokens, [token(1, 1), token(2, 1)]);
    assert_eq!(rows.wasms, [wasm(1, 1), wasm(2, 1)]);
    assert_eq!(rows.contracts, [contract(1, 1), contract(2, 9)]);
}

#[test]
fn token_movements_are_summed_and_the_last_allowance_counts() {
    let mut state = CurrentState::default();
    let delta = |name, delta| Sep41BalanceDelta { account_id: account(name), contract_id: account(9), delta, ledger: 1 };
    for row in [delta(2, -5), delta(1, 4), delta(2, 8)] {
        state.sep41_balance(row);
    }
    let allowance = |amount| Sep41AllowanceRow {
        owner_id: account(1),
        spender_id: account(2),
        contract_id: account(9),
        amount,
        expiration_ledger: 1,
        ledger: 1,
    };
    for row in [allowance(1), allowance(2)] {
        state.sep41_allowance(row);
    }
    let rows = folded(state);
    assert_eq!((rows.deltas, rows.allowances), (vec![delta(1, 4), delta(2, 3)], vec![allowance(2)]));
}

#[test]
fn a_sum_that_does_not_fit_is_told_in_parts() {
    let mut state = CurrentState::default();
    let delta = |delta| Sep41BalanceDelta { account_id: account(1), contract_id: account(9), delta, ledger: 1 };
    for row in [i128::MAX, 1, i128::MAX, -7] {
        state.sep41_balance(delta(row));
    }
    let rows = folded(state);
    assert_eq!(rows.deltas, [delta(i128::MAX), delta(1), delta(i128::MAX - 7)]);
}

#[test]
fn a_ledger_that_failed_leaves_nothing() {
    let mut state = CurrentState::default();
    state.native_balance(1, true, native(1, Update, 0));
    state.trustline_balance(true, line(Update, 7, 1));
    state.clear();
    let rows = folded(state);
    assert!(rows.native.is_empty() && rows.lines.is_empty() && rows.assets.is_empty());
}

/// What is left of changes of one account when all are kept and sorted by order, the later pushed last: the rule as docs/rows.md has it.
fn left_of_sorted(changes: &[(EntryOp, u64, bool)]) -> Option<NativeBalanceRow> {
    let mut sorted: Vec<_> = changes.iter().enumerate().collect();
    sorted.sort_by_key(|(index, (_, order, _))| (*order, *index));
    let (_, (_, _, existed)) = *sorted.first()?;
    let nothing = matches!(sorted[..], [.., (_, (Add, ..)), (_, (Remove, ..))]) && !*existed;
    sorted.last().filter(|_| !nothing).map(|(index, (op, ..))| native(1, *op, *index as i64))
}

proptest::proptest! {
    #[test]
    fn netting_as_changes_come_is_netting_all_of_them(
        changes in proptest::collection::vec((proptest::sample::select(vec![Add, Update, Remove]), 0_u64..6, proptest::bool::ANY), 0..8),
        chunks in 1_usize..5,
    ) {
        let mut parts: Vec<_> = (0..chunks).map(|_| CurrentState::default()).collect();
        for (index, (op, order, existed)) in changes.iter().enumerate() {
            parts[index * chunks / changes.len()].native_balance(*order, *existed, native(1, *op, index as i64));
        }
        let mut whole = CurrentState::default();
        for part in &mut parts {
            whole.append(part);
        }
        proptest::prop_assert_eq!(folded(whole).native, Vec::from_iter(left_of_sorted(&changes)));
    }
}
