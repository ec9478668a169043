//! What rows of current state have in common: the entry that they are of.

use std::hash::Hash;

use super::{
    CreditAsset, EntryOp, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, SacBalanceRow, Sep41AllowanceRow,
    TrustlineBalanceRow,
};
use crate::AddressBytes;

/// A row of current state.
pub trait Entry: Copy {
    /// What tells entries apart: the columns of the table's primary key, in their order.
    type Key: Copy + Ord + Hash;

    /// The key.
    fn key(&self) -> Self::Key;
    /// The first eight bytes of the key. Entries of a lower one come first.
    fn prefix(&self) -> u64;
    /// What the ledger did to the entry.
    fn op(&self) -> EntryOp;
    /// The ledger.
    fn ledger(&self) -> u32;
}

fn prefix(key: &impl AsRef<[u8]>) -> u64 {
    key.as_ref().first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

macro_rules! entry {
    ($row:ty, $key:ty, |$r:ident| $of:expr, $first:ident, $op:expr) => {
        impl Entry for $row {
            type Key = $key;

            #[inline]
            fn key(&self) -> Self::Key {
                let $r = self;
                $of
            }

            #[inline]
            fn prefix(&self) -> u64 {
                prefix(&self.$first)
            }

            #[inline]
            fn op(&self) -> EntryOp {
                let $r = self;
                $op
            }

            #[inline]
            fn ledger(&self) -> u32 {
                self.ledger
            }
        }
    };
}

entry!(NativeBalanceRow, AddressBytes, |r| r.account_id, account_id, r.op);
entry!(TrustlineBalanceRow, (AddressBytes, CreditAsset), |r| (r.account_id, r.asset), account_id, r.op);
entry!(SacBalanceRow, (AddressBytes, AddressBytes), |r| (r.account_id, r.contract_id), account_id, r.op);
entry!(LiquidityPoolRow, [u8; 32], |r| r.pool_id, pool_id, r.op);
entry!(LiquidityPoolBalanceRow, (AddressBytes, [u8; 32]), |r| (r.account_id, r.pool_id), account_id, r.op);
// An allowance that is used up stays as a row of 0 until it runs out.
entry!(Sep41AllowanceRow, (AddressBytes, AddressBytes, AddressBytes), |r| (r.owner_id, r.spender_id, r.contract_id), owner_id, {
    let _ = r;
    EntryOp::Update
});
