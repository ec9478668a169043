//! The sponsor who pays the reserve of what an operation creates (CAP-33).
//!
//! The first change, in key order, that has one: for `SET_OPTIONS` with a signer, an account whose entry names a new sponsor for that signer;
//! otherwise a created or restored entry that has a sponsor. A sponsor that changes on an existing entry takes no part by this rule
//! (docs/rows.md, participants).

use starmill_ledger::transaction::account_key;
use starmill_ledger::{LedgerError, OperationView};
use starmill_xdr::{
    AccountEntry, AccountEntryExt, AccountEntryExtensionV1Ext, LedgerEntry, LedgerEntryData, LedgerEntryExt, OperationBody, SignerKey,
};

/// ed25519 key of the sponsor, if the operation has one.
pub(super) fn find<'a>(view: &OperationView<'_, 'a>) -> Result<Option<&'a [u8; 32]>, LedgerError> {
    let signer = match view.body() {
        OperationBody::SetOptions(op) => op.signer.map(|signer| signer.key),
        _ => None,
    };
    let sponsor = view.changes()?.iter().find_map(|change| {
        let post = change.post?;
        signer
            .and_then(|key| new_signer_sponsor(&key, change.pre, post))
            .or_else(|| if change.pre.is_none() { entry_sponsor(post) } else { None })
    });
    Ok(sponsor)
}

/// The sponsor of `key` on the account after, when it was another one or none before.
fn new_signer_sponsor<'a>(key: &SignerKey<'a>, pre: Option<&LedgerEntry<'a>>, post: &LedgerEntry<'a>) -> Option<&'a [u8; 32]> {
    let LedgerEntryData::Account(after) = post.data else { return None };
    let sponsor = signer_sponsor(key, after)?;
    let before = pre.and_then(|entry| match entry.data {
        LedgerEntryData::Account(before) => signer_sponsor(key, before),
        _ => None,
    });
    (before != Some(sponsor)).then_some(sponsor)
}

/// Who sponsors a signer of an account: the list of sponsors stands beside the list of signers.
fn signer_sponsor<'a>(key: &SignerKey<'a>, account: &AccountEntry<'a>) -> Option<&'a [u8; 32]> {
    let AccountEntryExt::V1(v1) = account.ext else { return None };
    let AccountEntryExtensionV1Ext::V2(v2) = v1.ext else { return None };
    let at = account.signers.iter().position(|signer| signer.key == *key)?;
    v2.signer_sponsoring_i_ds.get(at)?.map(account_key)
}

fn entry_sponsor<'a>(entry: &LedgerEntry<'a>) -> Option<&'a [u8; 32]> {
    match entry.ext {
        LedgerEntryExt::V0 => None,
        LedgerEntryExt::V1(v1) => v1.sponsoring_id.map(account_key),
    }
}
