//! Rows that wait for the commit: current state, of which the last ledger of a batch counts, and SEP-41 rows, of which those count whose
//! contract is known as a token by then. Kept as they come, with a mark where each ledger begins.

use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{
    CreditAsset, Entry, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, ProtocolContractRow, ProtocolWasmRow, SacBalanceRow,
    SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta, StateChangeRow, TrustlineBalanceRow,
};

use super::state_change;

/// A candidate for `state_changes`: one row in [`StateRows::sep41_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sep41Row {
    pub(crate) contract_id: AddressBytes,
    /// TOIDs of transaction and operation, within which ids are counted.
    pub(crate) place: (i64, i64),
    /// Bytes of the row.
    pub(crate) len: usize,
}

/// The rows of one or more ledgers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateRows {
    marks: Vec<Mark>,
    pub(crate) native_balances: Vec<NativeBalanceRow>,
    pub(crate) trustline_balances: Vec<TrustlineBalanceRow>,
    pub(crate) liquidity_pools: Vec<LiquidityPoolRow>,
    pub(crate) liquidity_pool_balances: Vec<LiquidityPoolBalanceRow>,
    pub(crate) sac_balances: Vec<SacBalanceRow>,
    pub(crate) sep41_allowances: Vec<Sep41AllowanceRow>,
    pub(super) trustline_assets: Vec<CreditAsset>,
    pub(super) sac_tokens: Vec<SacTokenRow>,
    pub(super) protocol_wasms: Vec<ProtocolWasmRow>,
    pub(super) protocol_contracts: Vec<ProtocolContractRow>,
    pub(super) sep41_balances: Vec<Sep41BalanceDelta>,
    sep41_rows: Vec<Sep41Row>,
    sep41_bytes: Vec<u8>,
}

/// Where the rows of a ledger begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    sequence: u32,
    starts: Lengths,
}

/// Lengths of the lists that are read ledger by ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lengths {
    trustline_assets: usize,
    sac_tokens: usize,
    sac_balances: usize,
    protocol_wasms: usize,
    protocol_contracts: usize,
    sep41_balances: usize,
    sep41_allowances: usize,
    sep41_rows: usize,
    sep41_bytes: usize,
}

/// What one ledger has in those lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LedgerState<'a> {
    pub(crate) sequence: u32,
    pub(crate) trustline_assets: &'a [CreditAsset],
    pub(crate) sac_tokens: &'a [SacTokenRow],
    pub(crate) sac_balances: &'a [SacBalanceRow],
    /// Index of the first of them in the whole list.
    pub(crate) sac_balances_from: usize,
    pub(crate) protocol_wasms: &'a [ProtocolWasmRow],
    pub(crate) protocol_contracts: &'a [ProtocolContractRow],
    pub(crate) sep41_balances: &'a [Sep41BalanceDelta],
    pub(crate) sep41_allowances: &'a [Sep41AllowanceRow],
    /// Index of the first of them in the whole list.
    pub(crate) sep41_allowances_from: usize,
    pub(crate) sep41_rows: &'a [Sep41Row],
    /// Those rows, one after the other.
    pub(crate) sep41_bytes: &'a [u8],
}

impl StateRows {
    /// Begins a ledger.
    pub(super) fn mark(&mut self, sequence: u32) {
        self.marks.push(Mark { sequence, starts: self.lengths() });
    }

    /// Takes a SEP-41 candidate.
    pub(super) fn sep41_state_change(&mut self, contract_id: AddressBytes, row: &StateChangeRow<'_>) {
        let from = self.sep41_bytes.len();
        state_change::encode(&mut self.sep41_bytes, row);
        let place = (row.place.to_id, row.place.operation_id);
        self.sep41_rows.push(Sep41Row { contract_id, place, len: self.sep41_bytes.len() - from });
    }

    /// The ledgers in their order. Rows before the first mark count to the first ledger, and to ledger `unmarked` where there is no mark at all.
    pub(crate) fn ledgers(&self, unmarked: u32) -> impl Iterator<Item = LedgerState<'_>> {
        let end = self.lengths();
        let first = self.marks.first().map_or(unmarked, |mark| mark.sequence);
        let first = Mark { sequence: first, starts: Lengths::default() };
        let rest = self.marks.get(1..).unwrap_or_default();
        std::iter::once(first).chain(rest.iter().copied()).enumerate().map(move |(n, mark)| {
            let from = mark.starts;
            let to = rest.get(n).map_or(end, |next| next.starts);
            LedgerState {
                sequence: mark.sequence,
                trustline_assets: &self.trustline_assets[from.trustline_assets..to.trustline_assets],
                sac_tokens: &self.sac_tokens[from.sac_tokens..to.sac_tokens],
                sac_balances: &self.sac_balances[from.sac_balances..to.sac_balances],
                sac_balances_from: from.sac_balances,
                protocol_wasms: &self.protocol_wasms[from.protocol_wasms..to.protocol_wasms],
                protocol_contracts: &self.protocol_contracts[from.protocol_contracts..to.protocol_contracts],
                sep41_balances: &self.sep41_balances[from.sep41_balances..to.sep41_balances],
                sep41_allowances: &self.sep41_allowances[from.sep41_allowances..to.sep41_allowances],
                sep41_allowances_from: from.sep41_allowances,
                sep41_rows: &self.sep41_rows[from.sep41_rows..to.sep41_rows],
                sep41_bytes: &self.sep41_bytes[from.sep41_bytes..to.sep41_bytes],
            }
        })
    }

    fn lengths(&self) -> Lengths {
        Lengths {
            trustline_assets: self.trustline_assets.len(),
            sac_tokens: self.sac_tokens.len(),
            sac_balances: self.sac_balances.len(),
            protocol_wasms: self.protocol_wasms.len(),
            protocol_contracts: self.protocol_contracts.len(),
            sep41_balances: self.sep41_balances.len(),
            sep41_allowances: self.sep41_allowances.len(),
            sep41_rows: self.sep41_rows.len(),
            sep41_bytes: self.sep41_bytes.len(),
        }
    }

    pub(super) fn append(&mut self, later: &mut Self) {
        let base = self.lengths();
        self.marks.extend(later.marks.drain(..).map(|mark| Mark { starts: mark.starts.after(&base), ..mark }));
        self.native_balances.append(&mut later.native_balances);
        self.trustline_balances.append(&mut later.trustline_balances);
        self.liquidity_pools.append(&mut later.liquidity_pools);
        self.liquidity_pool_balances.append(&mut later.liquidity_pool_balances);
        self.sac_balances.append(&mut later.sac_balances);
        self.sep41_allowances.append(&mut later.sep41_allowances);
        self.trustline_assets.append(&mut later.trustline_assets);
        self.sac_tokens.append(&mut later.sac_tokens);
        self.protocol_wasms.append(&mut later.protocol_wasms);
        self.protocol_contracts.append(&mut later.protocol_contracts);
        self.sep41_balances.append(&mut later.sep41_balances);
        self.sep41_rows.append(&mut later.sep41_rows);
        self.sep41_bytes.append(&mut later.sep41_bytes);
    }

    /// The rows of some of the ledgers.
    pub(super) fn only(&self, unmarked: u32, keep: impl Fn(u32) -> bool + Copy) -> Self {
        let mut some = Self {
            native_balances: entries(&self.native_balances, keep),
            trustline_balances: entries(&self.trustline_balances, keep),
            liquidity_pools: entries(&self.liquidity_pools, keep),
            liquidity_pool_balances: entries(&self.liquidity_pool_balances, keep),
            ..Self::default()
        };
        for ledger in self.ledgers(unmarked).filter(|ledger| keep(ledger.sequence)) {
            some.mark(ledger.sequence);
            some.trustline_assets.extend_from_slice(ledger.trustline_assets);
            some.sac_tokens.extend_from_slice(ledger.sac_tokens);
            some.sac_balances.extend_from_slice(ledger.sac_balances);
            some.protocol_wasms.extend_from_slice(ledger.protocol_wasms);
            some.protocol_contracts.extend_from_slice(ledger.protocol_contracts);
            some.sep41_balances.extend_from_slice(ledger.sep41_balances);
            some.sep41_allowances.extend_from_slice(ledger.sep41_allowances);
            some.sep41_rows.extend_from_slice(ledger.sep41_rows);
            some.sep41_bytes.extend_from_slice(ledger.sep41_bytes);
        }
        some
    }

    /// Forgets the rows, keeps the buffers.
    pub(super) fn clear(&mut self) {
        // What is appended to a value that is dropped is forgotten; the buffers stay.
        Self::default().append(self);
    }

    pub(super) fn rows(&self) -> u64 {
        let each = [
            self.native_balances.len(),
            self.trustline_balances.len(),
            self.liquidity_pools.len(),
            self.liquidity_pool_balances.len(),
            self.sac_balances.len(),
            self.sep41_allowances.len(),
            self.trustline_assets.len(),
            self.sac_tokens.len(),
            self.protocol_wasms.len(),
            self.protocol_contracts.len(),
            self.sep41_balances.len(),
            self.sep41_rows.len(),
        ];
        each.iter().sum::<usize>() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.native_balances.as_slice())
            + size_of_val(self.trustline_balances.as_slice())
            + size_of_val(self.liquidity_pools.as_slice())
            + size_of_val(self.liquidity_pool_balances.as_slice())
            + size_of_val(self.sac_balances.as_slice())
            + size_of_val(self.sep41_allowances.as_slice())
            + size_of_val(self.trustline_assets.as_slice())
            + size_of_val(self.sac_tokens.as_slice())
            + size_of_val(self.protocol_wasms.as_slice())
            + size_of_val(self.protocol_contracts.as_slice())
            + size_of_val(self.sep41_balances.as_slice())
            + size_of_val(self.sep41_rows.as_slice())
            + self.sep41_bytes.len()
    }
}

fn entries<R: Entry + Copy>(rows: &[R], keep: impl Fn(u32) -> bool) -> Vec<R> {
    rows.iter().filter(|row| keep(row.ledger())).copied().collect()
}

impl Lengths {
    /// The same place when `base` stands before it.
    fn after(self, base: &Self) -> Self {
        Self {
            trustline_assets: self.trustline_assets + base.trustline_assets,
            sac_tokens: self.sac_tokens + base.sac_tokens,
            sac_balances: self.sac_balances + base.sac_balances,
            protocol_wasms: self.protocol_wasms + base.protocol_wasms,
            protocol_contracts: self.protocol_contracts + base.protocol_contracts,
            sep41_balances: self.sep41_balances + base.sep41_balances,
            sep41_allowances: self.sep41_allowances + base.sep41_allowances,
            sep41_rows: self.sep41_rows + base.sep41_rows,
            sep41_bytes: self.sep41_bytes + base.sep41_bytes,
        }
    }
}
