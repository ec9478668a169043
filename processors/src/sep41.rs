//! SEP-41 tokens: balance and allowance changes, from the events of host functions of applied transactions, in the order of the events.
//!
//! Whether a contract is a SEP-41 token depends on code uploaded in earlier ledgers, which is not known here. So every event that has the
//! shape of a token's ([`TokenEvent`]) gives its rows together with its contract, and whoever sees ledgers in order keeps those of
//! contracts that are SEP-41 tokens. Ids count all rows of an operation, as if every contract were one: who leaves rows out numbers the
//! rest anew. These rows add no participants. Nothing fails: an event of any other shape is not a token's (docs/rows.md, SEP-41 tokens).

mod event;

pub use event::{Movement, TokenEvent};

use starmill_ledger::rows::{
    Category, KeyValue, Place, Reason, Rows, Sep41AllowanceRow, Sep41BalanceDelta, StateChangeIds, StateChangeRow, Stream,
};
use starmill_ledger::{AddressBytes, OperationView};

use crate::Out;

/// Writes what the token events of an operation say.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, out: &mut Out<'_, R>) {
    let events = view.contract_events();
    if events.is_empty() {
        return;
    }
    let mut writer = Writer { place: view.place(), ids: StateChangeIds::new(Stream::Sep41), out };
    for event in events.iter().filter_map(|event| TokenEvent::of(&event.value)) {
        writer.event(&event);
    }
}

/// Writes the rows of one operation.
struct Writer<'w, 'o, R> {
    place: Place,
    ids: StateChangeIds,
    out: &'w mut Out<'o, R>,
}

impl<R: Rows> Writer<'_, '_, R> {
    fn event(&mut self, event: &TokenEvent) {
        let contract = event.contract_id;
        match event.movement {
            Movement::Transfer { from, to, amount, to_muxed_id } => {
                self.balance(contract, Reason::Debit, from, amount, None);
                self.balance(contract, Reason::Credit, to, amount, to_muxed_id);
            }
            Movement::Mint { to, amount, to_muxed_id } => self.balance(contract, Reason::Mint, to, amount, to_muxed_id),
            Movement::Burn { from, amount } => self.balance(contract, Reason::Burn, from, amount, None),
            Movement::Approve { from, spender, amount, live_until_ledger } => {
                let row = StateChangeRow {
                    spender_account_id: Some(spender),
                    key_value: Some(KeyValue::LiveUntilLedger(live_until_ledger)),
                    ..self.row(contract, Category::Allowance, Reason::Update, from, amount)
                };
                self.out.rows.sep41_state_change(contract, &row);
                self.out.state.sep41_allowance(Sep41AllowanceRow {
                    owner_id: from,
                    spender_id: spender,
                    contract_id: contract,
                    amount,
                    expiration_ledger: live_until_ledger,
                    ledger: self.place.ledger,
                });
            }
        }
    }

    /// One side of a movement: its row, and what it does to the balance.
    fn balance(&mut self, contract: AddressBytes, reason: Reason, account: AddressBytes, amount: i128, to_muxed_id: Option<u64>) {
        let row = StateChangeRow { to_muxed_id, ..self.row(contract, Category::Balance, reason, account, amount) };
        self.out.rows.sep41_state_change(contract, &row);
        let ledger = self.place.ledger;
        let mut add = |delta| self.out.state.sep41_balance(Sep41BalanceDelta { account_id: account, contract_id: contract, delta, ledger });
        if !matches!(reason, Reason::Debit | Reason::Burn) {
            add(amount);
        } else if let Some(delta) = amount.checked_neg() {
            add(delta);
        } else {
            // 2^127 does not fit; deltas are added up where it does.
            add(i128::MAX);
            add(1);
        }
    }

    fn row(
        &mut self,
        contract: AddressBytes,
        category: Category,
        reason: Reason,
        account: AddressBytes,
        amount: i128,
    ) -> StateChangeRow<'static> {
        StateChangeRow {
            token_id: Some(contract),
            amount: Some(amount),
            ..StateChangeRow::new(self.place, self.ids.next(), category, reason, account)
        }
    }
}
