//! The accounts that an operation names by its type, whether it was applied or not.
//!
//! Counterparties of offers and pools, signers, issuers and inflation destinations are not among them (docs/rows.md, participants).

use starmill_ledger::transaction::{account_key, muxed_key};
use starmill_ledger::{AddressBytes, OperationView};
use starmill_xdr::{Claimant, LedgerKey, OperationBody, RevokeSponsorshipOp};

/// Adds the accounts that the operation names.
pub(super) fn collect(view: &OperationView<'_, '_>, into: &mut Vec<AddressBytes>) {
    let mut add = |key: &[u8; 32]| into.push(AddressBytes::account(key));
    match view.body() {
        OperationBody::CreateAccount(op) => add(account_key(&op.destination)),
        OperationBody::Payment(op) => add(muxed_key(&op.destination)),
        OperationBody::PathPaymentStrictReceive(op) => add(muxed_key(&op.destination)),
        OperationBody::PathPaymentStrictSend(op) => add(muxed_key(&op.destination)),
        OperationBody::AllowTrust(op) => add(account_key(&op.trustor)),
        OperationBody::SetTrustLineFlags(op) => add(account_key(&op.trustor)),
        OperationBody::AccountMerge(destination) => add(muxed_key(destination)),
        OperationBody::CreateClaimableBalance(op) => {
            for claimant in op.claimants {
                let Claimant::ClaimantTypeV0(claimant) = claimant;
                add(account_key(&claimant.destination));
            }
        }
        OperationBody::BeginSponsoringFutureReserves(op) => add(account_key(&op.sponsored_id)),
        OperationBody::EndSponsoringFutureReserves => {
            if let Some(key) = sponsor_that_began(view) {
                add(key);
            }
        }
        OperationBody::RevokeSponsorship(op) => match op {
            RevokeSponsorshipOp::LedgerEntry(key) => {
                if let Some(owner) = owner_of_key(key) {
                    add(owner);
                }
            }
            RevokeSponsorshipOp::Signer(signer) => add(account_key(&signer.account_id)),
        },
        OperationBody::Clawback(op) => add(muxed_key(&op.from)),
        OperationBody::ManageSellOffer(_)
        | OperationBody::CreatePassiveSellOffer(_)
        | OperationBody::SetOptions(_)
        | OperationBody::ChangeTrust(_)
        | OperationBody::Inflation
        | OperationBody::ManageData(_)
        | OperationBody::BumpSequence(_)
        | OperationBody::ManageBuyOffer(_)
        | OperationBody::ClaimClaimableBalance(_)
        | OperationBody::ClawbackClaimableBalance(_)
        | OperationBody::LiquidityPoolDeposit(_)
        | OperationBody::LiquidityPoolWithdraw(_)
        | OperationBody::InvokeHostFunction(_)
        | OperationBody::ExtendFootprintTtl(_)
        | OperationBody::RestoreFootprint(_) => {}
    }
}

/// Who began the sponsorship that this operation ends: the source of the nearest earlier begin for this operation's source. Only in a
/// successful transaction.
fn sponsor_that_began<'a>(view: &OperationView<'_, 'a>) -> Option<&'a [u8; 32]> {
    if !view.transaction.successful() {
        return None;
    }
    let earlier = view.transaction.operations().get(..view.index as usize)?;
    let sponsored = view.source_key();
    let began = earlier.iter().rev().find(|operation| match operation.value.body {
        OperationBody::BeginSponsoringFutureReserves(op) => account_key(&op.sponsored_id) == sponsored,
        _ => false,
    })?;
    Some(began.value.source_account.map_or_else(|| view.transaction.source_key(), muxed_key))
}

/// The account that owns the entry of a key; `None` for entries that no single account owns.
fn owner_of_key<'a>(key: &LedgerKey<'a>) -> Option<&'a [u8; 32]> {
    match key {
        LedgerKey::Account(key) => Some(account_key(&key.account_id)),
        LedgerKey::Trustline(key) => Some(account_key(&key.account_id)),
        LedgerKey::Offer(key) => Some(account_key(&key.seller_id)),
        LedgerKey::Data(key) => Some(account_key(&key.account_id)),
        LedgerKey::ClaimableBalance(_)
        | LedgerKey::LiquidityPool(_)
        | LedgerKey::ContractData(_)
        | LedgerKey::ContractCode(_)
        | LedgerKey::ConfigSetting(_)
        | LedgerKey::Ttl(_) => None,
    }
}
