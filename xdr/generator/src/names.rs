//! XDR names to Rust names, the way the stellar-xdr crate forms them, so that a reader of one knows the other.

use heck::{ToSnakeCase, ToUpperCamelCase};

/// The Rust name of a type.
pub(crate) fn type_name(xdr: &str) -> String {
    xdr.to_upper_camel_case()
}

/// The Rust name of a field.
pub(crate) fn field_name(xdr: &str) -> String {
    match xdr.to_snake_case().as_str() {
        keyword @ ("type" | "function" | "match") if keyword != "function" => format!("{keyword}_"),
        name => name.to_owned(),
    }
}

/// The Rust name of an enum member, without the prefix that all members share.
pub(crate) fn variant_name(xdr: &str, prefix: &str) -> String {
    let short = xdr.strip_prefix(prefix).unwrap_or(xdr).to_upper_camel_case();
    if short.starts_with(|c: char| c.is_ascii_digit()) { xdr.to_upper_camel_case() } else { short }
}

/// The module of a `.x` file: `xdr/Stellar-ledger-entries.x` is `ledger_entries`.
pub(crate) fn module_name(file: &str) -> String {
    let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".x");
    stem.trim_start_matches("Stellar-").to_snake_case()
}
