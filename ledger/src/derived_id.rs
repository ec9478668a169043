//! Ids that are made from names: UUIDs of version 5 (RFC 9562), so that everybody who knows the name knows the id.

use uuid::Uuid;

use crate::AddressBytes;
use crate::rows::CreditAsset;

/// The name space of trustline assets, itself made from a name.
const TRUSTLINE_ASSETS: Uuid = Uuid::from_u128(0xa244_800c_a2d6_57a8_aad0_137e_bafc_d778);
/// The name space of contract tokens.
const CONTRACT_TOKENS: Uuid = Uuid::from_u128(0xddc2_bc85_76af_547e_8696_5af0_0060_5938);

/// Id of a trustline's asset, from `CODE:ISSUER`.
pub fn trustline_asset(asset: &CreditAsset) -> Uuid {
    Uuid::new_v5(&TRUSTLINE_ASSETS, asset.to_text().as_bytes())
}

/// Id of a contract token, from its `C…` address.
pub fn contract_token(contract_id: &AddressBytes) -> Uuid {
    Uuid::new_v5(&CONTRACT_TOKENS, contract_id.to_strkey().as_bytes())
}

#[cfg(test)]
mod tests {
    use stellar_strkey::Strkey;

    use super::*;

    #[test]
    fn name_spaces_are_made_from_their_names() {
        assert_eq!(TRUSTLINE_ASSETS, Uuid::new_v5(&Uuid::NAMESPACE_DNS, b"trustline_assets"));
        assert_eq!(CONTRACT_TOKENS, Uuid::new_v5(&Uuid::NAMESPACE_DNS, b"contract_tokens"));
    }

    #[test]
    fn ids_of_usdc() {
        let Ok(Strkey::PublicKeyEd25519(issuer)) = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN".parse() else { panic!() };
        let usdc = CreditAsset { code: *b"USDC\0\0\0\0\0\0\0\0", code_size: 4, issuer: issuer.0 };
        assert_eq!(trustline_asset(&usdc).to_string(), "42251ba8-4c73-5831-bb2f-4b211588ae3f");
        let Ok(Strkey::Contract(id)) = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75".parse() else { panic!() };
        assert_eq!(contract_token(&AddressBytes::contract(&id.0)).to_string(), "5d355bc7-7b11-5f36-8734-698f810aac7c");
    }
}
