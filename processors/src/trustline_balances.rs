//! Trustline balances: what an account holds of a credit asset after the ledger; and which assets those are, each once a ledger. For every
//! change of a trustline by an operation, also of its limit, flags or liabilities alone (docs/rows.md, trustline balances).

use starmill_ledger::changes::Change;
use starmill_ledger::rows::{CreditAsset, TrustlineBalanceRow};
use starmill_ledger::{AddressBytes, CurrentState, OperationView};
use starmill_xdr::{TrustLineEntry, TrustLineEntryExt};

use crate::entries;

/// Collects a change of a trustline, unless it is for pool shares.
pub(crate) fn emit(view: &OperationView<'_, '_>, change: &Change<'_>, line: &TrustLineEntry<'_>, state: &mut CurrentState) {
    let Some(asset) = CreditAsset::of_trustline(&line.asset) else { return };
    if !has_text(&asset) {
        return;
    }
    let (buying_liabilities, selling_liabilities) = match line.ext {
        TrustLineEntryExt::V0 => (0, 0),
        TrustLineEntryExt::V1(v1) => (v1.liabilities.buying, v1.liabilities.selling),
    };
    let row = TrustlineBalanceRow {
        op: entries::op(change),
        account_id: AddressBytes::account_id(&line.account_id),
        asset,
        operation_id: view.id(),
        balance: line.balance,
        trust_limit: line.limit,
        buying_liabilities,
        selling_liabilities,
        flags: line.flags,
        ledger: view.transaction.head.sequence,
    };
    state.trustline_balance(entries::existed(change), row);
}

/// Whether `CODE:ISSUER` can be read back. The protocol lets only letters and digits be codes, so no ledger has another.
fn has_text(asset: &CreditAsset) -> bool {
    let code = asset.code_text();
    !code.is_empty() && !code.contains(&b':')
}
