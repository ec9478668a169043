//! `AddressBytes`: any Stellar address as the 33 bytes that tables store, a strkey version byte and 32 bytes of payload.
//!
//! Every arm that a participant or holder can have fits: accounts, contracts, pools, claimable balances (whose always-zero type byte is left
//! out, docs/rows.md, addresses). A muxed account is stored as the account behind it.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use starmill_xdr::{AccountId, ClaimableBalanceId, ScAddress};

use crate::strkey;
use crate::transaction::account_key;

/// Strkey version bytes (SEP-23), as stored in the first byte.
pub mod version {
    /// `G…` ed25519 account.
    pub const ACCOUNT: u8 = 0x30;
    /// `C…` contract.
    pub const CONTRACT: u8 = 0x10;
    /// `L…` liquidity pool.
    pub const LIQUIDITY_POOL: u8 = 0x58;
    /// `B…` claimable balance.
    pub const CLAIMABLE_BALANCE: u8 = 0x08;
    /// `T…` pre-authorized transaction hash.
    pub const PRE_AUTH_TX: u8 = 0x98;
    /// `X…` SHA-256 hash.
    pub const HASH_X: u8 = 0xB8;
    /// `P…` signed payload.
    pub const SIGNED_PAYLOAD: u8 = 0x78;
}

/// Version byte and 32 bytes of payload. Ordered by its bytes.
#[derive(Clone, Copy)]
pub struct AddressBytes(pub [u8; 33]);

impl AddressBytes {
    /// The bytes as numbers that sort alike. The first nearly always decides, where comparing bytes would be a call; hashing them is faster too.
    #[inline]
    fn words(&self) -> (u64, u64, u64, u64, u8) {
        let (words, _) = self.0.as_chunks::<8>();
        let word = |i: usize| words.get(i).map_or(0, |word| u64::from_be_bytes(*word));
        (word(0), word(1), word(2), word(3), self.0[32])
    }
}

impl PartialEq for AddressBytes {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl Eq for AddressBytes {}

impl Hash for AddressBytes {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words().hash(state);
    }
}

impl PartialOrd for AddressBytes {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AddressBytes {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.words().cmp(&other.words())
    }
}

impl AsRef<[u8]> for AddressBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AddressBytes {
    /// Joins a version byte of [`version`] and a payload.
    pub fn new(version: u8, payload: &[u8; 32]) -> Self {
        let mut bytes = [0; 33];
        bytes[0] = version;
        bytes[1..].copy_from_slice(payload);
        Self(bytes)
    }

    /// An account by its ed25519 key.
    pub fn account(key: &[u8; 32]) -> Self {
        Self::new(version::ACCOUNT, key)
    }

    /// A contract by its id.
    pub fn contract(id: &[u8; 32]) -> Self {
        Self::new(version::CONTRACT, id)
    }

    /// An account by its id.
    pub fn account_id(id: &AccountId<'_>) -> Self {
        Self::account(account_key(id))
    }

    /// Any address that a contract can name; muxed forms become the account or contract behind them.
    pub fn sc_address(address: &ScAddress<'_>) -> Self {
        match address {
            ScAddress::Account(id) => Self::account_id(id),
            ScAddress::Contract(id) => Self::contract(id),
            ScAddress::MuxedAccount(muxed) => Self::account(muxed.ed25519),
            ScAddress::MuxedContract(muxed) => Self::contract(muxed.contract_id),
            ScAddress::LiquidityPool(id) => Self::new(version::LIQUIDITY_POOL, id),
            ScAddress::ClaimableBalance(id) => {
                let ClaimableBalanceId::ClaimableBalanceIdTypeV0(hash) = id;
                Self::new(version::CLAIMABLE_BALANCE, hash)
            }
        }
    }

    /// The strkey text (SEP-23), for people: JSON, messages.
    pub fn to_strkey(&self) -> String {
        strkey::address(self)
    }
}

impl fmt::Debug for AddressBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_strkey())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn addresses_sort_as_their_bytes(a: [u8; 32], at in 0_usize..33, to: u8) {
            let one = AddressBytes::account(&a);
            let mut other = one;
            prop_assert_eq!(one.cmp(&other), Ordering::Equal);
            other.0[at] = to;
            prop_assert_eq!(one.cmp(&other), one.0.cmp(&other.0));
            prop_assert_eq!(one == other, one.0 == other.0);
        }
    }
}
