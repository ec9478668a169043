//! SAC balances: what a contract holds of an asset after the ledger, from the entries that asset contracts (CAP-46-6) keep for holders that
//! are contracts. Accounts hold assets in trustlines, and lumens held by contracts are left out.
//!
//! An entry counts by its shape: persistent, key `["Balance", contract]`, value `{amount, authorized, clawback}`. Any contract can write such
//! an entry; whether the contract is an asset's is for whoever stores the row to find out (docs/rows.md, SAC balances).

use starmill_ledger::changes::Change;
use starmill_ledger::rows::{EntryOp, SacBalanceRow};
use starmill_ledger::{AddressBytes, CurrentState, OperationView};
use starmill_xdr::{ContractDataDurability, ContractDataEntry, ScAddress, ScMapEntry, ScVal};

use crate::contract_values::{balance_holder, i128_of, map};
use crate::entries;

/// Collects a change of a balance. `native` is the contract of the native asset.
pub(crate) fn emit(
    view: &OperationView<'_, '_>,
    change: &Change<'_>,
    data: &ContractDataEntry<'_>,
    native: &AddressBytes,
    state: &mut CurrentState,
) {
    let Some(balance) = Balance::of(data, native) else { return };
    let op = entries::op(change);
    let (balance_now, is_authorized, is_clawback_enabled) = match op {
        EntryOp::Remove => (0, false, false),
        EntryOp::Add | EntryOp::Update => (balance.amount, balance.authorized, balance.clawback),
    };
    let row = SacBalanceRow {
        op,
        account_id: AddressBytes::contract(balance.holder),
        contract_id: AddressBytes::contract(balance.contract),
        operation_id: view.id(),
        balance: balance_now,
        is_authorized,
        is_clawback_enabled,
        ledger: view.transaction.head.sequence,
    };
    state.sac_balance(entries::existed(change), row);
}

/// What a balance entry says.
struct Balance<'a> {
    contract: &'a [u8; 32],
    holder: &'a [u8; 32],
    amount: i128,
    authorized: bool,
    clawback: bool,
}

impl<'a> Balance<'a> {
    fn of(data: &ContractDataEntry<'a>, native: &AddressBytes) -> Option<Self> {
        let ScAddress::Contract(contract) = data.contract else { return None };
        let ScAddress::Contract(holder) = *balance_holder(&data.key)? else { return None };
        if data.durability != ContractDataDurability::Persistent || AddressBytes::contract(contract) == *native {
            return None;
        }
        let [
            ScMapEntry { key: ScVal::Symbol(b"amount"), val: amount },
            ScMapEntry { key: ScVal::Symbol(b"authorized"), val: ScVal::Bool(authorized) },
            ScMapEntry { key: ScVal::Symbol(b"clawback"), val: ScVal::Bool(clawback) },
        ] = map(&data.val)?
        else {
            return None;
        };
        let amount = i128_of(amount).filter(|amount| *amount >= 0)?;
        Some(Self { contract, holder, amount, authorized: *authorized, clawback: *clawback })
    }
}
