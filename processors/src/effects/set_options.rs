//! `SET_OPTIONS`: home domain, thresholds low, medium, high, flags set, flags cleared, signers removed and changed, signers added.
//!
//! Thresholds and flags are those of the operation, whether they are news or not; signers are compared before and after (docs/rows.md, effects).

use std::collections::BTreeMap;

use starmill_ledger::rows::{Category, KeyValue, Reason, Rows, Threshold, flags};
use starmill_ledger::transaction::account_key;
use starmill_ledger::{Fault, LedgerError, OperationView, strkey};
use starmill_xdr::{AccountEntry, LedgerEntry, LedgerEntryData, SetOptionsOp, SignerKey};

use super::Effects;

/// Account flags of the protocol and their bits in the `flags` column.
const FLAGS: [(u32, i16); 4] =
    [(1, flags::AUTH_REQUIRED), (2, flags::AUTH_REVOCABLE), (4, flags::AUTH_IMMUTABLE), (8, flags::AUTH_CLAWBACK_ENABLED)];

/// Writes the rows.
pub(super) fn emit<R: Rows>(
    view: &OperationView<'_, '_>,
    op: &SetOptionsOp<'_>,
    effects: &mut Effects<'_, '_, R>,
) -> Result<(), LedgerError> {
    let changes = view.changes()?;
    let mut before = changes.iter().filter_map(|change| account(change.pre?));
    let before = before.find(|entry| account_key(&entry.account_id) == view.source_key());
    if let (Some(new), Some(before)) = (op.home_domain, before) {
        home_domain(before.home_domain, new, effects);
    }
    if let Some(before) = before {
        thresholds(op, before, effects);
    }
    account_flags(op, effects);
    for change in changes.iter().filter(|change| account(change.entry()).is_some()) {
        let (Some(pre), Some(post)) = (change.pre.and_then(account), change.post.and_then(account)) else {
            return Err(view.error(Fault::Inconsistent("SET_OPTIONS creates or removes an account in its meta")));
        };
        // Most operations leave the signers alone, and putting them in the order of their texts is dear.
        if pre.signers != post.signers || pre.thresholds[0] != post.thresholds[0] {
            signers(&signers_of(pre), &signers_of(post), before, effects);
        }
    }
    Ok(())
}

fn account<'a>(entry: &LedgerEntry<'a>) -> Option<&'a AccountEntry<'a>> {
    match entry.data {
        LedgerEntryData::Account(account) => Some(account),
        _ => None,
    }
}

fn home_domain<R: Rows>(old: &[u8], new: &[u8], effects: &mut Effects<'_, '_, R>) {
    let some = |text| Some(text).filter(|text: &&[u8]| !text.is_empty());
    let reason = match (some(old), some(new)) {
        _ if old == new => return,
        (None, _) => Reason::Set,
        (Some(_), None) => Reason::Clear,
        (Some(_), Some(_)) => Reason::Update,
    };
    effects.row(Category::HomeDomain, reason, effects.source, |row| {
        row.key_value = Some(KeyValue::Texts { old: some(old), new: some(new) });
    });
}

#[allow(clippy::cast_possible_truncation)] // Cut to the column's width, as its readers know it.
fn thresholds<R: Rows>(op: &SetOptionsOp<'_>, before: &AccountEntry<'_>, effects: &mut Effects<'_, '_, R>) {
    let given = [
        (Threshold::Low, op.low_threshold, before.thresholds[1]),
        (Threshold::Medium, op.med_threshold, before.thresholds[2]),
        (Threshold::High, op.high_threshold, before.thresholds[3]),
    ];
    for (threshold, new, old) in given {
        let Some(new) = new else { continue };
        effects.row(Category::SignatureThreshold, Reason::Update, effects.source, |row| {
            row.threshold = Some(threshold);
            row.threshold_old = Some(old.into());
            row.threshold_new = Some(new as i16);
        });
    }
}

fn account_flags<R: Rows>(op: &SetOptionsOp<'_>, effects: &mut Effects<'_, '_, R>) {
    let bits = |word: Option<u32>| FLAGS.iter().filter(|(flag, _)| word.unwrap_or(0) & flag != 0).fold(0, |bits, (_, bit)| bits | bit);
    let cleared = bits(op.clear_flags);
    let set = bits(op.set_flags) & !cleared;
    for (reason, bits) in [(Reason::Set, set), (Reason::Clear, cleared)] {
        if bits != 0 {
            effects.row(Category::Flags, reason, effects.source, |row| row.flags = Some(bits));
        }
    }
}

/// Signers by their text, in whose order rows are written; the account itself while its master key has weight.
type Signers<'a> = BTreeMap<String, (SignerKey<'a>, u32)>;

fn signers_of<'a>(account: &AccountEntry<'a>) -> Signers<'a> {
    let master = (SignerKey::Ed25519(account_key(&account.account_id)), u32::from(account.thresholds[0]));
    let own = Some(master).filter(|(_, weight)| *weight > 0);
    let others = account.signers.iter().map(|signer| (signer.key, signer.weight));
    others.chain(own).map(|(key, weight)| (strkey::signer_key(&key).unwrap_or_default(), (key, weight))).collect()
}

#[allow(clippy::cast_possible_truncation)] // Weights are at most 255.
fn signers<R: Rows>(before: &Signers<'_>, after: &Signers<'_>, account: Option<&AccountEntry<'_>>, effects: &mut Effects<'_, '_, R>) {
    if before == after {
        return;
    }
    let known = account.map(|account| (signers_of(account), SignerKey::Ed25519(account_key(&account.account_id))));
    for (text, (key, weight)) in before {
        let new = after.get(text).map(|(_, weight)| *weight);
        if new == Some(*weight) {
            continue;
        }
        let Some((known, master)) = &known else { continue };
        let old = match known.get(text) {
            Some((_, weight)) => *weight,
            None if key == master => 0,
            None => continue,
        };
        let reason = if new.is_some() { Reason::Update } else { Reason::Remove };
        effects.row(Category::Signer, reason, effects.source, |row| {
            sign(row, *key);
            row.signer_weight_old = Some(old as i16);
            row.signer_weight_new = new.map(|weight| weight as i16);
        });
    }
    for (_, (key, weight)) in after.iter().filter(|(text, _)| !before.contains_key(*text)) {
        effects.row(Category::Signer, Reason::Add, effects.source, |row| {
            sign(row, *key);
            row.signer_weight_new = Some(*weight as i16);
        });
    }
}

/// A signed payload does not fit the column; its whole text goes beside it.
fn sign<'a>(row: &mut starmill_ledger::rows::StateChangeRow<'a>, key: SignerKey<'a>) {
    row.signer = Some(key);
    if matches!(key, SignerKey::Ed25519SignedPayload(_)) {
        row.key_value = Some(KeyValue::Signer(key));
    }
}
