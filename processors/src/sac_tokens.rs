//! Asset contracts as tokens: a `contract_tokens` row for each instance of an asset contract that an operation wrote or restored, once a
//! ledger.
//!
//! The instance says which asset it is for (`AssetInfo`, CAP-46-6); any contract can say so, therefore the asset's contract id must be the
//! contract's own. The native asset's contract has no row (docs/rows.md, contract tokens).

use starmill_ledger::rows::{AssetId, CreditAsset, SacTokenRow};
use starmill_ledger::{AddressBytes, CurrentState, OperationView};
use starmill_xdr::{ContractDataDurability, ContractDataEntry, ScAddress, ScMapEntry, ScVal};

use crate::contract_values::{credit_asset, map, vector};
use crate::memo::Contracts;

/// Collects the token of an entry that is there after a change, if it is an asset contract's instance. The native asset's
/// instance names no issuer and is none of these.
pub(crate) fn emit(view: &OperationView<'_, '_>, data: &ContractDataEntry<'_>, contracts: &mut Contracts, state: &mut CurrentState) {
    if !matches!(data.key, ScVal::LedgerKeyContractInstance) || data.durability != ContractDataDurability::Persistent {
        return;
    }
    let ScAddress::Contract(contract) = data.contract else { return };
    let Some(asset) = asset_info(&data.val) else { return };
    let contract_id = AddressBytes::contract(contract);
    if contracts.of(view.transaction.network, &AssetId::Credit(asset)) == contract_id {
        state.sac_token(SacTokenRow { contract_id, asset });
    }
}

/// The asset that an instance says it is for.
fn asset_info(instance: &ScVal<'_>) -> Option<CreditAsset> {
    let ScVal::ContractInstance(instance) = instance else { return None };
    let storage = instance.storage?;
    let info = storage.iter().find(|entry| matches!(vector(&entry.key), Some([ScVal::Symbol(b"AssetInfo")])))?;
    let [ScVal::Symbol(b"AlphaNum4" | b"AlphaNum12"), fields] = vector(&info.val)? else { return None };
    let [
        ScMapEntry { key: ScVal::Symbol(b"asset_code"), val: ScVal::String(code) },
        ScMapEntry { key: ScVal::Symbol(b"issuer"), val: ScVal::Bytes(issuer) },
    ] = map(fields)?
    else {
        return None;
    };
    credit_asset(code, (*issuer).try_into().ok()?)
}
