//! Networks: passphrase and id. The id, SHA-256 of the passphrase, is computed once.

use sha2::{Digest, Sha256};

/// The networks that have a name, and their passphrases.
pub const PRESETS: [(&str, &str); 4] = [
    ("pubnet", "Public Global Stellar Network ; September 2015"),
    ("testnet", "Test SDF Network ; September 2015"),
    ("futurenet", "Test SDF Future Network ; October 2022"),
    ("local", "Standalone Network ; February 2017"),
];

/// A Stellar network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    passphrase: String,
    id: [u8; 32],
}

impl Network {
    /// The network of a passphrase, hashed as it stands.
    pub fn new(passphrase: impl Into<String>) -> Self {
        let passphrase = passphrase.into();
        let id = Sha256::digest(passphrase.as_bytes()).into();
        Self { passphrase, id }
    }

    /// The network of a preset's name, or of a passphrase.
    pub fn from_name_or_passphrase(text: &str) -> Self {
        let preset = PRESETS.iter().find(|(name, _)| *name == text);
        Self::new(preset.map_or(text, |(_, passphrase)| passphrase))
    }

    /// Every preset, in order of likelihood.
    pub fn presets() -> impl Iterator<Item = Self> {
        PRESETS.iter().map(|(_, passphrase)| Self::new(*passphrase))
    }

    /// The passphrase.
    pub fn passphrase(&self) -> &str {
        &self.passphrase
    }

    /// SHA-256 of the passphrase.
    pub fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// The preset's name, or the passphrase where there is none.
    pub fn name(&self) -> &str {
        PRESETS.iter().find(|(_, passphrase)| *passphrase == self.passphrase).map_or(&self.passphrase, |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_pubnet_and_testnet() {
        let begins = |name: &str, with: [u8; 8]| assert_eq!(Network::from_name_or_passphrase(name).id()[..8], with);
        begins("pubnet", 0x7ac3_3997_544e_3175_u64.to_be_bytes());
        begins("testnet", 0xcee0_302d_5984_4d32_u64.to_be_bytes());
    }

    #[test]
    fn a_passphrase_that_is_no_name_is_taken_as_it_stands() {
        let network = Network::from_name_or_passphrase("load test network");
        assert_eq!(network.passphrase(), "load test network");
        assert_eq!(network.name(), "load test network");
        assert_eq!(Network::from_name_or_passphrase("Test SDF Network ; September 2015").name(), "testnet");
    }
}
