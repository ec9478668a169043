//! Assets as text (SEP-11), as asset contracts name them in their events: `native`, or `CODE:ISSUER`.

use starmill_ledger::rows::{AssetId, CreditAsset};
use starmill_ledger::{Network, contract_id};
use starmill_xdr::Asset;
use stellar_strkey::ed25519;

use crate::contract_values::{contract_of, credit_asset};

/// An asset that was read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AssetText(AssetId);

impl AssetText {
    /// The first of a comma-separated list of assets, all of which must be assets.
    pub(crate) fn first_of_list(text: &[u8]) -> Option<Self> {
        let mut list = std::str::from_utf8(text).ok()?.split(',');
        let first = Self::one(list.next()?)?;
        list.all(|other| Self::one(other).is_some()).then_some(first)
    }

    fn one(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("native") {
            return Some(Self(AssetId::Native));
        }
        let (code, issuer) = text.split_once(':')?;
        if !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let issuer = ed25519::PublicKey::from_string(issuer).ok()?;
        credit_asset(code.as_bytes(), issuer.0).map(|asset| Self(AssetId::Credit(asset)))
    }

    /// The asset, unless it is native.
    pub(crate) fn credit(&self) -> Option<CreditAsset> {
        match self.0 {
            AssetId::Native => None,
            AssetId::Credit(asset) => Some(asset),
        }
    }

    /// The id of its contract.
    pub(crate) fn contract(&self, network: &Network) -> [u8; 32] {
        match self.0 {
            AssetId::Native => contract_id::of_asset(network, &Asset::Native),
            AssetId::Credit(asset) => contract_of(network, &asset),
        }
    }
}
