//! What goes into liquidity pools and out of them, by how their reserves changed (CAP-38).

use starmill_ledger::changes::{Change, ChangeKind};
use starmill_ledger::{AddressBytes, Fault, LedgerError, OperationView, address::version, contract_id};
use starmill_xdr::{
    Asset, ClaimableBalanceId, LedgerEntry, LedgerEntryData, LiquidityPoolEntry, LiquidityPoolEntryBody, LiquidityPoolEntryConstantProduct,
};

use super::event::{Event, Movement, Tokens};

/// By how much an operation changed a pool's reserves, either way.
struct PoolChange<'a> {
    id: &'a [u8; 32],
    /// Asset A, then B, each with its amount.
    sides: [(Asset<'a>, i128); 2],
}

impl<'a> PoolChange<'a> {
    fn of(change: &Change<'a>) -> Option<Self> {
        let entry = pool(change.entry())?;
        let params = product(entry).params;
        let reserves = |entry: Option<&LedgerEntry<'a>>| {
            entry.and_then(pool).map_or((0, 0), |entry| (i128::from(product(entry).reserve_a), i128::from(product(entry).reserve_b)))
        };
        let (before, after) = (reserves(change.pre), reserves(change.post));
        let sides = [(params.asset_a, (after.0 - before.0).abs()), (params.asset_b, (after.1 - before.1).abs())];
        Some(Self { id: entry.liquidity_pool_id, sides })
    }

    /// The changes of all pools, in the order of the changes.
    fn all(changes: &'a [Change<'a>]) -> impl Iterator<Item = Self> {
        changes.iter().filter_map(Self::of)
    }

    /// The only one of an operation.
    fn only(view: &OperationView<'_, 'a>) -> Result<Self, LedgerError> {
        let mut all = Self::all(view.changes()?);
        match (all.next(), all.next()) {
            (Some(change), None) => Ok(change),
            (None, _) => Err(view.error(Fault::Inconsistent("the operation uses a liquidity pool, but none is among its changes"))),
            (Some(_), Some(_)) => {
                Err(view.error(Fault::Inconsistent("the operation uses one liquidity pool, but several are among its changes")))
            }
        }
    }

    fn address(&self) -> AddressBytes {
        AddressBytes::new(version::LIQUIDITY_POOL, self.id)
    }
}

fn pool<'a>(entry: &LedgerEntry<'a>) -> Option<&'a LiquidityPoolEntry<'a>> {
    match entry.data {
        LedgerEntryData::LiquidityPool(pool) => Some(pool),
        _ => None,
    }
}

fn product<'a>(pool: &LiquidityPoolEntry<'a>) -> &'a LiquidityPoolEntryConstantProduct<'a> {
    let LiquidityPoolEntryBody::LiquidityPoolConstantProduct(product) = pool.body;
    product
}

/// From the source to the pool, asset A and then B.
pub(super) fn deposit(view: &OperationView<'_, '_>, tokens: &mut Tokens<'_>, take: &mut impl FnMut(&Event)) -> Result<(), LedgerError> {
    let (source, change) = (AddressBytes::account(view.source_key()), PoolChange::only(view)?);
    if change.sides.iter().any(|(_, amount)| *amount == 0) {
        return Err(view.error(Fault::Inconsistent("the operation pays into a liquidity pool, but a reserve of the pool is as before")));
    }
    for (asset, amount) in &change.sides {
        take(&Event::between(tokens.of(asset), source, change.address(), *amount));
    }
    Ok(())
}

/// From the pool to the source, asset A and then B; either may be nothing, by rounding.
pub(super) fn withdraw(view: &OperationView<'_, '_>, tokens: &mut Tokens<'_>, take: &mut impl FnMut(&Event)) -> Result<(), LedgerError> {
    let (source, change) = (AddressBytes::account(view.source_key()), PoolChange::only(view)?);
    for (asset, amount) in &change.sides {
        take(&Event::between(tokens.of(asset), change.address(), source, *amount));
    }
    Ok(())
}

/// Burns of an authorization that was taken away. Pool shares of the trustor are then paid out of their pools, into claimable balances, except
/// an asset that the trustor issues itself: no balance is made for that, and it is burned. The way from pool to balance gives no rows, so
/// only the burns are handed out.
pub(super) fn revoke(view: &OperationView<'_, '_>, tokens: &mut Tokens<'_>, take: &mut impl FnMut(&Event)) -> Result<(), LedgerError> {
    let changes = view.changes()?;
    // Ids are dear; most revocations make no balance at all.
    if created_balances(changes).next().is_none() {
        return Ok(());
    }
    let transaction = view.transaction;
    let (source, sequence) = (transaction.source_key(), transaction.sequence_number());
    for change in PoolChange::all(changes) {
        let paid_out = change.sides.map(|(asset, _)| {
            let id = contract_id::of_revoked_balance(source, sequence, view.index, change.id, &asset);
            created_balances(changes).any(|created| *created == id)
        });
        let burned = match paid_out {
            [true, false] => change.sides[1],
            [false, true] => change.sides[0],
            [true, true] | [false, false] => continue,
        };
        take(&Event { movement: Movement::Burn { from: change.address() }, token: tokens.of(&burned.0), amount: burned.1 });
    }
    Ok(())
}

/// Ids of the claimable balances that an operation made.
fn created_balances<'a>(changes: &'a [Change<'a>]) -> impl Iterator<Item = &'a [u8; 32]> {
    changes.iter().filter_map(|change| match change.entry().data {
        LedgerEntryData::ClaimableBalance(balance) if change.kind == ChangeKind::Created => {
            let ClaimableBalanceId::ClaimableBalanceIdTypeV0(hash) = balance.balance_id;
            Some(hash)
        }
        _ => None,
    })
}
