//! Changes: one ledger entry before and after an operation, in the order in which every emitter reads them.
//!
//! Meta lists raw elements; STATE stands before what it belongs to. A change is made of one or two of them. The list is sorted by the XDR of
//! the ledger key, stably, so that several changes of one entry keep their order (docs/rows.md, changes). Keys are compared where they stand:
//! the fields that make up a key are the same bytes, in the same order, inside the entry.

use starmill_xdr::{Arena, LedgerEntry, LedgerEntryChange, LedgerEntryChanges, LedgerEntryData, LedgerEntryType, XdrError};

use crate::error::Fault;

/// What the meta called a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A new entry.
    Created,
    /// An entry that was there.
    Updated,
    /// An entry that is no more.
    Removed,
    /// An entry back from the archive (CAP-66).
    Restored,
}

/// One entry before and after; at least one of the two is there.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// What the meta called it.
    pub kind: ChangeKind,
    /// The entry before.
    pub pre: Option<&'a LedgerEntry<'a>>,
    /// The entry after.
    pub post: Option<&'a LedgerEntry<'a>>,
    key: KeyBytes<'a>,
}

impl<'a> Change<'a> {
    /// The entry after, or before where there is none after.
    pub fn entry(&self) -> &'a LedgerEntry<'a> {
        self.key.entry
    }

    /// Which kind of entry.
    pub fn entry_type(&self) -> LedgerEntryType {
        self.key.entry.data.discriminant()
    }
}

/// The XDR of a ledger key: its type, and the bytes after that. The key of a config setting is a number that stands in no field of the entry.
#[derive(Clone, Copy, Debug)]
struct KeyBytes<'a> {
    entry: &'a LedgerEntry<'a>,
    kind: i32,
    setting: i32,
    rest: &'a [u8],
}

impl<'a> KeyBytes<'a> {
    fn of(entry: &'a LedgerEntry<'a>) -> Self {
        let mut setting = 0;
        let rest: &[u8] = match entry.data {
            LedgerEntryData::Account(e) => e.key_bytes,
            LedgerEntryData::Trustline(e) => e.key_bytes,
            LedgerEntryData::Offer(e) => e.key_bytes,
            LedgerEntryData::Data(e) => e.key_bytes,
            LedgerEntryData::ClaimableBalance(e) => e.key_bytes,
            LedgerEntryData::LiquidityPool(e) => e.key_bytes,
            LedgerEntryData::ContractData(e) => e.key_bytes,
            LedgerEntryData::ContractCode(e) => e.key_bytes,
            LedgerEntryData::Ttl(e) => e.key_bytes,
            LedgerEntryData::ConfigSetting(e) => {
                setting = e.discriminant() as i32;
                &[]
            }
        };
        Self { entry, kind: entry.data.discriminant() as i32, setting, rest }
    }
}

/// Makes the sorted changes of a raw list.
pub fn extract<'a>(raw: LedgerEntryChanges<'a>, arena: &'a Arena) -> Result<&'a [Change<'a>], Fault> {
    if raw.is_empty() {
        return Ok(&[]);
    }
    let changes = arena.try_collect(raw.len(), records(raw))?;
    let changes = changes.ok_or(Fault::Xdr(XdrError::ArenaBudget { offset: 0, budget_bytes: arena.budget_bytes() }))?;
    changes.sort_by_key(|change| (change.key.kind, change.key.setting, change.key.rest));
    Ok(changes)
}

/// The changes in the order of the raw list.
fn records(raw: LedgerEntryChanges<'_>) -> impl Iterator<Item = Result<Change<'_>, Fault>> {
    let mut before = None;
    raw.iter().enumerate().filter_map(move |(index, element)| {
        let previous = before.take().ok_or(Fault::ChangeWithoutState { index });
        match *element {
            LedgerEntryChange::State(entry) => {
                before = Some(entry);
                None
            }
            LedgerEntryChange::Created(entry) => Some(Ok(change(ChangeKind::Created, None, Some(entry), entry))),
            LedgerEntryChange::Restored(entry) => {
                before = Some(entry);
                Some(Ok(change(ChangeKind::Restored, None, Some(entry), entry)))
            }
            LedgerEntryChange::Updated(entry) => Some(previous.map(|pre| change(ChangeKind::Updated, Some(pre), Some(entry), entry))),
            LedgerEntryChange::Removed(_) => Some(previous.map(|pre| change(ChangeKind::Removed, Some(pre), None, pre))),
        }
    })
}

fn change<'a>(
    kind: ChangeKind,
    pre: Option<&'a LedgerEntry<'a>>,
    post: Option<&'a LedgerEntry<'a>>,
    keyed_by: &'a LedgerEntry<'a>,
) -> Change<'a> {
    Change { kind, pre, post, key: KeyBytes::of(keyed_by) }
}
