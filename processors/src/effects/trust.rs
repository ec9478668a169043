//! Trustlines and their authorization: `CHANGE_TRUST`, `ALLOW_TRUST`, `SET_TRUST_LINE_FLAGS`.
//!
//! A new trustline gives two rows, itself and the authorization it begins with, which carries the limit too; the limit before is in stroops, the one
//! after has decimals. Flags are those of the operation, not what they changed (docs/rows.md, effects).

use starmill_ledger::rows::{Category, Reason, Rows, flags};
use starmill_ledger::transaction::account_key;
use starmill_ledger::{AddressBytes, LedgerError, OperationView, contract_id};
use starmill_xdr::{
    AllowTrustOp, AlphaNum4, AlphaNum12, Asset, AssetCode, ChangeTrustAsset, ChangeTrustOp, LedgerEntry, LedgerEntryData, PublicKey,
    SetTrustLineFlagsOp, TrustLineAsset, TrustLineEntry,
};

use super::Effects;

/// Trustline flags of the protocol and their bits in the `flags` column.
const FLAGS: [(u32, i16); 3] = [(1, flags::AUTHORIZED), (2, flags::AUTHORIZED_TO_MAINTAIN_LIABILITIES), (4, flags::CLAWBACK_ENABLED)];

fn bits(word: u32) -> i16 {
    FLAGS.iter().filter(|(flag, _)| word & flag != 0).fold(0, |bits, (_, bit)| bits | bit)
}

fn trustline<'a>(entry: &LedgerEntry<'a>) -> Option<&'a TrustLineEntry<'a>> {
    match entry.data {
        LedgerEntryData::Trustline(line) => Some(line),
        _ => None,
    }
}

/// The line of an operation: a pool by its id, or a credit asset by its token. Native has neither.
#[derive(Clone, Copy)]
enum Line<'a> {
    Pool([u8; 32]),
    Credit(Asset<'a>),
}

impl<'a> Line<'a> {
    fn of(line: &ChangeTrustAsset<'a>) -> Option<Self> {
        match line {
            ChangeTrustAsset::Native => None,
            ChangeTrustAsset::CreditAlphanum4(a) => Some(Self::Credit(Asset::CreditAlphanum4(a))),
            ChangeTrustAsset::CreditAlphanum12(a) => Some(Self::Credit(Asset::CreditAlphanum12(a))),
            ChangeTrustAsset::PoolShare(parameters) => Some(Self::Pool(contract_id::of_pool(parameters))),
        }
    }

    /// Whether a trustline is this one of this account.
    fn is(&self, entry: &TrustLineEntry<'_>, account: &[u8; 32]) -> bool {
        account_key(&entry.account_id) == account
            && match (self, entry.asset) {
                (Self::Pool(id), TrustLineAsset::PoolShare(other)) => id == other,
                (Self::Credit(Asset::CreditAlphanum4(a)), TrustLineAsset::CreditAlphanum4(b)) => **a == *b,
                (Self::Credit(Asset::CreditAlphanum12(a)), TrustLineAsset::CreditAlphanum12(b)) => **a == *b,
                _ => false,
            }
    }
}

/// `CHANGE_TRUST`. The first trustline among the changes that is of the same type tells whether it was made, changed or removed.
pub(super) fn change<R: Rows>(
    view: &OperationView<'_, '_>,
    op: &ChangeTrustOp<'_>,
    effects: &mut Effects<'_, '_, R>,
) -> Result<(), LedgerError> {
    let changes = view.changes()?;
    let same_type = |entry: &LedgerEntry<'_>| trustline(entry).is_some_and(|line| line.asset.discriminant() == op.line.discriminant());
    let Some(found) = changes.iter().find(|change| same_type(change.entry())) else { return Ok(()) };
    let Some(line) = Line::of(&op.line) else { return Ok(()) };
    let key = view.source_key();
    let reason = match (found.pre, found.post) {
        (None, _) => Reason::Add,
        (Some(_), None) => Reason::Remove,
        (Some(_), Some(_)) => Reason::Update,
    };
    let mut before = changes.iter().filter_map(|change| trustline(change.pre?));
    let limit_old = before.find(|entry| line.is(entry, key)).map(|entry| entry.limit);
    if reason == Reason::Update && limit_old.is_none() {
        return Ok(());
    }
    let token_id = match line {
        Line::Pool(_) => None,
        Line::Credit(asset) => Some(effects.token(&asset)),
    };
    let pool_id = match &line {
        Line::Pool(id) => Some(id),
        Line::Credit(_) => None,
    };
    effects.row(Category::Trustline, reason, effects.source, |row| {
        (row.token_id, row.liquidity_pool_id) = (token_id, pool_id);
        row.trustline_limit_old = limit_old.filter(|_| reason == Reason::Update);
        row.trustline_limit_new = Some(op.limit).filter(|_| reason != Reason::Remove);
    });
    if reason != Reason::Add {
        return Ok(());
    }
    let flags = match line {
        Line::Pool(_) => None,
        Line::Credit(_) => {
            let after = changes.iter().filter_map(|change| change.post.and_then(trustline));
            let before = changes.iter().filter_map(|change| change.pre.and_then(trustline));
            let Some(entry) = after.chain(before).find(|entry| line.is(entry, key)) else { return Ok(()) };
            Some(bits(entry.flags)).filter(|bits| *bits != 0)
        }
    };
    effects.row(Category::BalanceAuthorization, Reason::Set, effects.source, |row| {
        (row.token_id, row.liquidity_pool_id) = (token_id, pool_id);
        row.trustline_limit_new = Some(op.limit);
        row.flags = flags;
    });
    Ok(())
}

/// `ALLOW_TRUST`: one row, what the trustor may do from now on.
pub(super) fn allow<R: Rows>(view: &OperationView<'_, '_>, op: &AllowTrustOp<'_>, effects: &mut Effects<'_, '_, R>) {
    let issuer = PublicKey::PublicKeyTypeEd25519(view.source_key());
    let token_id = match op.asset {
        AssetCode::CreditAlphanum4(asset_code) => effects.token(&Asset::CreditAlphanum4(&AlphaNum4 { asset_code, issuer })),
        AssetCode::CreditAlphanum12(asset_code) => effects.token(&Asset::CreditAlphanum12(&AlphaNum12 { asset_code, issuer })),
    };
    let (reason, flags) = match op.authorize {
        word if word & 1 != 0 => (Reason::Set, flags::AUTHORIZED),
        word if word & 2 != 0 => (Reason::Set, flags::AUTHORIZED_TO_MAINTAIN_LIABILITIES),
        _ => (Reason::Clear, flags::AUTHORIZED | flags::AUTHORIZED_TO_MAINTAIN_LIABILITIES),
    };
    effects.row(Category::BalanceAuthorization, reason, AddressBytes::account(account_key(&op.trustor)), |row| {
        row.token_id = Some(token_id);
        row.flags = Some(flags);
    });
}

/// `SET_TRUST_LINE_FLAGS`: what is set, then what is cleared; a flag in both is cleared.
pub(super) fn set_flags<R: Rows>(op: &SetTrustLineFlagsOp<'_>, effects: &mut Effects<'_, '_, R>) {
    let cleared = bits(op.clear_flags);
    let set = bits(op.set_flags) & !cleared;
    for (reason, bits) in [(Reason::Set, set), (Reason::Clear, cleared)] {
        if bits != 0 {
            let token_id = Some(effects.token(&op.asset));
            effects.row(Category::BalanceAuthorization, reason, AddressBytes::account(account_key(&op.trustor)), |row| {
                row.token_id = token_id;
                row.flags = Some(bits);
            });
        }
    }
}
