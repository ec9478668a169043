//! Effects: what a classic operation did to signers, thresholds, flags, home domains, trustlines, authorization and data entries.
//!
//! State changes of the stream [`Stream::Effects`], for successful transactions. One part an operation type; within an operation the rows come
//! in the order of docs/rows.md, effects. Reads the operation and its memoized changes. A row whose state before cannot be found among the changes
//! is left out, as there; an account in the changes of `SET_OPTIONS` that is created or removed fails the ledger.

mod set_options;
mod trust;

use starmill_ledger::rows::{AssetId, Category, KeyValue, Place, Reason, Rows, StateChangeIds, StateChangeRow, Stream};
use starmill_ledger::transaction::account_key;
use starmill_ledger::{AddressBytes, LedgerError, Network, OperationView};
use starmill_xdr::{Asset, DataEntry, LedgerEntry, LedgerEntryData, ManageDataOp, OperationBody, SignerKey};

use crate::Out;

/// Writes the effects of an operation.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, out: &mut Out<'_, R>) -> Result<(), LedgerError> {
    if !view.transaction.successful() {
        return Ok(());
    }
    let source = AddressBytes::account(view.source_key());
    let network = view.transaction.network;
    let mut effects = Effects { out, network, place: view.place(), ids: StateChangeIds::new(Stream::Effects), source };
    match view.body() {
        OperationBody::CreateAccount(op) => {
            let key = account_key(&op.destination);
            effects.row(Category::Signer, Reason::Add, AddressBytes::account(key), |row| {
                row.signer = Some(SignerKey::Ed25519(key));
                row.signer_weight_new = Some(1);
            });
        }
        OperationBody::SetOptions(op) => set_options::emit(view, op, &mut effects)?,
        OperationBody::ChangeTrust(op) => trust::change(view, op, &mut effects)?,
        OperationBody::AllowTrust(op) => trust::allow(view, op, &mut effects),
        OperationBody::SetTrustLineFlags(op) => trust::set_flags(op, &mut effects),
        OperationBody::ManageData(op) => manage_data(view, op, &mut effects)?,
        _ => {}
    }
    Ok(())
}

/// The rows of one operation, numbered as they come.
struct Effects<'e, 'o, R> {
    out: &'e mut Out<'o, R>,
    network: &'e Network,
    place: Place,
    ids: StateChangeIds,
    /// Whose rows they are where nothing else is said: the operation's source.
    source: AddressBytes,
}

impl<R: Rows> Effects<'_, '_, R> {
    /// The asset contract of an asset.
    fn token(&mut self, asset: &Asset<'_>) -> AddressBytes {
        self.out.contracts.of(self.network, &AssetId::of(asset))
    }

    /// Writes a row; `columns` sets what it has beside the columns that every row has.
    fn row<'r>(&mut self, category: Category, reason: Reason, account_id: AddressBytes, columns: impl FnOnce(&mut StateChangeRow<'r>)) {
        let mut row = StateChangeRow::new(self.place, self.ids.next(), category, reason, account_id);
        columns(&mut row);
        self.out.state_change(&row);
    }
}

/// The data entry that an operation added, changed or removed. An empty value is a value.
fn manage_data<R: Rows>(view: &OperationView<'_, '_>, op: &ManageDataOp<'_>, effects: &mut Effects<'_, '_, R>) -> Result<(), LedgerError> {
    let changes = view.changes()?;
    let Some(first) = changes.iter().find(|change| data(change.entry()).is_some()) else { return Ok(()) };
    let mut before = changes.iter().filter_map(|change| data(change.pre?));
    let old = before
        .find(|entry| account_key(&entry.account_id) == view.source_key() && entry.data_name == op.data_name)
        .map(|entry| entry.data_value);
    let new = first.post.and_then(data).map(|entry| entry.data_value);
    let (reason, old) = match (first.pre.is_some(), new.is_some()) {
        (false, _) => (Reason::Add, None),
        (true, false) => (Reason::Remove, old),
        (true, true) => (Reason::Update, old),
    };
    if reason != Reason::Add && old.is_none() {
        return Ok(());
    }
    effects.row(Category::DataEntry, reason, effects.source, |row| {
        row.data_entry_name = Some(op.data_name);
        row.key_value = Some(KeyValue::Base64 { old, new });
    });
    Ok(())
}

fn data<'a>(entry: &LedgerEntry<'a>) -> Option<&'a DataEntry<'a>> {
    match entry.data {
        LedgerEntryData::Data(data) => Some(data),
        _ => None,
    }
}
