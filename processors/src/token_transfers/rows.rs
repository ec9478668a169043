//! From a movement to rows: which ends of it are shown, by the type of the operation.
//!
//! Pools and claimable balances have no rows of their own: what an account pays into one or gets out of one is its own DEBIT or CREDIT alone.

use starmill_ledger::rows::{Category, Place, Reason, Rows, StateChangeIds, StateChangeRow, Stream};
use starmill_ledger::{AddressBytes, OperationView, address::version};
use starmill_xdr::OperationType;

use super::event::{Event, Movement};
use crate::out::StateChanges;

/// Writes the rows of one operation, numbered as they come.
pub(super) struct Writer<'o, R> {
    state_changes: StateChanges<'o, R>,
    place: Place,
    ids: StateChangeIds,
    operation: OperationType,
}

impl<'o, R: Rows> Writer<'o, R> {
    pub(super) fn new(view: &OperationView<'_, '_>, state_changes: StateChanges<'o, R>) -> Self {
        Self { state_changes, place: view.place(), ids: StateChangeIds::new(Stream::TokenTransfers), operation: view.body().discriminant() }
    }

    pub(super) fn write(&mut self, event: &Event) {
        match event.movement {
            Movement::Transfer { from, to } => self.transfer(event, from, to),
            Movement::Mint { to } => {
                self.by_issuer(event, Reason::Mint);
                self.by_holder(event, Reason::Credit, to);
            }
            Movement::Burn { from } | Movement::Clawback { from } => {
                self.by_issuer(event, Reason::Burn);
                self.by_holder(event, Reason::Debit, from);
            }
        }
    }

    fn transfer(&mut self, event: &Event, from: AddressBytes, to: AddressBytes) {
        match self.operation {
            OperationType::CreateClaimableBalance => self.balance(event, Reason::Debit, from),
            OperationType::ClaimClaimableBalance => self.balance(event, Reason::Credit, to),
            // No contract can hold or fill a claimable balance; if one says so, nothing is shown.
            _ if is(from, version::CLAIMABLE_BALANCE) || is(to, version::CLAIMABLE_BALANCE) => {}
            _ if is(from, version::LIQUIDITY_POOL) => self.balance(event, Reason::Credit, to),
            _ if is(to, version::LIQUIDITY_POOL) => self.balance(event, Reason::Debit, from),
            OperationType::CreateAccount => {
                self.account(Reason::Create, to, |row| row.creator_account_id = Some(from));
                self.both(event, from, to);
            }
            OperationType::AccountMerge => {
                self.account(Reason::Merge, from, |row| row.destination_account_id = Some(to));
                self.both(event, from, to);
            }
            _ => self.both(event, from, to),
        }
    }

    fn both(&mut self, event: &Event, from: AddressBytes, to: AddressBytes) {
        self.balance(event, Reason::Debit, from);
        self.balance(event, Reason::Credit, to);
    }

    /// The issuer's side of a mint or burn; native has none.
    fn by_issuer(&mut self, event: &Event, reason: Reason) {
        if let Some(issuer) = event.token.issuer {
            self.balance(event, reason, issuer);
        }
    }

    /// The other side, unless it is a pool or a claimable balance.
    fn by_holder(&mut self, event: &Event, reason: Reason, holder: AddressBytes) {
        if !is(holder, version::LIQUIDITY_POOL) && !is(holder, version::CLAIMABLE_BALANCE) {
            self.balance(event, reason, holder);
        }
    }

    fn balance(&mut self, event: &Event, reason: Reason, whose: AddressBytes) {
        let row = StateChangeRow {
            token_id: Some(event.token.contract),
            amount: Some(event.amount),
            ..StateChangeRow::new(self.place, self.ids.next(), Category::Balance, reason, whose)
        };
        self.state_changes.write(&row);
    }

    fn account(&mut self, reason: Reason, whose: AddressBytes, other: impl FnOnce(&mut StateChangeRow<'_>)) {
        let mut row = StateChangeRow::new(self.place, self.ids.next(), Category::Account, reason, whose);
        other(&mut row);
        self.state_changes.write(&row);
    }
}

/// Whether an address is of this kind.
fn is(address: AddressBytes, version: u8) -> bool {
    address.0[0] == version
}
