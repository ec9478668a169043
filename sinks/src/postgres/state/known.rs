//! What earlier ledgers have taught: which contracts are asset contracts (SAC), which are SEP-41 tokens, which contract code is there.
//!
//! Held in memory because each row of those contracts asks for it; read from the tables at the start, extended by each committed batch, so that
//! it always says what the tables say. Only looked up, never walked: hash order reaches nothing.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures_util::TryStreamExt as _;
use starmill_ledger::rows::{AssetId, CreditAsset};
use starmill_ledger::{AddressBytes, Network, contract_id};
use stellar_strkey::{Contract, ed25519};
use tokio_postgres::{Client, Row};

use super::super::PostgresError;
use super::super::error::During as _;

/// Assets whose contract ids are held, about 40 MB. The contract of an asset beyond them is known from its instance entry alone, or when the
/// asset occurs in the same batch.
const ASSETS_MAX: usize = 450_000;

/// The contracts and the code that are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Asset contracts that have their row in `contract_tokens`.
    tokens: HashSet<AddressBytes>,
    /// Contract ids of the assets in `trustline_assets`, and of native.
    assets: HashMap<AddressBytes, AssetId>,
    /// Code in `protocol_wasms`, and whether it is a SEP-41 token.
    wasms: HashMap<[u8; 32], bool>,
    /// Contracts, and whether they run such code.
    sep41: HashMap<AddressBytes, bool>,
}

impl Known {
    /// Reads the tables.
    pub(crate) async fn load(client: &Client, network: &Network) -> Result<Self, PostgresError> {
        let mut known = Self::default();
        known.assets.insert(AddressBytes::contract(&contract_id::of_native(network)), AssetId::Native);
        for_each(client, "SELECT contract_id FROM contract_tokens WHERE type = 'SAC'", |row| {
            known.tokens.extend(row.try_get::<_, &str>(0)?.parse().ok().map(|Contract(id)| AddressBytes::contract(&id)));
            Ok(())
        })
        .await?;
        let assets = format!("SELECT code, issuer FROM trustline_assets ORDER BY id LIMIT {ASSETS_MAX}");
        for_each(client, &assets, |row| {
            // A code that no network lets through was stored as what Postgres can hold, and does not lead back to its asset.
            if let Some(asset) = credit_asset(row.try_get(0)?, row.try_get(1)?) {
                known.assets.insert(asset_contract(network, &asset), AssetId::Credit(asset));
            }
            Ok(())
        })
        .await?;
        for_each(client, "SELECT wasm_hash, coalesce(protocol_id = 'SEP41', false) FROM protocol_wasms", |row| {
            let is_sep41: bool = row.try_get(1)?;
            known.wasms.extend(row.try_get::<_, &[u8]>(0)?.try_into().ok().map(|hash| (hash, is_sep41)));
            Ok(())
        })
        .await?;
        known.load_sep41(client).await?;
        Ok(known)
    }

    /// Reads the SEP-41 tokens anew.
    pub(crate) async fn load_sep41(&mut self, client: &Client) -> Result<(), PostgresError> {
        let contracts = "SELECT contract_id FROM protocol_contracts WHERE wasm_hash IN (SELECT wasm_hash FROM protocol_wasms WHERE protocol_id = 'SEP41')";
        self.sep41.clear();
        for_each(client, contracts, |row| {
            self.sep41.extend(row.try_get::<_, &[u8]>(0)?.try_into().ok().map(|id| (AddressBytes::contract(id), true)));
            Ok(())
        })
        .await
    }

    /// Adds what a committed batch has taught.
    pub(crate) fn learn(&mut self, learned: Learned) {
        let Known { tokens, assets, wasms, sep41 } = learned.0;
        self.tokens.extend(tokens);
        let room = ASSETS_MAX.saturating_sub(self.assets.len());
        self.assets.extend(assets.into_iter().take(room));
        self.wasms.extend(wasms);
        for (contract, is_token) in sep41 {
            // Only tokens are held: any other contract is none.
            if is_token {
                self.sep41.insert(contract, true)
            } else {
                self.sep41.remove(&contract)
            };
        }
    }
}

/// What a batch teaches, kept apart until it is committed.
#[derive(Debug, Default)]
pub(crate) struct Learned(Known);

/// What is known at some place in a batch.
#[derive(Debug)]
pub(crate) struct View<'k> {
    pub(crate) known: &'k Known,
    pub(crate) learned: &'k mut Learned,
}

impl View<'_> {
    /// Whether the contract has its row in `contract_tokens` as an asset contract.
    pub(crate) fn is_token(&self, contract: &AddressBytes) -> bool {
        self.known.tokens.contains(contract) || self.learned.0.tokens.contains(contract)
    }

    /// Remembers that it has one now, and says whether that is new.
    pub(crate) fn add_token(&mut self, contract: AddressBytes) -> bool {
        !self.known.tokens.contains(&contract) && self.learned.0.tokens.insert(contract)
    }

    /// The asset whose contract this is.
    pub(crate) fn asset(&self, contract: &AddressBytes) -> Option<AssetId> {
        self.known.assets.get(contract).or_else(|| self.learned.0.assets.get(contract)).copied()
    }

    /// Remembers an asset, and says whether it is new.
    pub(crate) fn add_asset(&mut self, network: &Network, asset: CreditAsset) -> bool {
        let contract = asset_contract(network, &asset);
        !self.known.assets.contains_key(&contract) && self.learned.0.assets.insert(contract, AssetId::Credit(asset)).is_none()
    }

    /// Whether this code is a SEP-41 token; `None` for code that was never seen.
    pub(crate) fn wasm(&self, hash: &[u8; 32]) -> Option<bool> {
        self.known.wasms.get(hash).or_else(|| self.learned.0.wasms.get(hash)).copied()
    }

    /// Remembers code, and says whether it is new.
    pub(crate) fn add_wasm(&mut self, hash: [u8; 32], is_sep41: bool) -> bool {
        !self.known.wasms.contains_key(&hash) && self.learned.0.wasms.insert(hash, is_sep41).is_none()
    }

    /// Whether the contract is known as a SEP-41 token.
    pub(crate) fn is_sep41(&self, contract: &AddressBytes) -> bool {
        self.learned.0.sep41.get(contract).or_else(|| self.known.sep41.get(contract)).copied().unwrap_or(false)
    }

    /// Remembers whether it is one now.
    pub(crate) fn set_sep41(&mut self, contract: AddressBytes, is_token: bool) {
        self.learned.0.sep41.insert(contract, is_token);
    }
}

/// The contract of an asset.
fn asset_contract(network: &Network, asset: &CreditAsset) -> AddressBytes {
    AddressBytes::contract(&contract_id::of_credit(network, asset))
}

/// The asset of a row of `trustline_assets`.
fn credit_asset(code: &str, issuer: &str) -> Option<CreditAsset> {
    let ed25519::PublicKey(issuer) = issuer.parse().ok()?;
    let mut padded = [0; 12];
    padded.get_mut(..code.len())?.copy_from_slice(code.as_bytes());
    Some(CreditAsset { code: padded, code_size: if code.len() > 4 { 12 } else { 4 }, issuer })
}

/// Reads rows one by one: there may be many.
async fn for_each(
    client: &Client,
    sql: &str,
    mut take: impl FnMut(&Row) -> Result<(), tokio_postgres::Error>,
) -> Result<(), PostgresError> {
    let reading = || format!("reading what is known ({sql})");
    let mut rows = pin!(client.query_raw(sql, std::iter::empty::<&str>()).await.during(reading)?);
    while let Some(row) = rows.try_next().await.during(reading)? {
        take(&row).during(reading)?;
    }
    Ok(())
}
