//! What the emitters need to know of a type: smallest encoding, fixed encoding, size in memory, recursion, whether it borrows.
//!
//! Sizes in memory are estimates from above; they decide only what goes behind a reference.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Body, Definition, Schema, Type};
use crate::types::key_fields;

/// A union arm or optional larger than this is kept behind a reference into the arena.
pub(crate) const INLINE_SIZE_MAX: usize = 8;
/// Memory of a list element for each byte of its smallest encoding, at most.
pub(crate) const AMPLIFICATION_MAX: usize = 16;

/// Facts about every reachable definition.
#[derive(Debug)]
pub(crate) struct Facts<'s> {
    pub(crate) schema: &'s Schema,
    recursive: BTreeSet<String>,
    size_min: BTreeMap<String, usize>,
}

impl<'s> Facts<'s> {
    /// Computes the facts.
    pub(crate) fn new(schema: &'s Schema) -> Self {
        let recursive = schema.order.iter().filter(|n| reaches_itself(schema, n)).cloned().collect();
        let mut facts = Self { schema, recursive, size_min: BTreeMap::new() };
        // Unions give recursion its ground, so sizes settle after as many rounds as types nest.
        facts.size_min = schema.order.iter().map(|n| (n.clone(), usize::MAX / 1024)).collect();
        loop {
            let next: BTreeMap<_, _> = schema.order.iter().map(|n| (n.clone(), facts.body_size_min(&schema.get(n).body))).collect();
            if next == facts.size_min {
                return facts;
            }
            facts.size_min = next;
        }
    }

    fn body_size_min(&self, body: &Body) -> usize {
        match body {
            Body::Const {} => 0,
            Body::Enum { .. } => 4,
            Body::Typedef { target } => self.size_min(target),
            Body::Struct { fields } => fields.iter().map(|f| self.size_min(&f.ty)).sum(),
            Body::Union { arms, .. } => 4 + arms.iter().map(|a| a.ty.as_ref().map_or(0, |t| self.size_min(t))).min().unwrap_or(0),
        }
    }

    /// Bytes of the smallest encoding.
    pub(crate) fn size_min(&self, ty: &Type) -> usize {
        match ty {
            Type::Hyper | Type::UnsignedHyper => 8,
            Type::OpaqueFixed { size } => size.next_multiple_of(4),
            Type::Array { element, count } => count * self.size_min(element),
            Type::Ref { name } => self.size_min[name],
            // An integer, a boolean, or the length or flag before something that may be empty.
            _ => 4,
        }
    }

    /// Bytes of every encoding, for types that have only one size and no choice that moves their parts.
    pub(crate) fn flat(&self, ty: &Type) -> Option<usize> {
        match ty {
            Type::OpaqueFixed { size } if size % 4 == 0 => Some(*size),
            Type::Int | Type::UnsignedInt | Type::Bool | Type::Hyper | Type::UnsignedHyper => Some(self.size_min(ty)),
            Type::Array { element, count } => Some(count * self.flat(element)?),
            Type::Ref { name } => self.flat_body(name),
            _ => None,
        }
    }

    /// The same for a definition.
    pub(crate) fn flat_body(&self, name: &str) -> Option<usize> {
        if self.recursive.contains(name) {
            return None;
        }
        match &self.schema.get(name).body {
            Body::Const {} => None,
            Body::Enum { .. } => Some(4),
            Body::Typedef { target } => self.flat(target),
            Body::Struct { fields } => fields.iter().map(|f| self.flat(&f.ty)).sum(),
            Body::Union { arms, .. } => match arms.as_slice() {
                [arm] if arm.cases.len() == 1 => Some(4 + arm.ty.as_ref().map_or(Some(0), |t| self.flat(t))?),
                _ => None,
            },
        }
    }

    /// Whether a flat type accepts any bytes of its size.
    pub(crate) fn free(&self, ty: &Type) -> bool {
        match self.schema.resolve(ty) {
            Type::Bool => false,
            Type::Array { element, .. } => self.free(element),
            Type::Ref { name } => match &self.schema.get(name).body {
                Body::Struct { fields } => fields.iter().all(|f| self.free(&f.ty)),
                _ => false,
            },
            _ => true,
        }
    }

    /// Whether the definition can contain itself.
    pub(crate) fn recursive(&self, name: &str) -> bool {
        self.recursive.contains(name)
    }

    /// Whether `name` contains `part` without a typedef between them.
    pub(crate) fn contains_directly(&self, name: &str, part: &str) -> bool {
        reaches(self.schema, name, part, |definition| !matches!(definition.body, Body::Typedef { .. }))
    }

    /// Whether exactly one place of the definitions reads this one, typedefs looked through.
    pub(crate) fn used_once(&self, name: &str) -> bool {
        !self.recursive(name) && self.uses(name) == 1
    }

    fn uses(&self, name: &str) -> usize {
        let in_body = |d: &Definition| d.body.targets().iter().filter(|target| **target == name).count();
        let users = self.schema.order.iter().map(|n| self.schema.get(n)).filter(|user| in_body(user) > 0);
        users
            .map(|user| match user.body {
                // A typedef inside a cycle has uses without end; two is enough to say "not once".
                Body::Typedef { .. } if self.recursive(&user.name) => 2,
                Body::Typedef { .. } => in_body(user) * self.uses(&user.name),
                _ => in_body(user),
            })
            .sum()
    }

    /// Whether the Rust type has a lifetime.
    pub(crate) fn borrows(&self, ty: &Type) -> bool {
        match ty {
            Type::OpaqueFixed { .. } | Type::OpaqueVar { .. } | Type::String { .. } | Type::VarArray { .. } => true,
            Type::Array { element, .. } => self.borrows(element),
            Type::Optional { element } => self.boxed(element) || self.borrows(element),
            Type::Ref { name } => self.body_borrows(name),
            _ => false,
        }
    }

    /// The same for a definition.
    pub(crate) fn body_borrows(&self, name: &str) -> bool {
        if self.recursive(name) {
            return true;
        }
        match &self.schema.get(name).body {
            Body::Const {} | Body::Enum { .. } => false,
            Body::Typedef { target } => self.borrows(target),
            Body::Struct { fields } => fields.iter().any(|f| self.borrows(&f.ty)),
            Body::Union { arms, .. } => arms.iter().filter_map(|a| a.ty.as_ref()).any(|t| self.boxed(t) || self.borrows(t)),
        }
    }

    /// Whether a union arm or optional of this type goes behind a reference.
    pub(crate) fn boxed(&self, ty: &Type) -> bool {
        match self.schema.resolve(ty) {
            Type::Ref { name } if self.recursive(name) => true,
            // As large as a reference and its length; one more reference saves nothing and reads worse.
            Type::OpaqueVar { .. } | Type::String { .. } => false,
            resolved => self.size(resolved) > INLINE_SIZE_MAX,
        }
    }

    /// Size in memory, estimated from above.
    pub(crate) fn size(&self, ty: &Type) -> usize {
        match ty {
            Type::Int | Type::UnsignedInt => 4,
            Type::Bool => 1,
            Type::Hyper | Type::UnsignedHyper | Type::OpaqueFixed { .. } => 8,
            Type::OpaqueVar { .. } | Type::String { .. } | Type::VarArray { .. } => 16,
            Type::Array { element, count } => count * self.size(element),
            Type::Optional { element } if self.boxed(element) => 8,
            Type::Optional { element } => match self.schema.resolve(element) {
                Type::OpaqueFixed { .. } => 8,
                other => (self.size(other) + 8).next_multiple_of(8),
            },
            Type::Ref { name } => match &self.schema.get(name).body {
                Body::Const {} => 0,
                Body::Enum { .. } => 4,
                Body::Typedef { target } => self.size(target),
                Body::Struct { fields } => {
                    let key_bytes = if key_fields(name).is_some() { 16 } else { 0 };
                    (fields.iter().map(|f| self.size(&f.ty)).sum::<usize>() + key_bytes).next_multiple_of(8)
                }
                Body::Union { arms, .. } => {
                    let payload = |t: &Type| if self.boxed(t) { 8 } else { self.size(t).next_multiple_of(8) };
                    8 + arms.iter().filter_map(|a| a.ty.as_ref()).map(payload).max().unwrap_or(0)
                }
            },
        }
    }
}

fn reaches_itself(schema: &Schema, start: &str) -> bool {
    reaches(schema, start, start, |_| true)
}

/// Whether a way leads from `start` to `end` through definitions that are let through.
fn reaches(schema: &Schema, start: &str, end: &str, through: impl Fn(&Definition) -> bool) -> bool {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![start]);
    while let Some(name) = todo.pop() {
        let definition = schema.get(name);
        if through(definition) {
            for target in definition.body.targets() {
                if target == end {
                    return true;
                }
                if seen.insert(target) {
                    todo.push(target);
                }
            }
        }
    }
    false
}
