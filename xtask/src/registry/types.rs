//! Types and constants: registry/types/TOPIC.toml.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::c::{Aggregate, Parser, Type, Variable, tokens};

/// The types and constants of one file.
pub(crate) struct Topic {
    pub(crate) name: String,
    /// The header that declares them.
    pub(crate) header: String,
    pub(crate) items: Vec<Item>,
}

/// One type or constant.
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// An enum, with the header versions that have each enumerator.
pub(crate) struct Enumeration {
    pub(crate) tag: Option<String>,
    pub(crate) enumerators: Vec<Enumerator>,
}

/// One constant of an enum.
pub(crate) struct Enumerator {
    pub(crate) name: String,
    pub(crate) value: i64,
    /// The first header version that has it, where older ones are known not to, or to have another value.
    pub(crate) since: Option<u32>,
    /// The first header version that does not have it any more.
    pub(crate) until: Option<u32>,
}

/// What an item is.
pub(crate) enum Kind {
    /// An opaque pointer to a struct with this tag.
    Handle {
        tag: String,
    },
    Alias {
        of: Type,
        /// The type in C, where a header of the runtime API means a struct of its own.
        in_c: Option<String>,
        /// Headers older than the version mean another type.
        before: Option<(u32, String)>,
        /// The first header version without the name.
        until: Option<u32>,
    },
    Enum(Enumeration),
    Aggregate {
        aggregate: Aggregate,
        /// Headers older than the version mean another type.
        before: Option<(u32, String)>,
        /// What it has in C++ besides its fields.
        members: Option<String>,
        /// The macro that says that another header has defined it.
        guard: Option<String>,
    },
    /// A pointer to a function.
    Callback {
        returns: Type,
        params: Vec<Variable>,
    },
    /// A macro: the text of its value.
    Constant(String),
    /// A type of another project.
    Foreign {
        of: Type,
        defined_in: String,
        /// The declaration, where it is not `of NAME`.
        declaration: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    header: Option<String>,
    #[serde(default)]
    handle: Vec<RawHandle>,
    #[serde(default)]
    alias: Vec<RawAlias>,
    #[serde(default, rename = "enum")]
    enumeration: Vec<RawEnum>,
    #[serde(default, rename = "struct")]
    structure: Vec<RawAggregate>,
    #[serde(default)]
    union: Vec<RawAggregate>,
    #[serde(default)]
    vector: Vec<RawVector>,
    #[serde(default)]
    callback: Vec<RawCallback>,
    #[serde(default)]
    constant: Vec<RawConstant>,
    #[serde(default)]
    foreign: Vec<RawForeign>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHandle {
    name: String,
    tag: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAlias {
    name: String,
    of: String,
    in_c: Option<String>,
    before: Option<RawBefore>,
    until: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBefore {
    version: u32,
    of: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEnum {
    name: String,
    tag: Option<String>,
    values: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAggregate {
    name: String,
    tag: Option<String>,
    align: Option<u64>,
    guard: Option<String>,
    before: Option<RawBefore>,
    members: Option<String>,
    fields: String,
}

/// Structs of one to four values: `int1` to `int4`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVector {
    name: String,
    of: String,
    /// For each count of values: in bytes, or 0 for that of one value.
    align: [u64; 4],
    /// Four values at other alignments: the name's end and the alignment.
    #[serde(default)]
    four: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCallback {
    name: String,
    returns: Option<String>,
    params: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConstant {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawForeign {
    name: String,
    of: String,
    defined_in: String,
    declaration: Option<String>,
}

/// Every topic, in the order of `groups` with those that are no group's first; `header` declares the types of files that name none.
pub(super) fn load(folder: &Path, groups: &[&str], header: &str) -> Result<Vec<Topic>> {
    let folder = folder.join("types");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
        }
    }
    names.sort_by_key(|name| (groups.iter().position(|group| group == name), name.clone()));
    names.into_iter().map(|name| topic(&folder, name, header)).collect()
}

fn topic(folder: &Path, name: String, header: &str) -> Result<Topic> {
    let file: File = super::read_toml(&folder.join(format!("{name}.toml")))?;
    let mut items = Vec::new();
    let mut push = |name: String, kind: Result<Kind>| -> Result<()> {
        let kind = kind.with_context(|| name.clone())?;
        items.push(Item { name, kind });
        Ok(())
    };
    for raw in file.foreign {
        let kind = ty(&raw.of).map(|of| Kind::Foreign { of, defined_in: raw.defined_in, declaration: raw.declaration });
        push(raw.name, kind)?;
    }
    for raw in file.constant {
        push(raw.name, Ok(Kind::Constant(raw.value)))?;
    }
    for raw in file.handle {
        push(raw.name, Ok(Kind::Handle { tag: raw.tag }))?;
    }
    for raw in file.alias {
        let before = raw.before.map(|before| (before.version, before.of));
        push(raw.name, ty(&raw.of).map(|of| Kind::Alias { of, in_c: raw.in_c, before, until: raw.until }))?;
    }
    for raw in file.enumeration {
        let enumerators: Result<Vec<Enumerator>> = raw.values.iter().map(|text| enumerator(text)).collect();
        let kind = enumerators.map(|enumerators| Kind::Enum(Enumeration { tag: raw.tag, enumerators }));
        push(raw.name, kind)?;
    }
    for raw in file.vector {
        for (name, aggregate) in vectors(&raw)? {
            push(name, Ok(Kind::Aggregate { aggregate, before: None, members: None, guard: None }))?;
        }
    }
    for (raw, is_union) in
        file.structure.into_iter().map(|raw| (raw, false)).chain(file.union.into_iter().map(|raw| (raw, true)))
    {
        let fields = tokens(&raw.fields).and_then(|tokens| Parser::new(tokens).fields());
        let kind = fields.map(|(fields, _)| Kind::Aggregate {
            aggregate: Aggregate { is_union, tag: raw.tag, align: raw.align, fields },
            before: raw.before.map(|before| (before.version, before.of)),
            members: raw.members,
            guard: raw.guard,
        });
        push(raw.name, kind)?;
    }
    for raw in file.callback {
        let kind = callback(raw.returns.as_deref().unwrap_or("void"), &raw.params);
        push(raw.name, kind)?;
    }
    Ok(Topic { name, header: file.header.unwrap_or_else(|| header.to_owned()), items })
}

/// The structs of a vector, by name.
fn vectors(raw: &RawVector) -> Result<Vec<(String, Aggregate)>> {
    let of = ty(&raw.of)?;
    let one = |name: String, count: usize, align: u64| {
        let fields = ["x", "y", "z", "w"].iter().take(count);
        let fields = fields.map(|field| Variable { name: (*field).to_owned(), ty: of.clone() }).collect();
        let align = (align > 0).then_some(align);
        (name.clone(), Aggregate { is_union: false, tag: Some(name), align, fields })
    };
    let counted = raw.align.iter().zip(1..).map(|(align, count)| one(format!("{}{count}", raw.name), count, *align));
    let four = raw.four.iter().map(|(end, align)| one(format!("{}4_{end}", raw.name), 4, *align));
    Ok(counted.chain(four).collect())
}

fn ty(text: &str) -> Result<Type> {
    Ok(Parser::new(tokens(text)?).variable()?.ty)
}

fn callback(returns: &str, params: &[String]) -> Result<Kind> {
    let params: Result<Vec<Variable>> = params.iter().map(|param| Parser::new(tokens(param)?).variable()).collect();
    Ok(Kind::Callback { returns: ty(returns)?, params: params? })
}

/// `NAME = VALUE`, `NAME = VALUE since VERSION` or `NAME = VALUE until VERSION`.
fn enumerator(text: &str) -> Result<Enumerator> {
    let (name, rest) = text.split_once(" = ").context("an enumerator has a value")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (value, since, until) = match words[..] {
        [value] => (value, None, None),
        [value, "since", version] => (value, Some(version.parse()?), None),
        [value, "until", version] => (value, None, Some(version.parse()?)),
        _ => anyhow::bail!("{text}: not the value of an enumerator"),
    };
    let value = match value.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    Ok(Enumerator { name: name.to_owned(), value: value.with_context(|| text.to_owned())?, since, until })
}

/// Items by name, over all topics.
pub(crate) fn by_name(topics: &[Topic]) -> HashMap<&str, &Item> {
    topics.iter().flat_map(|topic| &topic.items).map(|item| (item.name.as_str(), item)).collect()
}
