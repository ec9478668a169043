//! Assets as text (SEP-11), as asset contracts name them in their events: `native`, or `CODE:ISSUER`.

use starmill_ledger::rows::{AssetId, CreditAsset};
use stellar_strkey::ed25519;

use crate::contract_values::credit_asset;

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

    /// The asset that a text names; `None` if it names none, or a list.
    pub(crate) fn only(text: &[u8]) -> Option<Self> {
        Self::one(std::str::from_utf8(text).ok()?)
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

    /// The asset.
    pub(crate) fn id(&self) -> AssetId {
        self.0
    }

    /// The asset, unless it is native.
    pub(crate) fn credit(&self) -> Option<CreditAsset> {
        match self.0 {
            AssetId::Native => None,
            AssetId::Credit(asset) => Some(asset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ";

    fn only(text: impl AsRef<[u8]>) -> Option<AssetId> {
        AssetText::only(text.as_ref()).map(|asset| asset.id())
    }

    #[test]
    fn assets_read_back_as_they_are_written() {
        for (code, size) in [("A", 4), ("USDC", 4), ("yXLM5", 12), ("ABCDEFGHIJ12", 12)] {
            let text = format!("{code}:{ISSUER}");
            let Some(AssetId::Credit(asset)) = only(&text) else { panic!("{text}") };
            assert_eq!((asset.to_text(), asset.code_size), (text, size));
        }
        for native in ["native", "NATIVE", "Native"] {
            assert_eq!(only(native), Some(AssetId::Native));
        }
    }

    #[test]
    fn everything_else_is_no_asset() {
        let lower = ISSUER.to_lowercase();
        let contract = "CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUWDA";
        for text in [
            String::new(),
            "XLM".to_owned(),
            format!(":{ISSUER}"),
            format!("ABCDEFGHIJ123:{ISSUER}"),
            format!("US C:{ISSUER}"),
            format!("É:{ISSUER}"),
            format!("USDC:{ISSUER}:"),
            format!("USDC:{}", &ISSUER[..55]),
            format!("USDC:{}A", &ISSUER[..55]),
            format!("USDC:{lower}"),
            format!("USDC:{contract}"),
            " native".to_owned(),
        ] {
            assert_eq!(only(&text), None, "{text}");
            assert!(AssetText::first_of_list(text.as_bytes()).is_none(), "{text}");
        }
        assert_eq!(only(b"US\xff:"), None);
    }

    #[test]
    fn a_list_is_not_one_asset() {
        let list = format!("USDC:{ISSUER},native");
        assert_eq!(only(&list), None);
        assert_eq!(AssetText::first_of_list(list.as_bytes()).map(|first| first.id()), only(format!("USDC:{ISSUER}")));
        assert!(AssetText::first_of_list(format!("{list},").as_bytes()).is_none());
    }
}
