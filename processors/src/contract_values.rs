//! Reads the values that asset contracts (SAC, CAP-46-6) keep in their entries, and tokens in their events. Whoever wrote the contract
//! wrote the value: what has another shape is `None`, never an error.

use starmill_ledger::rows::CreditAsset;
use starmill_xdr::{Int128Parts, ScAddress, ScMapEntry, ScVal};

/// The signed 128-bit number of a value.
pub(crate) fn i128_of(value: &ScVal<'_>) -> Option<i128> {
    match value {
        ScVal::I128(Int128Parts { hi, lo }) => Some((i128::from(*hi) << 64) | i128::from(*lo)),
        _ => None,
    }
}

/// The items of a vector.
pub(crate) fn vector<'a>(value: &ScVal<'a>) -> Option<&'a [ScVal<'a>]> {
    match value {
        ScVal::Vec(items) => items.copied(),
        _ => None,
    }
}

/// The entries of a map.
pub(crate) fn map<'a>(value: &ScVal<'a>) -> Option<&'a [ScMapEntry<'a>]> {
    match value {
        ScVal::Map(entries) => entries.copied(),
        _ => None,
    }
}

/// Whose balance it is, of a key `["Balance", holder]`.
pub(crate) fn balance_holder<'a>(key: &ScVal<'a>) -> Option<&'a ScAddress<'a>> {
    match vector(key)? {
        [ScVal::Symbol(b"Balance"), ScVal::Address(holder)] => Some(holder),
        _ => None,
    }
}

/// A credit asset of a code without padding, 1 to 4 bytes an alphanum4, 5 to 12 an alphanum12; `None` for other lengths.
pub(crate) fn credit_asset(code: &[u8], issuer: [u8; 32]) -> Option<CreditAsset> {
    let code_size = match code.len() {
        1..=4 => 4,
        5..=12 => 12,
        _ => return None,
    };
    let mut padded = [0; 12];
    padded[..code.len()].copy_from_slice(code);
    Some(CreditAsset { code: padded, code_size, issuer })
}
