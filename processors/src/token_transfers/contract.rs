//! What asset contracts (SAC, CAP-46-6) say that they moved, by the events of a host function.
//!
//! An event counts if it names its asset and comes from that asset's own contract; so nobody else can speak for an asset. Everything else is
//! another contract's affair and gives nothing here. Before CAP-67, in meta V3, mint and clawback name an administrator first, and a transfer
//! from or to the issuer is not yet a mint or burn.

use starmill_ledger::{AddressBytes, OperationView};
use starmill_xdr::{ContractEvent, ContractEventBody, ContractEventType, ScMapEntry, ScVal, TransactionMeta};

use super::event::{Event, Movement, Tokens};
use crate::asset_text::AssetText;
use crate::contract_values::{i128_of, map};

/// Hands out what the operation's events tell.
pub(super) fn each_event(view: &OperationView<'_, '_>, tokens: &mut Tokens<'_>, take: &mut impl FnMut(&Event)) {
    let form = match view.transaction.meta {
        TransactionMeta::V3(_) => Form::Administered,
        TransactionMeta::V4(_) => Form::Unified,
        TransactionMeta::V0(_) | TransactionMeta::V1(_) | TransactionMeta::V2(_) => return,
    };
    for event in view.contract_events() {
        if let Some(event) = read(&event.value, form, tokens) {
            take(&event);
        }
    }
}

/// How asset contracts shape their events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Before CAP-67.
    Administered,
    /// By CAP-67.
    Unified,
}

fn read(event: &ContractEvent<'_>, form: Form, tokens: &mut Tokens<'_>) -> Option<Event> {
    if event.type_ != ContractEventType::Contract {
        return None;
    }
    let contract = AddressBytes::contract(event.contract_id?);
    let ContractEventBody::V0(body) = event.body;
    let [ScVal::Symbol(name), holders @ .., ScVal::String(asset)] = body.topics else { return None };
    let movement = movement(name, holders, form)?;
    let amount = match form {
        Form::Administered => i128_of(&body.data)?,
        Form::Unified => amount(&body.data)?,
    };
    let token = tokens.of_id(&AssetText::only(asset)?.id());
    if token.contract != contract {
        return None;
    }
    Some(match (form, movement) {
        (Form::Administered, Movement::Transfer { from, to }) => Event::between(token, from, to, amount),
        _ => Event { movement, token, amount },
    })
}

fn movement(name: &[u8], holders: &[ScVal<'_>], form: Form) -> Option<Movement> {
    let holders = match (form, name, holders) {
        (Form::Administered, b"mint" | b"clawback", [ScVal::Address(_), holders @ ..]) => holders,
        (Form::Administered, b"mint" | b"clawback", _) => return None,
        _ => holders,
    };
    match (name, holders) {
        (b"transfer", [ScVal::Address(from), ScVal::Address(to)]) => {
            Some(Movement::Transfer { from: AddressBytes::sc_address(from), to: AddressBytes::sc_address(to) })
        }
        (b"mint", [ScVal::Address(to)]) => Some(Movement::Mint { to: AddressBytes::sc_address(to) }),
        (b"burn", [ScVal::Address(from)]) => Some(Movement::Burn { from: AddressBytes::sc_address(from) }),
        (b"clawback", [ScVal::Address(from)]) => Some(Movement::Clawback { from: AddressBytes::sc_address(from) }),
        _ => None,
    }
}

/// A bare amount, or a map from symbols with `amount`, and perhaps `to_muxed_id`, a number, text or bytes. Of an amount that stands there
/// twice, which the protocol does not let happen, the last counts.
fn amount(data: &ScVal<'_>) -> Option<i128> {
    let ScVal::Map(_) = data else { return i128_of(data) };
    let mut amount = None;
    for ScMapEntry { key, val } in map(data)? {
        match (key, val) {
            (ScVal::Symbol(b"amount"), val) => amount = Some(i128_of(val)?),
            (ScVal::Symbol(b"to_muxed_id"), ScVal::U64(_) | ScVal::Bytes(_) | ScVal::String(_)) => {}
            (ScVal::Symbol(b"to_muxed_id"), _) => return None,
            (ScVal::Symbol(_), _) => {}
            _ => return None,
        }
    }
    amount
}
