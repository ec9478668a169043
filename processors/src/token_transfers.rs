//! Token transfers: who paid and who got what, as BALANCE rows, and with them accounts made and merged, as ACCOUNT rows.
//!
//! State changes of the stream [`Stream::TokenTransfers`]: the fee first, of every transaction; then, of successful ones, the operations in order.
//! What an operation moved is worked out from itself, its result and its changes ([`classic`], [`pools`]), never from the events that meta V4
//! lists for classic operations; what asset contracts moved is what their events say ([`contract`]). Each movement is an [`Event`], which
//! [`rows`] turns into rows at once (docs/rows.md, token transfers). Fails where the changes fail, where meta or result lack what the operation's
//! type demands, and where fee arithmetic does.

mod classic;
mod contract;
mod event;
mod pools;
mod rows;

use starmill_ledger::rows::{Category, Place, Reason, Rows, StateChangeIds, StateChangeRow, Stream};
use starmill_ledger::transaction::account_key;
use starmill_ledger::{AddressBytes, LedgerError, OperationView, Transaction};
use starmill_xdr::{LedgerEntry, LedgerEntryData};

use crate::{Out, fees};
use event::{Event, Movement, Tokens};
use rows::Writer;

/// First protocol whose operations tell every movement of lumens.
const MOVEMENTS_COMPLETE: u32 = 8;

/// Writes the row of the fee, if one was paid.
pub fn emit_fee<R: Rows>(transaction: &Transaction<'_>, out: &mut Out<'_, R>) -> Result<(), LedgerError> {
    let amount = fees::paid(transaction)?;
    if amount == 0 {
        return Ok(());
    }
    let reason = if amount > 0 { Reason::Debit } else { Reason::Credit };
    let head = transaction.head;
    let place = Place { to_id: transaction.to_id(), operation_id: 0, ledger: head.sequence, closed_at: head.closed_at };
    let id = StateChangeIds::new(Stream::TokenTransfers).next();
    let payer = AddressBytes::account(transaction.fee_key());
    let token = Tokens { network: transaction.network, contracts: out.contracts }.native();
    out.state_change(&StateChangeRow {
        token_id: Some(token.contract),
        amount: Some(amount.into()),
        ..StateChangeRow::new(place, id, Category::Balance, reason, payer)
    });
    Ok(())
}

/// Writes the rows of what an operation moved.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, out: &mut Out<'_, R>) -> Result<(), LedgerError> {
    if !view.transaction.successful() {
        return Ok(());
    }
    let (state_changes, contracts) = out.split();
    let tokens = &mut Tokens { network: view.transaction.network, contracts };
    let writer = &mut Writer::new(view, state_changes);
    if view.transaction.head.protocol >= MOVEMENTS_COMPLETE {
        return each_event(view, tokens, &mut |event| writer.write(event));
    }
    let unexplained = unexplained(view, tokens)?;
    let (source, native) = (AddressBytes::account(view.source_key()), tokens.native());
    if unexplained > 0 {
        writer.write(&Event { movement: Movement::Mint { to: source }, token: native, amount: unexplained });
    }
    each_event(view, tokens, &mut |event| writer.write(event))?;
    if unexplained < 0 {
        writer.write(&Event { movement: Movement::Burn { from: source }, token: native, amount: -unexplained });
    }
    Ok(())
}

/// Hands out what an operation of a successful transaction moved, in order.
fn each_event(view: &OperationView<'_, '_>, tokens: &mut Tokens<'_>, take: &mut impl FnMut(&Event)) -> Result<(), LedgerError> {
    classic::each_event(view, tokens, take)?;
    contract::each_event(view, tokens, take);
    Ok(())
}

/// By how many stroops an operation changed its source's balance beyond what its events say. Before protocol 8 payments could lose or make
/// lumens that way (CAP-67, retroactive events).
fn unexplained(view: &OperationView<'_, '_>, tokens: &mut Tokens<'_>) -> Result<i128, LedgerError> {
    let source = view.source_key();
    let balance = |entry: Option<&LedgerEntry<'_>>| match entry.map(|entry| entry.data) {
        Some(LedgerEntryData::Account(account)) if account_key(&account.account_id) == source => i128::from(account.balance),
        _ => 0,
    };
    let mut gained: i128 = view.changes()?.iter().map(|change| balance(change.post) - balance(change.pre)).sum();
    let (source, native) = (AddressBytes::account(source), tokens.native());
    // Of classic operations, whose amounts have 64 bits: no contract ran then.
    classic::each_event(view, tokens, &mut |event| {
        if event.token == native {
            gained -= event.gain_of(source);
        }
    })?;
    Ok(gained)
}
