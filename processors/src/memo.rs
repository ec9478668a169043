//! Contract ids of assets, remembered: each costs a hash, and the same few assets come again and again.
//!
//! Only looked up, never walked, so the order of the map reaches nothing. Bounded: forgotten as a whole when full.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use starmill_ledger::rows::{AssetId, CreditAsset};
use starmill_ledger::{AddressBytes, Network, contract_id};
use starmill_xdr::Asset;

/// Assets that are remembered at most, about 10 MB.
const ASSETS_MAX: usize = 65_536;

/// The asset contracts (SAC) of one network.
#[derive(Debug, Default)]
pub struct Contracts {
    /// Id of the network that the others are of.
    network: [u8; 32],
    native: Option<AddressBytes>,
    credit: HashMap<CreditAsset, AddressBytes, RandomState>,
}

impl Contracts {
    /// The contract of an asset.
    pub fn of(&mut self, network: &Network, asset: &AssetId) -> AddressBytes {
        if self.network != *network.id() {
            *self = Self { network: *network.id(), ..Self::default() };
        }
        match asset {
            AssetId::Native => *self.native.get_or_insert_with(|| AddressBytes::contract(&contract_id::of_asset(network, &Asset::Native))),
            AssetId::Credit(asset) => {
                if let Some(known) = self.credit.get(asset) {
                    return *known;
                }
                if self.credit.len() >= ASSETS_MAX {
                    self.credit.clear();
                }
                let contract = AddressBytes::contract(&contract_id::of_credit(network, asset));
                self.credit.insert(*asset, contract);
                contract
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asset(number: usize) -> CreditAsset {
        let mut issuer = [0; 32];
        issuer[..8].copy_from_slice(&(number as u64).to_be_bytes());
        CreditAsset { code: *b"TEST\0\0\0\0\0\0\0\0", code_size: 4, issuer }
    }

    #[test]
    fn what_is_remembered_is_what_was_hashed_and_of_this_network() {
        let mut contracts = Contracts::default();
        for name in ["pubnet", "testnet", "pubnet"] {
            let network = Network::from_name_or_passphrase(name);
            for _ in 0..2 {
                let native = AddressBytes::contract(&contract_id::of_asset(&network, &Asset::Native));
                assert_eq!(contracts.of(&network, &AssetId::Native), native);
                let credit = AddressBytes::contract(&contract_id::of_credit(&network, &asset(1)));
                assert_eq!(contracts.of(&network, &AssetId::Credit(asset(1))), credit);
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        let (mut contracts, network) = (Contracts::default(), Network::from_name_or_passphrase("pubnet"));
        for number in 0..=ASSETS_MAX {
            contracts.of(&network, &AssetId::Credit(asset(number)));
        }
        assert_eq!(contracts.credit.len(), 1);
    }
}
