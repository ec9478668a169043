//! Rows of current state: what an entry is after the ledger, one row an entry (docs/rows.md, current state).

use std::hash::{Hash, Hasher};

use starmill_xdr::{Asset, ContractEvent, PublicKey, Spanned, TrustLineAsset};

use crate::AddressBytes;
use crate::strkey;

/// What the ledger did to an entry, all its changes taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryOp {
    /// It is new, or back.
    Add,
    /// It was there and is another.
    Update,
    /// It is no more.
    Remove,
}

/// A credit asset: code and issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CreditAsset {
    /// Code, padded with zero bytes: 4 of them for an alphanum4, 12 for an alphanum12.
    pub code: [u8; 12],
    /// 4 or 12.
    pub code_size: u8,
    /// ed25519 key of the issuer.
    pub issuer: [u8; 32],
}

impl CreditAsset {
    /// The asset, unless it is native.
    pub fn of(asset: &Asset<'_>) -> Option<Self> {
        match asset {
            Asset::Native => None,
            Asset::CreditAlphanum4(a) => Some(Self::new(a.asset_code, a.issuer)),
            Asset::CreditAlphanum12(a) => Some(Self::new(a.asset_code, a.issuer)),
        }
    }

    /// The asset of a trustline, unless it is for native (never) or a pool share.
    pub fn of_trustline(asset: &TrustLineAsset<'_>) -> Option<Self> {
        match asset {
            TrustLineAsset::Native | TrustLineAsset::PoolShare(_) => None,
            TrustLineAsset::CreditAlphanum4(a) => Some(Self::new(a.asset_code, a.issuer)),
            TrustLineAsset::CreditAlphanum12(a) => Some(Self::new(a.asset_code, a.issuer)),
        }
    }

    fn new<const N: usize>(code: &[u8; N], issuer: PublicKey<'_>) -> Self {
        let PublicKey::PublicKeyTypeEd25519(issuer) = issuer;
        let mut padded = [0; 12];
        padded[..N].copy_from_slice(code);
        // 4 or 12, by the protocol.
        Self { code: padded, code_size: if N > 4 { 12 } else { 4 }, issuer: *issuer }
    }

    /// The code without its padding.
    pub fn code_text(&self) -> &[u8] {
        let end = self.code.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &self.code[..end]
    }

    /// `CODE:ISSUER`; bytes that are not UTF-8 become U+FFFD.
    pub fn to_text(&self) -> String {
        format!("{}:{}", String::from_utf8_lossy(self.code_text()), strkey::address(&AddressBytes::account(&self.issuer)))
    }
}

impl Hash for CreditAsset {
    /// As numbers, which is faster than as bytes. The size of the code tells nothing that its padding does not, but for odd ones.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code.as_chunks::<4>().0.iter().for_each(|part| state.write_u32(u32::from_ne_bytes(*part)));
        self.issuer.as_chunks::<8>().0.iter().for_each(|part| state.write_u64(u64::from_ne_bytes(*part)));
    }
}

/// Native, or a credit asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AssetId {
    /// Lumens.
    Native,
    /// Anything else.
    Credit(CreditAsset),
}

impl AssetId {
    /// The asset as an owned value.
    pub fn of(asset: &Asset<'_>) -> Self {
        CreditAsset::of(asset).map_or(Self::Native, Self::Credit)
    }

    /// `native` or `CODE:ISSUER`.
    pub fn to_text(&self) -> String {
        match self {
            Self::Native => "native".to_owned(),
            Self::Credit(asset) => asset.to_text(),
        }
    }
}

/// One line of `native_balances`. Amounts in stroops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NativeBalanceRow {
    pub op: EntryOp,
    pub account_id: AddressBytes,
    pub balance: i64,
    /// What the account must keep: the reserves of itself and of its entries, without liabilities.
    pub minimum_balance: i64,
    pub buying_liabilities: i64,
    pub selling_liabilities: i64,
    pub num_subentries: u32,
    pub ledger: u32,
}

/// One line of `trustline_balances`. Amounts in stroops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TrustlineBalanceRow {
    pub op: EntryOp,
    pub account_id: AddressBytes,
    pub asset: CreditAsset,
    /// TOID of the last operation that changed it.
    pub operation_id: i64,
    pub balance: i64,
    pub trust_limit: i64,
    pub buying_liabilities: i64,
    pub selling_liabilities: i64,
    pub flags: u32,
    pub ledger: u32,
}

/// One line of `sac_balances`: what a contract holds of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SacBalanceRow {
    pub op: EntryOp,
    pub account_id: AddressBytes,
    /// The asset contract.
    pub contract_id: AddressBytes,
    /// TOID of the last operation that changed it.
    pub operation_id: i64,
    /// Stroops; shown with seven decimals. 0 for a removed one.
    pub balance: i128,
    pub is_authorized: bool,
    pub is_clawback_enabled: bool,
    pub ledger: u32,
}

/// One line of `liquidity_pools`. Reserves in stroops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LiquidityPoolRow {
    pub op: EntryOp,
    pub pool_id: [u8; 32],
    /// TOID of the last operation that changed it.
    pub operation_id: i64,
    pub asset_a: AssetId,
    pub reserve_a: i64,
    pub asset_b: AssetId,
    pub reserve_b: i64,
    pub ledger: u32,
}

/// One line of `liquidity_pool_balances`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LiquidityPoolBalanceRow {
    pub op: EntryOp,
    pub account_id: AddressBytes,
    pub pool_id: [u8; 32],
    /// TOID of the last operation that changed it.
    pub operation_id: i64,
    pub shares: i64,
    pub ledger: u32,
}

/// One line of `contract_tokens` that an asset contract's instance gives: name is `CODE:ISSUER`, symbol the code, 7 decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SacTokenRow {
    pub contract_id: AddressBytes,
    pub asset: CreditAsset,
}

/// One line of `protocol_wasms`: contract code that was uploaded, changed or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ProtocolWasmRow {
    pub wasm_hash: [u8; 32],
    pub bytecode_len: u32,
    /// Whether the code is a SEP-41 token, by its own specification.
    pub is_sep41: bool,
}

/// One line of `protocol_contracts`: an instance of contract code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ProtocolContractRow {
    pub contract_id: [u8; 32],
    pub wasm_hash: [u8; 32],
}

/// The contract events of one host function operation. Not a table.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ContractEventsRow<'a> {
    /// 1-based.
    pub tx_index: u32,
    /// 0-based.
    pub op_index: u32,
    pub events: &'a [Spanned<'a, ContractEvent<'a>>],
}

/// What SEP-41 events of one ledger did to a balance, summed. Kept only for contracts that are known as SEP-41 tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sep41BalanceDelta {
    pub account_id: AddressBytes,
    pub contract_id: AddressBytes,
    pub delta: i128,
    pub ledger: u32,
}

/// The last allowance that SEP-41 events of one ledger set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sep41AllowanceRow {
    pub owner_id: AddressBytes,
    pub spender_id: AddressBytes,
    pub contract_id: AddressBytes,
    pub amount: i128,
    pub expiration_ledger: u32,
    pub ledger: u32,
}
