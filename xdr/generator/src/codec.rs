//! Emits `decode` and `skip`.
//!
//! Neighbouring fields of fixed size are one run: one bounds check, then constant offsets. In `skip` a run costs one addition, and a look
//! at those of its parts that not every value is allowed for. Both functions are made from the same field list, so they accept the same.

use std::fmt::Write;

use crate::analysis::{AMPLIFICATION_MAX, Facts};
use crate::model::{Arm, Body, Definition, Field, Type};
use crate::names::{field_name, type_name};
use crate::types::{case_variant, key_fields, rust_type, spanned};

/// Emits the codec of one definition; typedefs have none, they are read in place.
pub(crate) fn emit(out: &mut String, facts: &Facts<'_>, definition: &Definition) -> Result<(), String> {
    match &definition.body {
        Body::Const {} | Body::Typedef { .. } => Ok(()),
        _ if facts.flat_body(&definition.name).is_some() => emit_flat(out, facts, definition),
        Body::Struct { fields } => emit_struct(out, facts, definition, fields),
        Body::Union { discriminant, arms } => emit_union(out, facts, definition, discriminant, arms),
        Body::Enum { .. } => Err(format!("{} is an enum without a fixed size", definition.name)),
    }
}

fn max_text(max: Option<u32>) -> String {
    max.map_or_else(|| "u32::MAX".into(), |m| m.to_string())
}

/// An expression that reads `ty` from `c`.
fn decode_expr(facts: &Facts<'_>, ty: &Type) -> Result<String, String> {
    Ok(match facts.schema.resolve(ty) {
        Type::Int => "c.i32()?".into(),
        Type::UnsignedInt => "c.u32()?".into(),
        Type::Hyper => "i64::from_be_bytes(*c.take()?)".into(),
        Type::UnsignedHyper => "u64::from_be_bytes(*c.take()?)".into(),
        Type::Bool => "c.flag()?".into(),
        Type::OpaqueFixed { size } if size % 4 == 0 => format!("c.take::<{size}>()?"),
        Type::OpaqueVar { max_size } | Type::String { max_size } => format!("c.opaque({})?", max_text(*max_size)),
        Type::VarArray { element, max_count } => {
            let (size_min, size) = (facts.size_min(element), facts.size(element));
            if size > AMPLIFICATION_MAX * size_min {
                return Err(format!("a list element of {size} bytes in memory for {size_min} encoded: {element:?}"));
            }
            let read = if spanned(element) {
                let name = rust_type(facts, element).replace("<'a>", "");
                format!("Ok(slot.fill(Spanned::<{name}>::decode(c, arena)?))")
            } else {
                fill_expr(facts, element)?
            };
            format!("c.list(arena, {}, {size_min}, |c, slot| {read})?", max_text(*max_count))
        }
        Type::Optional { element } => format!("if c.flag()? {{ Some({}) }} else {{ None }}", held_expr(facts, element)?),
        Type::Ref { name } => format!("{}::decode(c, arena)?", type_name(name)),
        other => return Err(format!("no reading of {other:?}")),
    })
}

/// An expression that reads `ty` into `slot`.
fn fill_expr(facts: &Facts<'_>, ty: &Type) -> Result<String, String> {
    Ok(match facts.schema.resolve(ty) {
        Type::Ref { name } => format!("{}::decode_into(c, arena, slot)", type_name(name)),
        other => format!("Ok(slot.fill({}))", decode_expr(facts, other)?),
    })
}

/// The same as [`decode_expr`], kept in the arena when large.
fn held_expr(facts: &Facts<'_>, ty: &Type) -> Result<String, String> {
    if facts.boxed(ty) { Ok(format!("c.keep(arena, |c, slot| {})?", fill_expr(facts, ty)?)) } else { decode_expr(facts, ty) }
}

/// A statement that steps over `ty`.
fn skip_stmt(facts: &Facts<'_>, ty: &Type) -> Result<String, String> {
    if let Some(size) = facts.flat(ty) {
        if facts.free(ty) {
            return Ok(format!("c.bytes({size})?;"));
        }
        return Ok(format!("let run = c.take::<{size}>()?; {}", checks(facts, ty, 0, size).join(" ")));
    }
    Ok(match facts.schema.resolve(ty) {
        Type::OpaqueVar { max_size } | Type::String { max_size } => format!("c.opaque({})?;", max_text(*max_size)),
        Type::VarArray { element, max_count } => {
            let (max, size_min) = (max_text(*max_count), facts.size_min(element));
            if facts.flat(element).is_some() && facts.free(element) {
                format!("c.skip_flat_list({max}, {size_min})?;")
            } else {
                format!("c.skip_list({max}, {size_min}, |c| {{ {} Ok(()) }})?;", skip_stmt(facts, element)?)
            }
        }
        Type::Optional { element } => format!("if c.flag()? {{ {} }}", skip_stmt(facts, element)?),
        Type::Ref { name } => format!("{}::skip(c)?;", type_name(name)),
        other => return Err(format!("no stepping over {other:?}")),
    })
}

/// An expression for a flat `ty` at `at` of the run, which has `size` bytes.
fn part_expr(facts: &Facts<'_>, ty: &Type, at: usize, size: usize) -> String {
    let n = facts.flat(ty).unwrap_or(0);
    let part = format!("part::<{at}, {n}, {size}>(run)");
    match facts.schema.resolve(ty) {
        Type::Int => format!("i32::from_be_bytes(*{part})"),
        Type::UnsignedInt => format!("u32::from_be_bytes(*{part})"),
        Type::Hyper => format!("i64::from_be_bytes(*{part})"),
        Type::UnsignedHyper => format!("u64::from_be_bytes(*{part})"),
        Type::Bool => format!("boolean(c, {part})?"),
        Type::Array { element, count } => {
            let each = n / count;
            let parts: Vec<_> = (0..*count).map(|i| part_expr(facts, element, at + i * each, size)).collect();
            format!("[{}]", parts.join(", "))
        }
        Type::Ref { name } => format!("{}::at(c, {part})?", type_name(name)),
        _ => part,
    }
}

/// Statements that look at the parts of a flat `ty` which not every value is allowed for.
fn checks(facts: &Facts<'_>, ty: &Type, at: usize, size: usize) -> Vec<String> {
    if facts.free(ty) {
        return Vec::new();
    }
    let n = facts.flat(ty).unwrap_or(0);
    match facts.schema.resolve(ty) {
        Type::Bool => vec![format!("boolean(c, part::<{at}, 4, {size}>(run))?;")],
        Type::Array { element, count } => (0..*count).flat_map(|i| checks(facts, element, at + i * (n / count), size)).collect(),
        Type::Ref { name } => match &facts.schema.get(name).body {
            Body::Struct { fields } => {
                let mut offset = at;
                fields
                    .iter()
                    .flat_map(|f| {
                        let here = checks(facts, &f.ty, offset, size);
                        offset += facts.flat(&f.ty).unwrap_or(0);
                        here
                    })
                    .collect()
            }
            Body::Union { arms, .. } => {
                let case = arms[0].cases[0].value;
                let mut all = vec![format!("arm(c, {:?}, part::<{at}, 4, {size}>(run), {case})?;", name)];
                all.extend(arms[0].ty.iter().flat_map(|t| checks(facts, t, at + 4, size)));
                all
            }
            _ => vec![format!("{}::at(c, part::<{at}, 4, {size}>(run))?;", type_name(name))],
        },
        _ => Vec::new(),
    }
}

/// The signature of `decode_into`; the arena has a name where the body uses it.
fn decode_head(body: &str) -> String {
    let arena = if body.contains("arena") { "arena" } else { "_" };
    format!("fn decode_into<'f>(c: &mut Cursor<'a>, {arena}: &'a Arena, slot: Slot<'f, Self>) -> Result<Filled<'f>, Stop>")
}

/// What is read in one place only belongs there: the value is then built where it stays and not copied.
fn inline(facts: &Facts<'_>, name: &str) -> &'static str {
    if facts.used_once(name) { "    #[inline(always)]\n" } else { "" }
}

fn open_impl(out: &mut String, facts: &Facts<'_>, definition: &Definition) {
    let name = type_name(&definition.name);
    let life = if facts.body_borrows(&definition.name) { "<'a>" } else { "" };
    let size_min = facts.size_min(&Type::Ref { name: definition.name.clone() });
    let _ = writeln!(out, "impl<'a> Xdr<'a> for {name}{life} {{");
    let _ = writeln!(out, "    const NAME: &'static str = {:?};\n    const SIZE_MIN: usize = {size_min};\n", definition.name);
}

/// A type of one size: `at` reads it from its bytes, `decode` and `skip` take them.
fn emit_flat(out: &mut String, facts: &Facts<'_>, definition: &Definition) -> Result<(), String> {
    let name = type_name(&definition.name);
    let this = Type::Ref { name: definition.name.clone() };
    let size = facts.flat(&this).ok_or("not flat")?;
    let (life, lives) = if facts.body_borrows(&definition.name) { ("<'a>", "<'a>") } else { ("", "") };
    let run_life = if life.is_empty() { "" } else { "'a " };
    let mut body = String::new();
    match &definition.body {
        Body::Struct { fields } => {
            let mut at = 0;
            let mut inits = Vec::new();
            for f in fields {
                inits.push(format!("{}: {}", field_name(&f.name), part_expr(facts, &f.ty, at, size)));
                at += facts.flat(&f.ty).unwrap_or(0);
            }
            if let Some((from, to)) = key_fields(&definition.name) {
                let offset = |n: usize| fields[..n].iter().filter_map(|f| facts.flat(&f.ty)).sum::<usize>();
                inits.push(format!("key_bytes: part::<{}, {}, {size}>(run)", offset(from), offset(to) - offset(from)));
            }
            let _ = writeln!(body, "        Ok(Self {{ {} }})", inits.join(", "));
        }
        Body::Enum { member_prefix, members } => {
            let _ = writeln!(body, "        Ok(match i32::from_be_bytes(*run) {{");
            for m in members {
                let _ = writeln!(body, "            {} => Self::{},", m.value, crate::names::variant_name(&m.name, member_prefix));
            }
            let _ = writeln!(body, "            value => return Err(c.unknown({:?}, run, value)),\n        }})", definition.name);
        }
        Body::Union { discriminant, arms } => {
            let case = &arms[0].cases[0];
            let _ = writeln!(body, "        arm(c, {:?}, part::<0, 4, {size}>(run), {})?;", definition.name, case.value);
            let payload = arms[0].ty.as_ref().map_or(String::new(), |t| format!("({})", part_expr(facts, t, 4, size)));
            let _ = writeln!(body, "        Ok(Self::{}{payload})", case_variant(facts, discriminant, case));
        }
        _ => return Err(format!("{name} is not flat")),
    }
    let c = if body.contains("(c,") || body.contains("c.unknown") { "c" } else { "_" };
    let _ = writeln!(out, "impl{lives} {name}{life} {{");
    let _ = writeln!(
        out,
        "    #[inline(always)]\n    pub(crate) fn at({c}: &mut Cursor<'_>, run: &{run_life}[u8; {size}]) -> Result<Self, Stop> {{\n{body}    }}\n}}\n"
    );
    open_impl(out, facts, definition);
    let _ = writeln!(
        out,
        "    #[inline(always)]\n    fn decode_into<'f>(c: &mut Cursor<'a>, _: &'a Arena, slot: Slot<'f, Self>) -> Result<Filled<'f>, Stop> {{\n        let run = c.take::<{size}>()?;\n        Ok(slot.fill(Self::at(c, run)?))\n    }}\n"
    );
    let _ = writeln!(
        out,
        "    #[inline(always)]\n    fn skip(c: &mut Cursor<'a>) -> Result<(), Stop> {{\n        {}\n        Ok(())\n    }}\n}}\n",
        skip_stmt(facts, &this)?
    );
    Ok(())
}

/// Neighbouring fields of fixed size, or one field of another kind.
enum Piece<'f> {
    Run(Vec<&'f Field>),
    Single(&'f Field),
    KeyFrom,
    KeyTo,
}

fn pieces<'f>(facts: &Facts<'_>, name: &str, fields: &'f [Field]) -> Vec<Piece<'f>> {
    let key = key_fields(name);
    let mut all = Vec::new();
    for (i, f) in fields.iter().enumerate() {
        match key {
            Some((from, _)) if from == i => all.push(Piece::KeyFrom),
            Some((_, to)) if to == i => all.push(Piece::KeyTo),
            _ => {}
        }
        if facts.flat(&f.ty).is_none() {
            all.push(Piece::Single(f));
        } else if let Some(Piece::Run(run)) = all.last_mut() {
            run.push(f);
        } else {
            all.push(Piece::Run(vec![f]));
        }
    }
    if key.is_some_and(|(_, to)| to == fields.len()) {
        all.push(Piece::KeyTo);
    }
    all
}

fn run_size(facts: &Facts<'_>, run: &[&Field]) -> usize {
    run.iter().filter_map(|f| facts.flat(&f.ty)).sum()
}

fn emit_struct(out: &mut String, facts: &Facts<'_>, definition: &Definition, fields: &[Field]) -> Result<(), String> {
    let recursive = facts.recursive(&definition.name);
    open_impl(out, facts, definition);
    let inline = inline(facts, &definition.name);
    let mut body = String::new();
    if recursive {
        let _ = writeln!(body, "        c.enter()?;");
    }
    let mut inits: Vec<String> = Vec::new();
    for piece in pieces(facts, &definition.name, fields) {
        match piece {
            Piece::Run(run) => {
                let size = run_size(facts, &run);
                let _ = writeln!(body, "        let run = c.take::<{size}>()?;");
                let mut at = 0;
                for f in run {
                    let _ = writeln!(body, "        let {} = {};", field_name(&f.name), part_expr(facts, &f.ty, at, size));
                    at += facts.flat(&f.ty).unwrap_or(0);
                    inits.push(field_name(&f.name));
                }
            }
            Piece::Single(f) => {
                let _ = writeln!(body, "        let {} = {};", field_name(&f.name), decode_expr(facts, &f.ty)?);
                inits.push(field_name(&f.name));
            }
            Piece::KeyFrom => drop(writeln!(body, "        let key_mark = c.rest();")),
            Piece::KeyTo => {
                let _ = writeln!(body, "        let key_bytes = c.since(key_mark);");
                inits.push("key_bytes".into());
            }
        }
    }
    if recursive {
        let _ = writeln!(body, "        c.leave();");
    }
    let _ = writeln!(body, "        Ok(slot.fill(Self {{ {} }}))", inits.join(", "));
    let _ = writeln!(out, "{inline}    {} {{\n{body}    }}\n", decode_head(&body));
    let _ = writeln!(out, "{inline}    fn skip(c: &mut Cursor<'a>) -> Result<(), Stop> {{");
    if recursive {
        let _ = writeln!(out, "        c.enter()?;");
    }
    for piece in pieces(facts, "", fields) {
        match piece {
            Piece::Run(run) => {
                let size = run_size(facts, &run);
                let mut at = 0;
                let mut looks = Vec::new();
                for f in run {
                    looks.extend(checks(facts, &f.ty, at, size));
                    at += facts.flat(&f.ty).unwrap_or(0);
                }
                if looks.is_empty() {
                    let _ = writeln!(out, "        c.bytes({size})?;");
                } else {
                    let _ = writeln!(out, "        let run = c.take::<{size}>()?;");
                    for look in looks {
                        let _ = writeln!(out, "        {look}");
                    }
                }
            }
            Piece::Single(f) => drop(writeln!(out, "        {}", skip_stmt(facts, &f.ty)?)),
            Piece::KeyFrom | Piece::KeyTo => {}
        }
    }
    if recursive {
        let _ = writeln!(out, "        c.leave();");
    }
    let _ = writeln!(out, "        Ok(())\n    }}\n}}\n");
    Ok(())
}

fn emit_union(out: &mut String, facts: &Facts<'_>, definition: &Definition, discriminant: &Field, arms: &[Arm]) -> Result<(), String> {
    let recursive = facts.recursive(&definition.name);
    open_impl(out, facts, definition);
    for decode in [true, false] {
        let mut body = String::new();
        if recursive {
            let _ = writeln!(body, "        c.enter()?;");
        }
        let result = if decode { "let filled = " } else { "" };
        let _ = writeln!(body, "        let head = c.take::<4>()?;\n        {result}match i32::from_be_bytes(*head) {{");
        for arm in arms {
            for case in &arm.cases {
                let variant = case_variant(facts, discriminant, case);
                let arm = match (&arm.ty, decode) {
                    (None, true) => format!("slot.fill(Self::{variant})"),
                    (None, false) => "{}".into(),
                    (Some(ty), true) => format!("slot.fill(Self::{variant}({}))", held_expr(facts, ty)?),
                    (Some(ty), false) => format!("{{ {} }}", skip_stmt(facts, ty)?),
                };
                let _ = writeln!(body, "            {} => {arm},", case.value);
            }
        }
        let _ = writeln!(body, "            value => return Err(c.unknown({:?}, head, value)),\n        }};", definition.name);
        if recursive {
            let _ = writeln!(body, "        c.leave();");
        }
        let (head, end) = if decode {
            (decode_head(&body), "        Ok(filled)\n    }\n")
        } else {
            ("fn skip(c: &mut Cursor<'a>) -> Result<(), Stop>".to_owned(), "        Ok(())\n    }\n}\n")
        };
        let _ = writeln!(out, "{}    {head} {{\n{body}{end}", inline(facts, &definition.name));
    }
    Ok(())
}
