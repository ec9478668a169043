//! Changes as steps of an entry, read independently of the ledger crate's own reader.

use stellar_xdr::{LedgerEntry, LedgerEntryChange, LedgerEntryChanges, LedgerKey};

/// One change of one entry.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) key: LedgerKey,
    /// Before; none where it was created or restored.
    pub(super) before: Option<LedgerEntry>,
    /// After; none where it was removed.
    pub(super) after: Option<LedgerEntry>,
    pub(super) restored: bool,
}

/// The steps of a list, in its order.
pub(super) fn steps(changes: &LedgerEntryChanges) -> Vec<Step> {
    let mut all = Vec::new();
    let mut last: Option<LedgerEntry> = None;
    for change in changes.0.iter() {
        let step = |before: Option<LedgerEntry>, after: Option<&LedgerEntry>, key: LedgerKey| Step {
            key,
            before,
            after: after.cloned(),
            restored: false,
        };
        match change {
            LedgerEntryChange::State(entry) => last = Some(entry.clone()),
            LedgerEntryChange::Created(entry) => all.push(step(None, Some(entry), entry.data.to_key())),
            LedgerEntryChange::Updated(entry) => {
                let before = last.take().unwrap_or_else(|| panic!("updated without a state before: {entry:?}"));
                all.push(step(Some(before), Some(entry), entry.data.to_key()));
            }
            LedgerEntryChange::Removed(key) => {
                let before = last.take().unwrap_or_else(|| panic!("removed without a state before: {key:?}"));
                all.push(step(Some(before), None, key.clone()));
            }
            LedgerEntryChange::Restored(entry) => {
                last = Some(entry.clone());
                all.push(Step { restored: true, ..step(None, Some(entry), entry.data.to_key()) });
            }
        }
    }
    all
}
