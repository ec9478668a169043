//! The definitions file that ships inside the stellar-xdr crate, as Rust values, cut down to what is reachable from the roots.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    pub(crate) version: u32,
    pub(crate) files: Vec<SourceFile>,
    pub(crate) definitions: Vec<Definition>,
}

/// One `.x` file.
#[derive(Debug, Deserialize)]
pub(crate) struct SourceFile {
    pub(crate) name: String,
}

/// One definition of a `.x` file.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) file_index: usize,
    #[serde(flatten)]
    pub(crate) body: Body,
}

/// What a definition says.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Body {
    Const {},
    Typedef {
        #[serde(rename = "type")]
        target: Type,
    },
    Struct {
        fields: Vec<Field>,
    },
    Enum {
        member_prefix: String,
        members: Vec<Member>,
    },
    Union {
        discriminant: Field,
        arms: Vec<Arm>,
    },
}

/// A struct field or a discriminant.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) ty: Type,
}

/// An enum member.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) value: i32,
}

/// A union arm; void when it has no type.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Arm {
    pub(crate) cases: Vec<Case>,
    #[serde(rename = "type")]
    pub(crate) ty: Option<Type>,
}

/// A discriminant value that selects an arm.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) value: i32,
    pub(crate) name: Option<String>,
}

/// An XDR type expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Type {
    Int,
    UnsignedInt,
    Hyper,
    UnsignedHyper,
    Bool,
    OpaqueFixed { size: usize },
    OpaqueVar { max_size: Option<u32> },
    String { max_size: Option<u32> },
    Array { element: Box<Type>, count: usize },
    VarArray { element: Box<Type>, max_count: Option<u32> },
    Optional { element: Box<Type> },
    Ref { name: String },
}

impl Type {
    /// The type expressions directly inside this one.
    fn inner(&self) -> Option<&Type> {
        match self {
            Self::Array { element, .. } | Self::VarArray { element, .. } | Self::Optional { element } => Some(element),
            _ => None,
        }
    }

    /// The definition this expression ends at, if any.
    pub(crate) fn target(&self) -> Option<&str> {
        match self {
            Self::Ref { name } => Some(name),
            other => other.inner().and_then(Type::target),
        }
    }
}

impl Body {
    /// Every definition that this one names.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Const {} | Self::Enum { .. } => Vec::new(),
            Self::Typedef { target } => target.target().into_iter().collect(),
            Self::Struct { fields } => fields.iter().filter_map(|f| f.ty.target()).collect(),
            Self::Union { discriminant, arms } => {
                discriminant.ty.target().into_iter().chain(arms.iter().filter_map(|a| a.ty.as_ref()?.target())).collect()
            }
        }
    }
}

/// The reachable definitions by name, and the names in file order.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) files: Vec<String>,
    pub(crate) order: Vec<String>,
    pub(crate) by_name: BTreeMap<String, Definition>,
}

impl Schema {
    /// Keeps what is reachable from `roots`.
    pub(crate) fn new(document: Document, roots: &[&str]) -> Result<Self, String> {
        if document.version != 1 {
            return Err(format!("definitions of version {}, only 1 is known", document.version));
        }
        let all: BTreeMap<_, _> = document.definitions.iter().map(|d| (d.name.as_str(), d)).collect();
        let mut reached = BTreeSet::new();
        let mut todo: Vec<&str> = roots.to_vec();
        while let Some(name) = todo.pop() {
            if reached.insert(name) {
                let definition = all.get(name).ok_or_else(|| format!("{name} is not defined"))?;
                todo.extend(definition.body.targets());
            }
        }
        let order: Vec<String> = document.definitions.iter().map(|d| d.name.clone()).filter(|n| reached.contains(n.as_str())).collect();
        let by_name = order.iter().map(|n| (n.clone(), all[n.as_str()].clone())).collect();
        Ok(Self { files: document.files.into_iter().map(|f| f.name).collect(), order, by_name })
    }

    /// A definition that is known to be there.
    pub(crate) fn get(&self, name: &str) -> &Definition {
        &self.by_name[name]
    }

    /// Follows typedefs to what they stand for.
    pub(crate) fn resolve<'s>(&'s self, ty: &'s Type) -> &'s Type {
        match ty {
            Type::Ref { name } => match &self.get(name).body {
                Body::Typedef { target } => self.resolve(target),
                _ => ty,
            },
            other => other,
        }
    }
}
