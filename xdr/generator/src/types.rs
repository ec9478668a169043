//! Emits the declarations: structs, enums, unions as enums, typedefs as aliases.

use std::fmt::Write;

use crate::analysis::Facts;
use crate::model::{Arm, Body, Case, Definition, Field, Type};
use crate::names::{field_name, type_name, variant_name};

/// Types whose list elements remember their own bytes: operations are stored and events hashed as they stand.
const SPANNED: [&str; 2] = ["Operation", "ContractEvent"];

/// Ledger entries and the fields that are, byte for byte, the body of their ledger key: first and one past the last.
const KEY_FIELDS: [(&str, usize, usize); 9] = [
    ("AccountEntry", 0, 1),
    ("TrustLineEntry", 0, 2),
    ("OfferEntry", 0, 2),
    ("DataEntry", 0, 2),
    ("ClaimableBalanceEntry", 0, 1),
    ("LiquidityPoolEntry", 0, 1),
    ("ContractDataEntry", 1, 4),
    ("ContractCodeEntry", 1, 2),
    ("TTLEntry", 0, 1),
];

/// The fields of a struct whose bytes are kept as `key_bytes`.
pub(crate) fn key_fields(name: &str) -> Option<(usize, usize)> {
    KEY_FIELDS.iter().find(|(entry, ..)| *entry == name).map(|(_, from, to)| (*from, *to))
}

/// Whether a list of this type keeps the bytes of each element.
pub(crate) fn spanned(ty: &Type) -> bool {
    matches!(ty, Type::Ref { name } if SPANNED.contains(&name.as_str()))
}

/// The Rust type of an expression.
pub(crate) fn rust_type(facts: &Facts<'_>, ty: &Type) -> String {
    match ty {
        Type::Int => "i32".into(),
        Type::UnsignedInt => "u32".into(),
        Type::Hyper => "i64".into(),
        Type::UnsignedHyper => "u64".into(),
        Type::Bool => "bool".into(),
        Type::OpaqueFixed { size } => format!("&'a [u8; {size}]"),
        Type::OpaqueVar { .. } | Type::String { .. } => "&'a [u8]".into(),
        Type::Array { element, count } => format!("[{}; {count}]", rust_type(facts, element)),
        Type::VarArray { element, .. } if spanned(element) => format!("&'a [Spanned<'a, {}>]", rust_type(facts, element)),
        Type::VarArray { element, .. } => format!("&'a [{}]", rust_type(facts, element)),
        Type::Optional { element } => format!("Option<{}>", held_type(facts, element)),
        Type::Ref { name } => type_name(name) + if facts.body_borrows(name) { "<'a>" } else { "" },
    }
}

/// The Rust type of a union arm or optional: behind a reference when large.
pub(crate) fn held_type(facts: &Facts<'_>, ty: &Type) -> String {
    let plain = rust_type(facts, ty);
    if facts.boxed(ty) { format!("&'a {plain}") } else { plain }
}

/// The variant of a union arm for one case.
pub(crate) fn case_variant(facts: &Facts<'_>, discriminant: &Field, case: &Case) -> String {
    match (facts.schema.resolve(&discriminant.ty), &case.name) {
        (Type::Ref { name }, Some(member)) => match &facts.schema.get(name).body {
            Body::Enum { member_prefix, .. } => variant_name(member, member_prefix),
            _ => variant_name(member, ""),
        },
        _ => format!("V{}", case.value),
    }
}

/// Emits the declaration of one definition.
pub(crate) fn emit(out: &mut String, facts: &Facts<'_>, definition: &Definition) {
    let name = type_name(&definition.name);
    let life = if facts.body_borrows(&definition.name) { "<'a>" } else { "" };
    match &definition.body {
        Body::Const {} => {}
        Body::Typedef { target } => {
            let _ = writeln!(out, "/// XDR `{}`.\npub type {name}{life} = {};\n", definition.name, rust_type(facts, target));
        }
        Body::Struct { fields } => emit_struct(out, facts, definition, fields, life),
        Body::Enum { member_prefix, members } => {
            let _ = writeln!(out, "/// XDR enum `{}`.", definition.name);
            let _ = writeln!(out, "#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[repr(i32)]\npub enum {name} {{");
            for m in members {
                let _ = writeln!(out, "    /// `{}`\n    {} = {},", m.name, variant_name(&m.name, member_prefix), m.value);
            }
            let _ = writeln!(out, "}}\n\nimpl {name} {{");
            let _ = writeln!(out, "    /// Every member, in the order of the definition.");
            let all: Vec<_> = members.iter().map(|m| format!("Self::{}", variant_name(&m.name, member_prefix))).collect();
            let _ = writeln!(out, "    pub const ALL: [Self; {}] = [{}];\n", all.len(), all.join(", "));
            let _ = writeln!(
                out,
                "    /// The name in the protocol's definitions.\n    pub fn name(self) -> &'static str {{\n        match self {{"
            );
            for m in members {
                let _ = writeln!(out, "            Self::{} => {:?},", variant_name(&m.name, member_prefix), m.name);
            }
            let _ = writeln!(out, "        }}\n    }}\n}}\n");
        }
        Body::Union { discriminant, arms } => emit_union(out, facts, definition, discriminant, arms, life),
    }
}

fn emit_struct(out: &mut String, facts: &Facts<'_>, definition: &Definition, fields: &[Field], life: &str) {
    let _ = writeln!(out, "/// XDR struct `{}`.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]", definition.name);
    let _ = writeln!(out, "pub struct {}{life} {{", type_name(&definition.name));
    for f in fields {
        let _ = writeln!(out, "    /// `{}`\n    pub {}: {},", f.name, field_name(&f.name), rust_type(facts, &f.ty));
    }
    if key_fields(&definition.name).is_some() {
        let _ = writeln!(out, "    /// The bytes of this entry's ledger key after the key's type.\n    pub key_bytes: &'a [u8],");
    }
    let _ = writeln!(out, "}}\n");
}

fn emit_union(out: &mut String, facts: &Facts<'_>, definition: &Definition, discriminant: &Field, arms: &[Arm], life: &str) {
    let name = type_name(&definition.name);
    let _ = writeln!(out, "/// XDR union `{}`.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum {name}{life} {{", definition.name);
    for arm in arms {
        for case in &arm.cases {
            let variant = case_variant(facts, discriminant, case);
            let shown = case.name.clone().unwrap_or_else(|| format!("{} = {}", discriminant.name, case.value));
            match &arm.ty {
                Some(ty) => drop(writeln!(out, "    /// `{shown}`\n    {variant}({}),", held_type(facts, ty))),
                None => drop(writeln!(out, "    /// `{shown}`\n    {variant},")),
            }
        }
    }
    let _ = writeln!(out, "}}\n");
    let by_enum = matches!(facts.schema.resolve(&discriminant.ty), Type::Ref { .. });
    let disc = if by_enum { rust_type(facts, &discriminant.ty) } else { "i32".into() };
    let life = if life.is_empty() { "" } else { "<'_>" };
    let _ = writeln!(
        out,
        "impl {name}{life} {{\n    /// The discriminant `{}`.\n    pub fn discriminant(&self) -> {disc} {{\n        match self {{",
        discriminant.name
    );
    for arm in arms {
        for case in &arm.cases {
            let variant = case_variant(facts, discriminant, case);
            let value = if by_enum { format!("{disc}::{variant}") } else { case.value.to_string() };
            let rest = if arm.ty.is_some() { "(..)" } else { "" };
            let _ = writeln!(out, "            Self::{variant}{rest} => {value},");
        }
    }
    let _ = writeln!(out, "        }}\n    }}\n}}\n");
}
