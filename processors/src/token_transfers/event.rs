//! One movement of a token from one holder to another, or from or to nobody.

use starmill_ledger::rows::{AssetId, CreditAsset};
use starmill_ledger::{AddressBytes, Network};
use starmill_xdr::Asset;

use crate::memo::Contracts;

/// An asset by its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) contract: AddressBytes,
    /// Who issues it; nobody issues native.
    pub(super) issuer: Option<AddressBytes>,
}

/// From whom to whom: accounts, contracts, pools, claimable balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Movement {
    Transfer { from: AddressBytes, to: AddressBytes },
    Mint { to: AddressBytes },
    Burn { from: AddressBytes },
    Clawback { from: AddressBytes },
}

/// A movement of so much of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) movement: Movement,
    pub(super) token: Token,
    /// Stroops; of contract events with the sign that the contract gave.
    pub(super) amount: i128,
}

impl Event {
    /// A transfer, which is a mint if the issuer pays, and a burn if the issuer is paid; between the issuer and itself it is a transfer.
    pub(super) fn between(token: Token, from: AddressBytes, to: AddressBytes, amount: i128) -> Self {
        let issues = |holder| token.issuer == Some(holder);
        let movement = match (issues(from), issues(to)) {
            (true, false) => Movement::Mint { to },
            (false, true) => Movement::Burn { from },
            (true, true) | (false, false) => Movement::Transfer { from, to },
        };
        Self { movement, token, amount }
    }

    /// By how much it changes what the holder has. Of amounts of 64 bits: others may not fit.
    pub(super) fn gain_of(&self, holder: AddressBytes) -> i128 {
        let (from, to) = match self.movement {
            Movement::Transfer { from, to } => (Some(from), Some(to)),
            Movement::Mint { to } => (None, Some(to)),
            Movement::Burn { from } | Movement::Clawback { from } => (Some(from), None),
        };
        let got = if to == Some(holder) { self.amount } else { 0 };
        let gave = if from == Some(holder) { self.amount } else { 0 };
        got - gave
    }
}

/// Makes tokens of assets.
#[derive(Debug)]
pub(super) struct Tokens<'m> {
    pub(super) network: &'m Network,
    pub(super) contracts: &'m mut Contracts,
}

impl Tokens<'_> {
    /// Lumens.
    pub(super) fn native(&mut self) -> Token {
        self.of_id(&AssetId::Native)
    }

    /// Any asset.
    pub(super) fn of(&mut self, asset: &Asset<'_>) -> Token {
        self.of_id(&CreditAsset::of(asset).map_or(AssetId::Native, AssetId::Credit))
    }

    /// The same, owned.
    pub(super) fn of_id(&mut self, asset: &AssetId) -> Token {
        let issuer = match asset {
            AssetId::Native => None,
            AssetId::Credit(asset) => Some(AddressBytes::account(&asset.issuer)),
        };
        Token { contract: self.contracts.of(self.network, asset), issuer }
    }
}
