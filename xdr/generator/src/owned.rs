//! Emits the conversions into the owned types of the stellar-xdr crate, the other side of the differential tests.

use std::fmt::Write;

use crate::analysis::Facts;
use crate::model::{Body, Definition, Type};
use crate::names::{field_name, type_name};
use crate::types::{case_variant, spanned};

/// An expression that converts `expr`, a value (not a reference to one) of `ty` that stands in the definition `owner`.
fn convert(facts: &Facts<'_>, owner: &str, ty: &Type, expr: &str) -> String {
    match ty {
        Type::Int | Type::UnsignedInt | Type::Hyper | Type::UnsignedHyper | Type::Bool => expr.into(),
        Type::OpaqueFixed { .. } => format!("*{expr}"),
        Type::OpaqueVar { .. } | Type::String { .. } => format!("{expr}.to_vec().try_into()?"),
        Type::Array { element, count } => {
            let parts: Vec<_> = (0..*count).map(|i| convert(facts, owner, element, &format!("{expr}[{i}]"))).collect();
            format!("[{}]", parts.join(", "))
        }
        Type::VarArray { element, .. } => {
            let item = if spanned(element) { "item.value" } else { "(*item)" };
            let each = convert(facts, owner, element, item);
            format!("{expr}.iter().map(|item| Ok({each})).collect::<Result<Vec<_>, s::Error>>()?.try_into()?")
        }
        Type::Optional { element } => {
            let item = if facts.boxed(element) { "(*item)" } else { "item" };
            let inner = part(facts, owner, element, item);
            format!("match {expr} {{ Some(item) => Some({inner}), None => None }}")
        }
        Type::Ref { name } => match &facts.schema.get(name).body {
            Body::Typedef { target } => match target {
                Type::Int | Type::UnsignedInt | Type::Hyper | Type::UnsignedHyper => expr.into(),
                _ => format!("s::{}({})", type_name(name), convert(facts, name, target, expr)),
            },
            Body::Enum { .. } => format!("s::{}::try_from({expr} as i32)?", type_name(name)),
            _ => format!("{expr}.to_owned_xdr()?"),
        },
    }
}

/// The same for a field, an arm or an optional of `owner`, which stellar-xdr keeps in a `Box` if its type contains `owner` again.
fn part(facts: &Facts<'_>, owner: &str, ty: &Type, expr: &str) -> String {
    let value = convert(facts, owner, ty, expr);
    match ty {
        Type::Ref { name } if facts.contains_directly(name, owner) => format!("Box::new({value})"),
        _ => value,
    }
}

/// Emits the conversion of one definition.
pub(crate) fn emit(out: &mut String, facts: &Facts<'_>, definition: &Definition) {
    let name = type_name(&definition.name);
    let life = if facts.body_borrows(&definition.name) { "<'_>" } else { "" };
    let mut body = String::new();
    match &definition.body {
        Body::Struct { fields } => {
            let _ = writeln!(body, "        Ok(s::{name} {{");
            for f in fields {
                let field = field_name(&f.name);
                let _ = writeln!(body, "            {field}: {},", part(facts, &definition.name, &f.ty, &format!("self.{field}")));
            }
            let _ = writeln!(body, "        }})");
        }
        Body::Union { discriminant, arms } => {
            let _ = writeln!(body, "        Ok(match self {{");
            for arm in arms {
                for case in &arm.cases {
                    let variant = case_variant(facts, discriminant, case);
                    match &arm.ty {
                        None => drop(writeln!(body, "            Self::{variant} => s::{name}::{variant},")),
                        Some(ty) => {
                            let value = if facts.boxed(ty) { "(**value)" } else { "(*value)" };
                            let inner = part(facts, &definition.name, ty, value);
                            let _ = writeln!(body, "            Self::{variant}(value) => s::{name}::{variant}({inner}),");
                        }
                    }
                }
            }
            let _ = writeln!(body, "        }})");
        }
        _ => return,
    }
    let _ = writeln!(
        out,
        "impl {name}{life} {{\n    /// The owned value of stellar-xdr.\n    pub fn to_owned_xdr(&self) -> Result<s::{name}, s::Error> {{\n{body}    }}\n}}\n"
    );
}
