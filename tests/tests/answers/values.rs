//! Values in the forms in which the answers write them, and as starmill writes them.

use std::path::Path;

use base64::Engine;
use serde_json::Value;
use starmill_fixtures::hash;
use stellar_strkey::{Contract, Strkey, ed25519};
use stellar_xdr::{AccountId, AlphaNum4, AlphaNum12, Asset, AssetCode4, AssetCode12, Hash, PublicKey, Uint256};

/// The network of the large majority of the answers.
pub const PUBNET: &str = "Public Global Stellar Network ; September 2015";
/// The test network.
pub const TESTNET: &str = "Test SDF Network ; September 2015";
/// The network on which changes of the protocol are tried out first.
pub const FUTURENET: &str = "Test SDF Future Network ; October 2022";

/// The bytes of a file compressed with zstd.
pub fn decompressed(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    zstd::decode_all(file).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every value of a file of JSON lines compressed with zstd.
pub fn lines(path: &Path) -> Vec<Value> {
    let text = String::from_utf8(decompressed(path)).unwrap();
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Bytes of base64 text.
pub fn bytes(base64: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text(base64)).unwrap()
}

/// Text that must be there.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// A whole number, as a number or as text.
pub fn whole(value: &Value) -> i128 {
    match value {
        Value::String(digits) => digits.parse().unwrap(),
        other => i128::from(other.as_i64().unwrap_or_else(|| panic!("no number: {other}"))),
    }
}

/// Stroops of a decimal with seven places.
pub fn stroops(value: &Value) -> i128 {
    let (units, places) = text(value).split_once('.').unwrap();
    assert_eq!(places.len(), 7, "{value}");
    format!("{units}{places}").parse().unwrap()
}

/// A decimal with seven places.
pub fn decimal(stroops: i128) -> String {
    format!("{}.{:07}", stroops / 10_000_000, stroops % 10_000_000)
}

/// A time in seconds since 1970; of a time that names no zone it is UTC.
pub fn seconds(time: &str) -> i64 {
    let zoned = format!("{}Z", time.trim_end_matches('Z'));
    zoned.parse::<jiff::Timestamp>().unwrap_or_else(|e| panic!("{time}: {e}")).as_second()
}

/// The account behind a muxed one; any other address as it is.
pub fn account(address: &str) -> String {
    match Strkey::from_string(address) {
        Ok(Strkey::MuxedAccountEd25519(muxed)) => ed25519::PublicKey(muxed.ed25519).to_string().to_string(),
        _ => address.to_owned(),
    }
}

/// The id of a pool `L…` in hex, as starmill's rows have it.
pub fn pool(address: &str) -> Option<String> {
    let Ok(Strkey::LiquidityPool(pool)) = Strkey::from_string(address) else { return None };
    Some(pool.0.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Contracts of the assets of a network, computed with the owned types and not with starmill's own code.
pub struct Tokens(Hash);

impl Tokens {
    /// Of the network with this passphrase.
    pub fn of(passphrase: &str) -> Self {
        Self(hash::network_id(passphrase))
    }

    /// The contract of lumens.
    pub fn native(&self) -> String {
        self.contract(&Asset::Native)
    }

    /// The contract of an asset given by code and issuer.
    pub fn credit(&self, code: &str, issuer: &str) -> String {
        let issuer = AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(ed25519::PublicKey::from_string(issuer).unwrap().0)));
        let padded = |n: usize| code.bytes().chain(std::iter::repeat(0)).take(n).collect::<Vec<u8>>();
        self.contract(&if code.len() <= 4 {
            Asset::CreditAlphanum4(AlphaNum4 { asset_code: AssetCode4(padded(4).try_into().unwrap()), issuer })
        } else {
            Asset::CreditAlphanum12(AlphaNum12 { asset_code: AssetCode12(padded(12).try_into().unwrap()), issuer })
        })
    }

    /// The contract of the asset in the columns `…asset_type`, `…asset_code`, `…asset_issuer`.
    pub fn of_columns(&self, columns: &Value, prefix: &str) -> String {
        let column = |name: &str| text(&columns[format!("{prefix}asset_{name}")]);
        if column("type") == "native" { self.native() } else { self.credit(column("code"), column("issuer")) }
    }

    fn contract(&self, asset: &Asset) -> String {
        Contract(hash::asset_contract_id(&self.0, asset).unwrap().0.0).to_string().to_string()
    }
}
