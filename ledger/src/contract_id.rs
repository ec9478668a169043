//! Ids that are hashes of what they stand for: contracts (SHA-256 of `HashIDPreimage` of type contract id, from the network, and a deployer
//! with salt or an asset, CAP-46), liquidity pools and the claimable balances that a revoked pool share turns into (CAP-38).

use sha2::{Digest, Sha256};
use starmill_xdr::{Asset, ClaimableBalanceId, ContractIdPreimage, LiquidityPoolParameters, PublicKey, ScAddress};

use crate::network::Network;
use crate::rows::CreditAsset;

/// `ENVELOPE_TYPE_POOL_REVOKE_OP_ID`.
const TYPE_POOL_REVOKE: [u8; 4] = [0, 0, 0, 7];
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
    hash_asset(&mut sha, asset);
    sha.finalize().into()
}

/// The same, of a credit asset that stands in no XDR.
pub fn of_credit(network: &Network, asset: &CreditAsset) -> [u8; 32] {
    let mut sha = start(network, 1);
    match asset.code.first_chunk::<4>() {
        Some(code) if asset.code_size == 4 => {
            number(&mut sha, 1);
            sha.update(code);
        }
        _ => {
            number(&mut sha, 2);
            sha.update(asset.code);
        }
    }
    public_key(&mut sha, PublicKey::PublicKeyTypeEd25519(&asset.issuer));
    sha.finalize().into()
}

/// The id of the claimable balance that gets what a revoked pool share held of `asset`. `source` and `sequence` are those of the
/// transaction, the inner one of a fee bump; `operation` is 0-based.
pub fn of_revoked_balance(source: &[u8; 32], sequence: i64, operation: u32, pool: &[u8; 32], asset: &Asset<'_>) -> [u8; 32] {
    let mut sha = Sha256::new_with_prefix(TYPE_POOL_REVOKE);
    public_key(&mut sha, PublicKey::PublicKeyTypeEd25519(source));
    sha.update(sequence.to_be_bytes());
    number(&mut sha, operation);
    sha.update(pool);
    hash_asset(&mut sha, asset);
    sha.finalize().into()
}

/// The id of the asset contract of lumens.
pub fn of_native(network: &Network) -> [u8; 32] {
    of_asset(network, &Asset::Native)
}

/// The id of the pool of these parameters, as they stand (CAP-38): SHA-256 of `LiquidityPoolParameters`.
pub fn of_pool(parameters: &LiquidityPoolParameters<'_>) -> [u8; 32] {
    let LiquidityPoolParameters::LiquidityPoolConstantProduct(pool) = parameters;
    let mut sha = Sha256::new();
    number(&mut sha, 0);
    hash_asset(&mut sha, &pool.asset_a);
    hash_asset(&mut sha, &pool.asset_b);
    sha.update(pool.fee.to_be_bytes());
    sha.finalize().into()
}

/// The XDR of an asset.
fn hash_asset(sha: &mut Sha256, asset: &Asset<'_>) {
    match asset {
        Asset::Native => number(sha, 0),
        Asset::CreditAlphanum4(a) => {
            number(sha, 1);
            sha.update(a.asset_code);
            public_key(sha, a.issuer);
        }
        Asset::CreditAlphanum12(a) => {
            number(sha, 2);
            sha.update(a.asset_code);
            public_key(sha, a.issuer);
        }
    }
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

#[cfg(test)]
mod tests {
    use starmill_xdr::{AlphaNum4, AlphaNum12, ContractIdPreimageFromAddress};
    use stellar_strkey::Strkey;

    use super::*;
    use crate::AddressBytes;

    fn key(text: &str) -> [u8; 32] {
        match text.parse().unwrap() {
            Strkey::PublicKeyEd25519(key) => key.0,
            other => panic!("{other:?}"),
        }
    }

    fn id_of(network: &str, asset: &Asset<'_>) -> String {
        AddressBytes::contract(&of_asset(&Network::from_name_or_passphrase(network), asset)).to_strkey()
    }

    #[test]
    fn asset_contracts_of_pubnet_and_testnet() {
        assert_eq!(id_of("pubnet", &Asset::Native), "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA");
        assert_eq!(id_of("testnet", &Asset::Native), "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC");
        let issuer = key("GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN");
        let usdc = AlphaNum4 { asset_code: b"USDC", issuer: PublicKey::PublicKeyTypeEd25519(&issuer) };
        assert_eq!(id_of("pubnet", &Asset::CreditAlphanum4(&usdc)), "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75");
    }

    #[test]
    fn a_credit_asset_has_the_same_contract_wherever_it_stands() {
        let network = Network::from_name_or_passphrase("pubnet");
        let issuer = PublicKey::PublicKeyTypeEd25519(&[7; 32]);
        for asset in [
            Asset::CreditAlphanum4(&AlphaNum4 { asset_code: b"AB\0\0", issuer }),
            // A short code in the long form is another asset.
            Asset::CreditAlphanum12(&AlphaNum12 { asset_code: b"AB\0\0\0\0\0\0\0\0\0\0", issuer }),
        ] {
            assert_eq!(of_credit(&network, &CreditAsset::of(&asset).unwrap()), of_asset(&network, &asset));
        }
    }

    #[test]
    fn a_contract_deployed_on_testnet() {
        let deployer = key("GBWAH7AOBZYAYLT76Z7MQDDRRJCCERRVRSCJ4GAEGV2S5W474ZLEOH4U");
        let deployer = PublicKey::PublicKeyTypeEd25519(&deployer);
        let salt = [
            0xc3, 0xb3, 0x3c, 0x83, 0xd3, 0x19, 0xa0, 0x83, 0x2d, 0x97, 0xcb, 0x0b, 0x0b, 0x74, 0xa6, 0xe8, 0x33, 0x5c, 0xb3, 0x4c, 0xdc,
            0x6f, 0x60, 0xf6, 0x48, 0x44, 0xc3, 0x7f, 0xc2, 0x13, 0x93, 0xfc,
        ];
        let from = ContractIdPreimageFromAddress { address: ScAddress::Account(&deployer), salt: &salt };
        let id = from_preimage(&Network::from_name_or_passphrase("testnet"), &ContractIdPreimage::Address(&from));
        assert_eq!(AddressBytes::contract(&id).to_strkey(), "CANZKJUEZM22DO2XLJP4ARZAJFG7GJVBIEXJ7T4F2GAIAV4D4RMXMDVD");
    }
}
