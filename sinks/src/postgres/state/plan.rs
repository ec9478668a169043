//! What a batch comes to: its ledgers are walked in their order, rows of contracts that are not known are left out, entries are netted, and what
//! remains is encoded. Reads the batch and what is known, changes neither.

use std::collections::BTreeMap;

use starmill_ledger::rows::{AssetId, Entry, EntryOp, StateChangeIds, Stream};
use starmill_ledger::{AddressBytes, Network};

use super::super::copy::Encoded;
use super::super::copy::state::{LedgerState, StateRows};
use super::super::copy::state_change::renumber;
use super::columns::Columns;
use super::encode::{self, Ids};
use super::known::{Known, Learned, View};
use super::latest::latest;
use super::tables::{
    CONTRACT_TOKENS, LIQUIDITY_POOL_BALANCES, LIQUIDITY_POOLS, NATIVE_BALANCES, PROTOCOL_CONTRACTS, PROTOCOL_WASMS, SAC_BALANCES,
    SEP41_ALLOWANCES, SEP41_BALANCES, STATE_TABLES, TRUSTLINE_ASSETS, TRUSTLINE_BALANCES,
};

/// What is to be written. Buffers are kept from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Rows to write, in the order of [`STATE_TABLES`].
    pub(crate) upserts: [Columns; STATE_TABLES.len()],
    /// Keys of rows to remove, in the same order.
    pub(crate) deletes: [Columns; STATE_TABLES.len()],
    /// Rows of `state_changes` that SEP-41 events gave.
    pub(crate) sep41_history: Encoded,
    /// What the batch teaches.
    pub(crate) learned: Learned,
    /// SAC balances left out because their contract is not known to be an asset contract.
    pub(crate) sac_balances_dropped: u64,
    /// Ledgers that are newer than all that is covered, and the last of them.
    pub(crate) forward: u32,
    pub(crate) last_ledger: u32,
    sac_balances: Vec<usize>,
    sep41_allowances: Vec<usize>,
    protocol_contracts: BTreeMap<[u8; 32], [u8; 32]>,
    order: Vec<(u64, usize)>,
    ids: Ids,
}

impl Plan {
    /// Makes the plan of a batch. `covered` is the highest ledger whose rows are durable, 0 if none: ledgers up to it add history alone.
    /// `unmarked` is the ledger of rows that came without any.
    pub(crate) fn make(&mut self, known: &Known, network: &Network, rows: &StateRows, covered: u32, unmarked: u32) {
        self.clear();
        let mut learned = std::mem::take(&mut self.learned);
        let mut view = View { known, learned: &mut learned };
        for ledger in rows.ledgers(unmarked) {
            if ledger.sequence > covered {
                self.forward += 1;
                self.last_ledger = ledger.sequence;
                self.assets(&mut view, network, &ledger);
                self.sac_balances(&mut view, &ledger);
                self.protocols(&mut view, &ledger);
            } else {
                // SEP-41 tokens are those that are known today: what an old ledger deploys is not learned, or the order of runs would show.
                self.sep41_history(&ledger, |contract| view.is_sep41(contract));
            }
        }
        self.learned = learned;
        self.net(rows, covered);
    }

    fn clear(&mut self) {
        self.upserts.iter_mut().chain(&mut self.deletes).for_each(Columns::clear);
        self.sep41_history.bytes.clear();
        self.sep41_history.rows = 0;
        self.learned = Learned::default();
        (self.sac_balances_dropped, self.forward, self.last_ledger) = (0, 0, 0);
        self.sac_balances.clear();
        self.sep41_allowances.clear();
        self.protocol_contracts.clear();
    }

    /// New assets, and the tokens whose instance a ledger shows.
    fn assets(&mut self, view: &mut View<'_>, network: &Network, ledger: &LedgerState<'_>) {
        for asset in ledger.trustline_assets {
            if view.add_asset(network, *asset) {
                encode::trustline_asset(&mut self.upserts[TRUSTLINE_ASSETS], asset, &mut self.ids);
            }
        }
        for token in ledger.sac_tokens {
            self.sac_token(view, token.contract_id, &AssetId::Credit(token.asset));
        }
    }

    fn sac_token(&mut self, view: &mut View<'_>, contract: AddressBytes, asset: &AssetId) {
        if view.add_token(contract) {
            encode::sac_token(&mut self.upserts[CONTRACT_TOKENS], &contract, asset, &mut self.ids);
        }
    }

    /// Chooses the balances of asset contracts. Anybody can deploy a contract whose entries look like theirs.
    fn sac_balances(&mut self, view: &mut View<'_>, ledger: &LedgerState<'_>) {
        for (index, row) in (ledger.sac_balances_from..).zip(ledger.sac_balances) {
            if !view.is_token(&row.contract_id) {
                let Some(asset) = view.asset(&row.contract_id) else {
                    self.sac_balances_dropped += 1;
                    continue;
                };
                self.sac_token(view, row.contract_id, &asset);
            }
            self.sac_balances.push(index);
        }
    }

    /// Code and its instances, and the SEP-41 rows of those that are tokens in this ledger.
    fn protocols(&mut self, view: &mut View<'_>, ledger: &LedgerState<'_>) {
        for wasm in ledger.protocol_wasms {
            if view.add_wasm(wasm.wasm_hash, wasm.is_sep41) {
                encode::protocol_wasm(&mut self.upserts[PROTOCOL_WASMS], &wasm.wasm_hash, wasm.is_sep41);
            }
        }
        // A contract whose code was never seen is no token in this ledger, and stays in the table what it was.
        let mut unseen = Vec::new();
        for contract in ledger.protocol_contracts {
            let address = AddressBytes::contract(&contract.contract_id);
            let Some(is_sep41) = view.wasm(&contract.wasm_hash) else {
                unseen.push(address);
                continue;
            };
            self.protocol_contracts.insert(contract.contract_id, contract.wasm_hash);
            if is_sep41 && !view.is_sep41(&address) {
                encode::sep41_token(&mut self.upserts[CONTRACT_TOKENS], &address, &mut self.ids);
            }
            view.set_sep41(address, is_sep41);
        }
        unseen.sort_unstable();
        let is_token = |contract: &AddressBytes| view.is_sep41(contract) && unseen.binary_search(contract).is_err();
        self.sep41_history(ledger, is_token);
        for delta in ledger.sep41_balances.iter().filter(|delta| is_token(&delta.contract_id)) {
            encode::sep41_balance(&mut self.upserts[SEP41_BALANCES], delta, &mut self.ids);
            encode::sep41_balance_touched(&mut self.deletes[SEP41_BALANCES], delta, &mut self.ids);
        }
        let allowances = (ledger.sep41_allowances_from..).zip(ledger.sep41_allowances);
        self.sep41_allowances.extend(allowances.filter(|(_, row)| is_token(&row.contract_id)).map(|(index, _)| index));
    }

    /// Keeps the history of tokens, numbered without gaps over the rows that are kept of each operation.
    fn sep41_history(&mut self, ledger: &LedgerState<'_>, is_token: impl Fn(&AddressBytes) -> bool) {
        let mut rest = ledger.sep41_bytes;
        let (mut place, mut ids) = (None, StateChangeIds::new(Stream::Sep41));
        for row in ledger.sep41_rows {
            let Some((bytes, after)) = rest.split_at_checked(row.len) else { break };
            rest = after;
            if !is_token(&row.contract_id) {
                continue;
            }
            if place.replace(row.place) != Some(row.place) {
                ids = StateChangeIds::new(Stream::Sep41);
            }
            let out = &mut self.sep41_history;
            let from = out.bytes.len();
            out.bytes.extend_from_slice(bytes);
            out.rows += 1;
            renumber(&mut out.bytes[from..], ids.next());
        }
    }

    /// Encodes the last row of each entry, in the order of keys.
    fn net(&mut self, rows: &StateRows, covered: u32) {
        let Self { upserts, deletes, ids, order, .. } = self;
        for (contract, wasm) in &self.protocol_contracts {
            encode::protocol_contract(&mut upserts[PROTOCOL_CONTRACTS], contract, wasm);
        }
        latest(&rows.trustline_balances, forward(&rows.trustline_balances, covered), order, |row| {
            if row.op == EntryOp::Remove {
                encode::trustline_balance_gone(&mut deletes[TRUSTLINE_BALANCES], row, ids);
            } else {
                encode::trustline_balance(&mut upserts[TRUSTLINE_BALANCES], row, ids);
            }
        });
        latest(&rows.native_balances, forward(&rows.native_balances, covered), order, |row| {
            if row.op == EntryOp::Remove {
                encode::native_balance_gone(&mut deletes[NATIVE_BALANCES], row);
            } else {
                encode::native_balance(&mut upserts[NATIVE_BALANCES], row);
            }
        });
        latest(&rows.sac_balances, self.sac_balances.iter().copied(), order, |row| {
            if row.op == EntryOp::Remove {
                encode::sac_balance_gone(&mut deletes[SAC_BALANCES], row, ids);
            } else {
                encode::sac_balance(&mut upserts[SAC_BALANCES], row, ids);
            }
        });
        latest(&rows.liquidity_pools, forward(&rows.liquidity_pools, covered), order, |row| {
            if row.op == EntryOp::Remove {
                encode::liquidity_pool_gone(&mut deletes[LIQUIDITY_POOLS], row);
            } else {
                encode::liquidity_pool(&mut upserts[LIQUIDITY_POOLS], row);
            }
        });
        latest(&rows.liquidity_pool_balances, forward(&rows.liquidity_pool_balances, covered), order, |row| {
            if row.op == EntryOp::Remove {
                encode::liquidity_pool_balance_gone(&mut deletes[LIQUIDITY_POOL_BALANCES], row);
            } else {
                encode::liquidity_pool_balance(&mut upserts[LIQUIDITY_POOL_BALANCES], row);
            }
        });
        latest(&rows.sep41_allowances, self.sep41_allowances.iter().copied(), order, |row| {
            if row.amount == 0 {
                encode::sep41_allowance_gone(&mut deletes[SEP41_ALLOWANCES], row, ids);
            } else {
                encode::sep41_allowance(&mut upserts[SEP41_ALLOWANCES], row, ids);
            }
        });
    }
}

/// Indexes of the rows of ledgers above what is covered.
fn forward<R: Entry>(rows: &[R], covered: u32) -> impl Iterator<Item = usize> {
    rows.iter().enumerate().filter(move |(_, row)| row.ledger() > covered).map(|(index, _)| index)
}
