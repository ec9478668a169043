//! Events in the shape of a token's: which of five names, how many topics, what data (SEP-41; CAP-67 for the forms without an administrator
//! and with a muxed id). The number of topics is exact, so that events of asset contracts, which end in the asset's name, are none of these.

use starmill_ledger::AddressBytes;
use starmill_xdr::{ContractEvent, ContractEventBody, ContractEventType, ScMapEntry, ScVal};

use crate::contract_values::{i128_of, map};

/// What a token says that it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// The contract that says so.
    pub contract_id: AddressBytes,
    /// What it did.
    pub movement: Movement,
}

/// A change of balances, or of an allowance. Amounts are in the token's own units, with the sign that the contract gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Movement {
    Transfer {
        from: AddressBytes,
        to: AddressBytes,
        amount: i128,
        to_muxed_id: Option<u64>,
    },
    Mint {
        to: AddressBytes,
        amount: i128,
        to_muxed_id: Option<u64>,
    },
    /// `burn` or `clawback`: both take from the holder.
    Burn {
        from: AddressBytes,
        amount: i128,
    },
    /// Sets what `spender` may spend for `from`.
    Approve {
        from: AddressBytes,
        spender: AddressBytes,
        amount: i128,
        live_until_ledger: u32,
    },
}

impl TokenEvent {
    /// Reads an event; `None` if it has not the shape of a token's.
    pub fn of(event: &ContractEvent<'_>) -> Option<Self> {
        if event.type_ != ContractEventType::Contract {
            return None;
        }
        let contract_id = AddressBytes::contract(event.contract_id?);
        let ContractEventBody::V0(body) = event.body;
        let [ScVal::Symbol(name), topics @ ..] = body.topics else { return None };
        let data = &body.data;
        let movement = match (*name, topics) {
            (b"transfer", [from, to]) => {
                let (from, to) = (address(from)?, address(to)?);
                let (amount, to_muxed_id) = amount_and_muxed_id(data)?;
                Movement::Transfer { from, to, amount, to_muxed_id }
            }
            (b"mint", [.., to]) => {
                administrator(topics)?;
                let (amount, to_muxed_id) = amount_and_muxed_id(data)?;
                Movement::Mint { to: address(to)?, amount, to_muxed_id }
            }
            (b"burn", [from]) => Movement::Burn { from: address(from)?, amount: i128_of(data)? },
            (b"clawback", [.., from]) => {
                administrator(topics)?;
                Movement::Burn { from: address(from)?, amount: i128_of(data)? }
            }
            (b"approve", [from, spender]) => {
                let ScVal::Vec(Some([amount, ScVal::U32(live_until_ledger)])) = data else { return None };
                let (from, spender, amount) = (address(from)?, address(spender)?, i128_of(amount)?);
                Movement::Approve { from, spender, amount, live_until_ledger: *live_until_ledger }
            }
            _ => return None,
        };
        Some(Self { contract_id, movement })
    }
}

/// Passes `[holder]` and `[administrator, holder]`, as `mint` and `clawback` have had it before CAP-67.
fn administrator(topics: &[ScVal<'_>]) -> Option<()> {
    match topics {
        [_] | [ScVal::Address(_), _] => Some(()),
        _ => None,
    }
}

fn address(value: &ScVal<'_>) -> Option<AddressBytes> {
    match value {
        ScVal::Address(address) => Some(AddressBytes::sc_address(address)),
        _ => None,
    }
}

/// A bare amount, or a map with `amount` and, where it is a number, `to_muxed_id`. Other keys are passed over; of a key that
/// stands there twice, which the protocol does not let happen, the last counts.
fn amount_and_muxed_id(data: &ScVal<'_>) -> Option<(i128, Option<u64>)> {
    let ScVal::Map(_) = data else { return Some((i128_of(data)?, None)) };
    let (mut amount, mut to_muxed_id) = (None, None);
    for ScMapEntry { key, val } in map(data)? {
        match (key, val) {
            (ScVal::Symbol(b"amount"), val) => amount = Some(i128_of(val)?),
            (ScVal::Symbol(b"to_muxed_id"), ScVal::U64(id)) => to_muxed_id = Some(*id),
            _ => {}
        }
    }
    Some((amount?, to_muxed_id))
}
