//! What classic operations move: payments, merges, claimable balances, clawbacks, crossed offers, inflation. Pools are in [`super::pools`].
//!
//! Amounts stand in the operation, in its result, or, of a claimable balance that is taken, in the entry that the operation removed.

use starmill_ledger::changes::ChangeKind;
use starmill_ledger::transaction::{account_key, muxed_key};
use starmill_ledger::{AddressBytes, Fault, LedgerError, OperationView, address::version};
use starmill_xdr::{
    AccountMergeResult, ClaimAtom, ClaimableBalanceEntry, ClaimableBalanceId, CreateClaimableBalanceResult, InflationResult,
    LedgerEntryData, ManageBuyOfferResult, ManageSellOfferResult, OperationBody, OperationResult, OperationResultTr,
    PathPaymentStrictReceiveOp, PathPaymentStrictReceiveResult, PathPaymentStrictSendOp, PathPaymentStrictSendResult,
};

use super::event::{Event, Movement, Tokens};
use super::pools;

/// Hands out what a classic operation moved.
pub(super) fn each_event(view: &OperationView<'_, '_>, tokens: &mut Tokens<'_>, take: &mut impl FnMut(&Event)) -> Result<(), LedgerError> {
    let source = AddressBytes::account(view.source_key());
    match view.body() {
        OperationBody::CreateAccount(op) => {
            let to = AddressBytes::account_id(&op.destination);
            take(&Event::between(tokens.native(), source, to, op.starting_balance.into()));
        }
        OperationBody::Payment(op) => {
            let to = AddressBytes::account(muxed_key(&op.destination));
            take(&Event::between(tokens.of(&op.asset), source, to, op.amount.into()));
        }
        OperationBody::AccountMerge(destination) => match result(view)? {
            OperationResultTr::AccountMerge(AccountMergeResult::Success(balance)) => {
                let to = AddressBytes::account(muxed_key(destination));
                take(&Event::between(tokens.native(), source, to, (*balance).into()));
            }
            _ => return Err(wrong_result(view)),
        },
        OperationBody::CreateClaimableBalance(op) => match result(view)? {
            OperationResultTr::CreateClaimableBalance(CreateClaimableBalanceResult::Success(id)) => {
                take(&Event::between(tokens.of(&op.asset), source, balance_address(**id), op.amount.into()));
            }
            _ => return Err(wrong_result(view)),
        },
        OperationBody::ClaimClaimableBalance(op) => {
            let balance = removed_balance(view)?;
            take(&Event::between(tokens.of(&balance.asset), balance_address(op.balance_id), source, balance.amount.into()));
        }
        OperationBody::Clawback(op) => {
            let movement = Movement::Clawback { from: AddressBytes::account(muxed_key(&op.from)) };
            take(&Event { movement, token: tokens.of(&op.asset), amount: op.amount.into() });
        }
        OperationBody::ClawbackClaimableBalance(op) => {
            let balance = removed_balance(view)?;
            let movement = Movement::Clawback { from: balance_address(op.balance_id) };
            take(&Event { movement, token: tokens.of(&balance.asset), amount: balance.amount.into() });
        }
        OperationBody::ManageSellOffer(_) | OperationBody::CreatePassiveSellOffer(_) | OperationBody::ManageBuyOffer(_) => {
            crossed(crossed_by_offer(view)?, source, tokens, take);
        }
        OperationBody::PathPaymentStrictSend(op) => path_payment_by_amount_sent(view, op, tokens, take)?,
        OperationBody::PathPaymentStrictReceive(op) => path_payment_by_amount_received(view, op, tokens, take)?,
        OperationBody::Inflation => match result(view)? {
            OperationResultTr::Inflation(InflationResult::Success(payouts)) => {
                let token = tokens.native();
                for payout in **payouts {
                    let movement = Movement::Mint { to: AddressBytes::account_id(&payout.destination) };
                    take(&Event { movement, token, amount: payout.amount.into() });
                }
            }
            _ => return Err(wrong_result(view)),
        },
        OperationBody::LiquidityPoolDeposit(_) => pools::deposit(view, tokens, take)?,
        OperationBody::LiquidityPoolWithdraw(_) => pools::withdraw(view, tokens, take)?,
        OperationBody::AllowTrust(_) | OperationBody::SetTrustLineFlags(_) => pools::revoke(view, tokens, take)?,
        OperationBody::SetOptions(_)
        | OperationBody::ChangeTrust(_)
        | OperationBody::ManageData(_)
        | OperationBody::BumpSequence(_)
        | OperationBody::BeginSponsoringFutureReserves(_)
        | OperationBody::EndSponsoringFutureReserves
        | OperationBody::RevokeSponsorship(_)
        | OperationBody::InvokeHostFunction(_)
        | OperationBody::ExtendFootprintTtl(_)
        | OperationBody::RestoreFootprint(_) => {}
    }
    Ok(())
}

/// The result of the operation's type, which a successful transaction has.
fn result<'a>(view: &OperationView<'_, 'a>) -> Result<&'a OperationResultTr<'a>, LedgerError> {
    match view.result() {
        Some(OperationResult::OpInner(result)) => Ok(result),
        _ => Err(wrong_result(view)),
    }
}

fn wrong_result(view: &OperationView<'_, '_>) -> LedgerError {
    view.error(Fault::Inconsistent("the transaction succeeded, but the operation's result is none of its type's success"))
}

/// The address of a claimable balance.
fn balance_address(id: ClaimableBalanceId<'_>) -> AddressBytes {
    let ClaimableBalanceId::ClaimableBalanceIdTypeV0(hash) = id;
    AddressBytes::new(version::CLAIMABLE_BALANCE, hash)
}

/// The only claimable balance that the operation removed.
fn removed_balance<'a>(view: &OperationView<'_, 'a>) -> Result<&'a ClaimableBalanceEntry<'a>, LedgerError> {
    let mut removed = view.changes()?.iter().filter_map(|change| match change.entry().data {
        LedgerEntryData::ClaimableBalance(balance) if change.kind == ChangeKind::Removed => Some(balance),
        _ => None,
    });
    match (removed.next(), removed.next()) {
        (Some(balance), None) => Ok(balance),
        (None, _) => Err(view.error(Fault::Inconsistent("the operation takes a claimable balance, but its changes remove none"))),
        (Some(_), Some(_)) => {
            Err(view.error(Fault::Inconsistent("the operation takes one claimable balance, but its changes remove several")))
        }
    }
}

/// The offers that a new or changed offer crossed. The result of a passive offer may stand under either of its types.
fn crossed_by_offer<'a>(view: &OperationView<'_, 'a>) -> Result<&'a [ClaimAtom<'a>], LedgerError> {
    match (view.body(), result(view)?) {
        (
            OperationBody::ManageSellOffer(_) | OperationBody::CreatePassiveSellOffer(_),
            OperationResultTr::ManageSellOffer(ManageSellOfferResult::Success(success)),
        )
        | (OperationBody::CreatePassiveSellOffer(_), OperationResultTr::CreatePassiveSellOffer(ManageSellOfferResult::Success(success)))
        | (OperationBody::ManageBuyOffer(_), OperationResultTr::ManageBuyOffer(ManageBuyOfferResult::Success(success))) => {
            Ok(success.offers_claimed)
        }
        _ => Err(wrong_result(view)),
    }
}

/// The crossed offers, then what the destination got, which stands in the result.
fn path_payment_by_amount_sent(
    view: &OperationView<'_, '_>,
    op: &PathPaymentStrictSendOp<'_>,
    tokens: &mut Tokens<'_>,
    take: &mut impl FnMut(&Event),
) -> Result<(), LedgerError> {
    let OperationResultTr::PathPaymentStrictSend(PathPaymentStrictSendResult::Success(success)) = result(view)? else {
        return Err(wrong_result(view));
    };
    let (from, to) = (AddressBytes::account(view.source_key()), AddressBytes::account(muxed_key(&op.destination)));
    crossed(success.offers, from, tokens, take);
    take(&Event::between(tokens.of(&op.dest_asset), from, to, success.last.amount.into()));
    Ok(())
}

/// The crossed offers, then what the destination got, which stands in the operation.
fn path_payment_by_amount_received(
    view: &OperationView<'_, '_>,
    op: &PathPaymentStrictReceiveOp<'_>,
    tokens: &mut Tokens<'_>,
    take: &mut impl FnMut(&Event),
) -> Result<(), LedgerError> {
    let OperationResultTr::PathPaymentStrictReceive(PathPaymentStrictReceiveResult::Success(success)) = result(view)? else {
        return Err(wrong_result(view));
    };
    let (from, to) = (AddressBytes::account(view.source_key()), AddressBytes::account(muxed_key(&op.destination)));
    crossed(success.offers, from, tokens, take);
    take(&Event::between(tokens.of(&op.dest_asset), from, to, op.dest_amount.into()));
    Ok(())
}

/// Of each crossed offer or pool: what it sold to the source, then what the source paid for that.
fn crossed(atoms: &[ClaimAtom<'_>], source: AddressBytes, tokens: &mut Tokens<'_>, take: &mut impl FnMut(&Event)) {
    for atom in atoms {
        let (seller, sold, bought) = match atom {
            ClaimAtom::V0(offer) => (
                AddressBytes::account(offer.seller_ed25519),
                (&offer.asset_sold, offer.amount_sold),
                (&offer.asset_bought, offer.amount_bought),
            ),
            ClaimAtom::OrderBook(offer) => (
                AddressBytes::account(account_key(&offer.seller_id)),
                (&offer.asset_sold, offer.amount_sold),
                (&offer.asset_bought, offer.amount_bought),
            ),
            ClaimAtom::LiquidityPool(pool) => (
                AddressBytes::new(version::LIQUIDITY_POOL, pool.liquidity_pool_id),
                (&pool.asset_sold, pool.amount_sold),
                (&pool.asset_bought, pool.amount_bought),
            ),
        };
        take(&Event::between(tokens.of(sold.0), seller, source, sold.1.into()));
        take(&Event::between(tokens.of(bought.0), source, seller, bought.1.into()));
    }
}
