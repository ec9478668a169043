//! Current state: hands each change of an operation to the emitters of its kind of entry, in the order of the sorted changes.
//!
//! One pass for all of them, because most operations change few entries and most changes concern one emitter (docs/rows.md, current
//! state). What becomes of several changes of an entry in a ledger is settled by [`starmill_ledger::CurrentState`].

use starmill_ledger::changes::{Change, ChangeKind};
use starmill_ledger::rows::{AssetId, EntryOp, Rows};
use starmill_ledger::{LedgerError, OperationView};
use starmill_xdr::LedgerEntryData;

use crate::{Out, liquidity_pools, native_balances, protocol_contracts, protocol_wasms, sac_balances, sac_tokens, trustline_balances};

/// Collects what an operation did to entries.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, out: &mut Out<'_, R>) -> Result<(), LedgerError> {
    let Out { state, contracts, .. } = out;
    for change in view.changes()? {
        match change.entry().data {
            LedgerEntryData::Account(_) => native_balances::of_operation(view, change, state),
            LedgerEntryData::Trustline(line) => {
                trustline_balances::emit(view, change, line, state);
                liquidity_pools::emit_shares(view, change, line, state);
            }
            LedgerEntryData::LiquidityPool(pool) => liquidity_pools::emit(view, change, pool, state),
            LedgerEntryData::ContractData(data) => {
                let native = contracts.of(view.transaction.network, &AssetId::Native);
                sac_balances::emit(view, change, data, &native, state);
                if change.post.is_some() {
                    sac_tokens::emit(view, data, contracts, state);
                    protocol_contracts::emit(data, state);
                }
            }
            LedgerEntryData::ContractCode(code) if change.post.is_some() => protocol_wasms::emit(code, state),
            _ => {}
        }
    }
    Ok(())
}

/// What a change did to its entry.
pub(crate) fn op(change: &Change<'_>) -> EntryOp {
    match (change.pre, change.post) {
        (None, _) => EntryOp::Add,
        (Some(_), Some(_)) => EntryOp::Update,
        (Some(_), None) => EntryOp::Remove,
    }
}

/// Whether the entry was there before the change, or came back from the archive by it: a table may have it.
pub(crate) fn existed(change: &Change<'_>) -> bool {
    change.pre.is_some() || change.kind == ChangeKind::Restored
}
