//! Strkey text (SEP-23) of everything that has one: for people, never on the way to a table.

use starmill_xdr::{ClaimableBalanceId, MuxedAccount, ScAddress, SignerKey};
use stellar_strkey::{ClaimableBalance, Contract, HashX, LiquidityPool, PreAuthTx, Strkey, ed25519};

use crate::address::{AddressBytes, version};

/// Text of a stored address. `P…` has lost its payload there and shows as the account of its key.
pub fn address(address: &AddressBytes) -> String {
    let payload: [u8; 32] = std::array::from_fn(|i| address.0[i + 1]);
    text(&match address.0[0] {
        version::CONTRACT => Strkey::Contract(Contract(payload)),
        version::LIQUIDITY_POOL => Strkey::LiquidityPool(LiquidityPool(payload)),
        version::CLAIMABLE_BALANCE => Strkey::ClaimableBalance(ClaimableBalance::V0(payload)),
        version::PRE_AUTH_TX => Strkey::PreAuthTx(PreAuthTx(payload)),
        version::HASH_X => Strkey::HashX(HashX(payload)),
        _ => Strkey::PublicKeyEd25519(ed25519::PublicKey(payload)),
    })
}

/// `G…` or `M…` (CAP-27).
pub fn muxed_account(account: &MuxedAccount<'_>) -> String {
    text(&match account {
        MuxedAccount::Ed25519(key) => Strkey::PublicKeyEd25519(ed25519::PublicKey(**key)),
        MuxedAccount::MuxedEd25519(muxed) => Strkey::MuxedAccountEd25519(ed25519::MuxedAccount { ed25519: *muxed.ed25519, id: muxed.id }),
    })
}

/// `G…`, `C…`, `M…`, `L…` or `B…`; a muxed contract shows as its contract.
pub fn sc_address(given: &ScAddress<'_>) -> String {
    match given {
        ScAddress::MuxedAccount(muxed) => {
            text(&Strkey::MuxedAccountEd25519(ed25519::MuxedAccount { ed25519: *muxed.ed25519, id: muxed.id }))
        }
        ScAddress::ClaimableBalance(ClaimableBalanceId::ClaimableBalanceIdTypeV0(hash)) => {
            text(&Strkey::ClaimableBalance(ClaimableBalance::V0(**hash)))
        }
        other => address(&AddressBytes::sc_address(other)),
    }
}

/// `G…`, `T…`, `X…` or `P…`; `None` for a signed payload that is empty or longer than 64 bytes, which has no text.
pub fn signer_key(key: &SignerKey<'_>) -> Option<String> {
    Some(text(&match key {
        SignerKey::Ed25519(key) => Strkey::PublicKeyEd25519(ed25519::PublicKey(**key)),
        SignerKey::PreAuthTx(hash) => Strkey::PreAuthTx(PreAuthTx(**hash)),
        SignerKey::HashX(hash) => Strkey::HashX(HashX(**hash)),
        SignerKey::Ed25519SignedPayload(signed) => {
            Strkey::SignedPayloadEd25519(ed25519::SignedPayload::new(*signed.ed25519, signed.payload).ok()?)
        }
    }))
}

fn text(key: &Strkey) -> String {
    key.to_string().as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use starmill_xdr::{MuxedAccountMed25519, SignerKeyEd25519SignedPayload};

    use super::*;

    /// The key of the examples of SEP-23.
    const KEY: [u8; 32] = [
        0x3f, 0x0c, 0x34, 0xbf, 0x93, 0xad, 0x0d, 0x99, 0x71, 0xd0, 0x4c, 0xcc, 0x90, 0xf7, 0x05, 0x51, 0x1c, 0x83, 0x8a, 0xad, 0x97, 0x34,
        0xa4, 0xa2, 0xfb, 0x0d, 0x7a, 0x03, 0xfc, 0x7f, 0xe8, 0x9a,
    ];

    #[test]
    fn stored_addresses() {
        let of = |version| AddressBytes::new(version, &KEY).to_strkey();
        assert_eq!(of(version::ACCOUNT), "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ");
        assert_eq!(of(version::CONTRACT), "CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUWDA");
        assert_eq!(of(version::LIQUIDITY_POOL), "LA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUPJN");
        assert_eq!(of(version::CLAIMABLE_BALANCE), "BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TU");
        assert!(of(version::PRE_AUTH_TX).starts_with('T') && of(version::HASH_X).starts_with('X'));
    }

    #[test]
    fn version_bytes_are_those_of_the_library() {
        for version in [version::ACCOUNT, version::CONTRACT, version::LIQUIDITY_POOL, version::PRE_AUTH_TX, version::HASH_X] {
            let stored = AddressBytes::new(version, &KEY);
            let payload = match stored.to_strkey().parse::<Strkey>().unwrap() {
                Strkey::PublicKeyEd25519(key) => key.0,
                Strkey::Contract(id) => id.0,
                Strkey::LiquidityPool(id) => id.0,
                Strkey::PreAuthTx(hash) => hash.0,
                Strkey::HashX(hash) => hash.0,
                other => panic!("{other:?}"),
            };
            assert_eq!(payload, KEY);
            // The first character is the upper five bits of the version byte, in base32.
            let first = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(version >> 3)];
            assert_eq!(stored.to_strkey().as_bytes()[0], first);
        }
    }

    #[test]
    fn muxed_accounts_keep_their_id() {
        let muxed = |id| muxed_account(&MuxedAccount::MuxedEd25519(&MuxedAccountMed25519 { id, ed25519: &KEY }));
        assert_eq!(muxed(0), "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ");
        assert_eq!(muxed(1 << 63), "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK");
    }

    #[test]
    fn signed_payloads_keep_their_payload() {
        let payload: Vec<u8> = (1..=32).collect();
        let of = |payload| signer_key(&SignerKey::Ed25519SignedPayload(&SignerKeyEd25519SignedPayload { ed25519: &KEY, payload }));
        let of_32 = "PA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAQACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB6IBZGM";
        let of_29 = "PA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAOQCAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUAAAAFGBU";
        assert_eq!(of(&payload).unwrap(), of_32);
        assert_eq!(of(&payload[..29]).unwrap(), of_29);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0; 65]), None);
    }
}
