//! Of all rows of an entry in a batch the last counts, and entries are written in the order of their keys: neighbours lie on the same page, and
//! sessions that lock rows in one order never wait for each other in a circle.

use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{
    CreditAsset, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, SacBalanceRow, Sep41AllowanceRow, TrustlineBalanceRow,
};

/// A row of current state.
pub(crate) trait Entry {
    /// What makes the entry.
    type Key<'a>: Ord
    where
        Self: 'a;

    fn key(&self) -> Self::Key<'_>;
    /// The first bytes of the key, compared first.
    fn prefix(&self) -> u64;
    fn ledger(&self) -> u32;
}

/// Calls `write` for the last row of each entry, in the order of keys. `chosen` are indexes of `rows`, ascending.
pub(crate) fn latest<R: Entry>(rows: &[R], chosen: impl Iterator<Item = usize>, order: &mut Vec<(u64, usize)>, mut write: impl FnMut(&R)) {
    order.clear();
    order.extend(chosen.filter_map(|index| rows.get(index).map(|row| (row.prefix(), index))));
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| rows[a.1].key().cmp(&rows[b.1].key())).then_with(|| a.1.cmp(&b.1)));
    for entry in order.chunk_by(|a, b| a.0 == b.0 && rows[a.1].key() == rows[b.1].key()) {
        if let Some((_, last)) = entry.last() {
            write(&rows[*last]);
        }
    }
}

fn first_bytes(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

macro_rules! entry {
    ($row:ty, ($($field:ident),+) as ($($kind:ty),+), $first:ident $($bytes:tt)*) => {
        impl Entry for $row {
            type Key<'a> = ($(&'a $kind,)+);

            fn key(&self) -> Self::Key<'_> {
                ($(&self.$field,)+)
            }

            fn prefix(&self) -> u64 {
                first_bytes(&self.$first$($bytes)*)
            }

            fn ledger(&self) -> u32 {
                self.ledger
            }
        }
    };
}

entry!(NativeBalanceRow, (account_id) as (AddressBytes), account_id.0);
entry!(TrustlineBalanceRow, (account_id, asset) as (AddressBytes, CreditAsset), account_id.0);
entry!(SacBalanceRow, (account_id, contract_id) as (AddressBytes, AddressBytes), account_id.0);
entry!(LiquidityPoolRow, (pool_id) as ([u8; 32]), pool_id);
entry!(LiquidityPoolBalanceRow, (account_id, pool_id) as (AddressBytes, [u8; 32]), account_id.0);
entry!(Sep41AllowanceRow, (owner_id, spender_id, contract_id) as (AddressBytes, AddressBytes, AddressBytes), owner_id.0);
