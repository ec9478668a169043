//! Contract ids: SHA-256 of `HashIDPreimage` of type contract id, from the network, and a deployer with salt or an asset (CAP-46).

use sha2::{Digest, Sha256};
use starmill_xdr::{Asset, ClaimableBalanceId, ContractIdPreimage, PublicKey, ScAddress};

use crate::network::Network;

/// `ENVELOPE_TYPE_CONTRACT_ID`.
const TYPE_CONTRACT_ID: [u8; 4] = [0, 0, 0, 8];

/// The id of the contract that a preimage stands for.
pub fn from_preimage(network: &Network, preimage: &ContractIdPreimage<'_>) -> [u8; 32] {
    match preimage {
        ContractIdPreimage::Address(from) => {
            let mut sha = start(network, 0);
            address(&mut sha, &from.address);
            sha.update(from.salt);
            sha.finalize().into()
        }
        ContractIdPreimage::Asset(asset) => of_asset(network, asset),
    }
}

/// The id of the asset contract (SAC) of an asset.
pub fn of_asset(network: &Network, asset: &Asset<'_>) -> [u8; 32] {
    let mut sha = start(network, 1);
    match asset {
        Asset::Native => number(&mut sha, 0),
        Asset::CreditAlphanum4(a) => {
            number(&mut sha, 1);
            sha.update(a.asset_code);
            public_key(&mut sha, a.issuer);
        }
        Asset::CreditAlphanum12(a) => {
            number(&mut sha, 2);
            sha.update(a.asset_code);
            public_key(&mut sha, a.issuer);
        }
    }
    sha.finalize().into()
}

fn start(network: &Network, arm: u32) -> Sha256 {
    let mut sha = Sha256::new_with_prefix(TYPE_CONTRACT_ID);
    sha.update(network.id());
    number(&mut sha, arm);
    sha
}

fn number(sha: &mut Sha256, value: u32) {
    sha.update(value.to_be_bytes());
}

fn public_key(sha: &mut Sha256, key: PublicKey<'_>) {
    let PublicKey::PublicKeyTypeEd25519(key) = key;
    number(sha, 0);
    sha.update(key);
}

/// The XDR of an address.
fn address(sha: &mut Sha256, address: &ScAddress<'_>) {
    number(sha, address.discriminant() as u32);
    match address {
        ScAddress::Account(key) => public_key(sha, **key),
        ScAddress::Contract(id) | ScAddress::LiquidityPool(id) => sha.update(id),
        ScAddress::MuxedAccount(muxed) => {
            sha.update(muxed.id.to_be_bytes());
            sha.update(muxed.ed25519);
        }
        ScAddress::ClaimableBalance(balance) => {
            let ClaimableBalanceId::ClaimableBalanceIdTypeV0(hash) = balance;
            number(sha, 0);
            sha.update(hash);
        }
        ScAddress::MuxedContract(muxed) => {
            sha.update(muxed.id.to_be_bytes());
            sha.update(muxed.contract_id);
        }
    }
}
