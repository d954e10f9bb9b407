//! Types and constants.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::super::rust_type::RustTypes;
use super::{FOLDER, aggregates, parent_module};
use crate::c::{Type, tokens};
use crate::output::Output;
use crate::registry::{Enumeration, ErrorCode, Item, Kind, Registry, Topic, by_name};

pub(super) fn generate(root: &Path, registry: &Registry, types: &RustTypes, outputs: &mut Vec<Output>) -> Result<()> {
    let items = by_name(&registry.topics);
    let mut modules = topics(root, "types", &registry.topics, &items, types, outputs)?;
    outputs.push(Output::rust(root, format!("{FOLDER}/types/result.rs"), &result(&registry.errors)?)?);
    modules.push("result");
    modules.sort_unstable();
    parent_module(root, "types", "C types and constants, by topic.", &modules, outputs)
}

/// The types and constants of the runtime API, which may be made of the driver API's.
pub(super) fn runtime(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let all = registry.topics.iter().chain(&registry.runtime.topics);
    let types = RustTypes::new(all.clone());
    let items = all.flat_map(|topic| &topic.items).map(|item| (item.name.as_str(), item)).collect();
    let mut modules = topics(root, "runtime", &registry.runtime.topics, &items, &types, outputs)?;
    let result = super::runtime_result::result(&registry.runtime.errors)?;
    outputs.push(Output::rust(root, format!("{FOLDER}/runtime/result.rs"), &result)?);
    modules.push("result");
    modules.sort_unstable();
    parent_module(root, "runtime", "C types and constants of the runtime API, by topic.", &modules, outputs)
}

/// The types and constants of the management library, which is made of nothing else.
pub(super) fn nvml(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let types = RustTypes::new(&registry.nvml.topics);
    let items = by_name(&registry.nvml.topics);
    let mut modules = topics(root, "nvml", &registry.nvml.topics, &items, &types, outputs)?;
    let result = super::nvml_return::result(&registry.nvml)?;
    outputs.push(Output::rust(root, format!("{FOLDER}/nvml/result.rs"), &result)?);
    modules.push("result");
    modules.sort_unstable();
    parent_module(root, "nvml", "C types and constants of the management library, by topic.", &modules, outputs)
}

/// A module for each topic, below `folder`; their names.
fn topics<'a>(
    root: &Path,
    folder: &str,
    topics: &'a [Topic],
    items: &HashMap<&str, &Item>,
    types: &RustTypes,
    outputs: &mut Vec<Output>,
) -> Result<Vec<&'a str>> {
    let mut modules = Vec::new();
    for topic in topics {
        let mut text = String::new();
        for item in &topic.items {
            write_item(&mut text, item, types, items).with_context(|| item.name.clone())?;
        }
        let own: Vec<&str> = topic.items.iter().map(|item| item.name.as_str()).collect();
        let here = |word: &str| {
            let result = match folder {
                "runtime" => "cudaError",
                "nvml" => "nvmlReturn_t",
                _ => "CUresult",
            };
            topics.iter().flat_map(|topic| &topic.items).any(|item| item.name == word) || word == result
        };
        let siblings = if words(&text).any(|word| here(word) && !own.contains(&word)) { "use super::*;\n" } else { "" };
        let elsewhere = words(&text).any(|word| items.contains_key(word) && !here(word));
        let driver = if elsewhere { "use crate::types::*;\n" } else { "" };
        let source = if folder == "types" { folder.to_owned() } else { format!("{folder}/types") };
        let body = format!(
            "//! Types and constants of `registry/{source}/{}.toml`.\n\n{siblings}{driver}{}\n{text}",
            topic.name,
            macros_used(&text)
        );
        outputs.push(Output::rust(root, format!("{FOLDER}/{folder}/{}.rs", topic.name), &body)?);
        modules.push(topic.name.as_str());
    }
    Ok(modules)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The import of the macros that `text` calls.
fn macros_used(text: &str) -> String {
    let used: Vec<&str> = ["c_enum", "callback", "handle", "opaque_debug"]
        .into_iter()
        .filter(|name| text.lines().any(|line| line.starts_with(&format!("{name}!"))))
        .collect();
    if used.is_empty() { String::new() } else { format!("use crate::define::{{{}}};\n", used.join(", ")) }
}

fn write_item(text: &mut String, item: &Item, types: &RustTypes, items: &HashMap<&str, &Item>) -> Result<()> {
    let name = &item.name;
    match &item.kind {
        Kind::Handle { tag } => {
            writeln!(text, "handle! {{\n/// `struct {tag} *` in C.\n{name}\n}}\n")?;
        }
        Kind::Alias { of, .. } => {
            writeln!(text, "/// Another name for [`{0}`].\npub type {name} = {0};\n", types.name(of))?;
        }
        Kind::Foreign { of, defined_in, .. } => {
            let of = match of {
                Type::Name(void) if void == "void" => "core::ffi::c_void".to_owned(),
                of => types.name(of),
            };
            writeln!(text, "/// Defined in `{defined_in}`.\npub type {name} = {of};\n")?;
        }
        Kind::Enum(enumeration) => write_enum(text, name, enumeration)?,
        Kind::Callback { returns, params } => {
            let function = types.function(returns, params.iter());
            writeln!(text, "callback! {{\n/// A pointer to a function of the application.\n{name}: {function}\n}}\n")?;
        }
        Kind::Constant(value) => write_constant(text, name, value)?,
        Kind::Aggregate { aggregate, .. } => aggregates::write(text, name, aggregate, types, items)?,
    }
    Ok(())
}

fn write_enum(text: &mut String, name: &str, enumeration: &Enumeration) -> Result<()> {
    let newest = || enumeration.enumerators.iter().filter(|enumerator| enumerator.until.is_none());
    let signed = newest().any(|enumerator| enumerator.value < 0);
    let tag = enumeration.tag.as_ref().map_or("an enum without a tag".to_owned(), |tag| format!("`enum {tag}`"));
    writeln!(text, "c_enum! {{\n/// {tag} in C.\n{name}: {} {{", if signed { "i32" } else { "u32" })?;
    for enumerator in newest() {
        writeln!(text, "{} = {},", enumerator.name, enumerator.value)?;
    }
    writeln!(text, "}}\n}}\n")?;
    Ok(())
}

/// A macro's value is a number, a number cast to a type, or the name of an enumerator.
fn write_constant(text: &mut String, name: &str, value: &str) -> Result<()> {
    let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(value);
    let (ty, value) = match inner.strip_prefix('(').and_then(|cast| cast.split_once(')')) {
        Some(("void*", constant)) => ("usize", constant.to_owned() + " as usize"),
        Some(("CUstream" | "cudaStream_t", number)) => ("CUstream", format!("CUstream({number})")),
        Some((ty, number)) => (ty, number.to_owned()),
        None if inner.starts_with("CU_") => ("CUlaunchAttributeID", format!("CUlaunchAttributeID::{inner}")),
        None if inner.starts_with("cudaLaunchAttribute") => {
            ("cudaLaunchAttributeID", format!("cudaLaunchAttributeID::{inner}"))
        }
        None if inner.starts_with('-') => ("i32", inner.to_owned()),
        None if inner == "~0u" => ("u32", "!0".to_owned()),
        None => ("u32", inner.to_owned()),
    };
    tokens(&value).context("the value of a constant")?;
    writeln!(text, "/// `{inner}` in C.\npub const {name}: {ty} = {value};\n")?;
    Ok(())
}

/// `CUresult` and what the API says about each code.
fn result(errors: &[ErrorCode]) -> Result<String> {
    let (mut constants, mut names, mut texts, mut since) = (String::new(), String::new(), String::new(), String::new());
    for code in errors {
        writeln!(constants, "{} = {},", code.name, code.value)?;
        writeln!(names, "{} => c{:?},", code.value, code.name)?;
        writeln!(texts, "{} => c{:?},", code.value, code.text)?;
        if code.since > 0 {
            writeln!(since, "{} => {},", code.value, code.since)?;
        }
    }
    Ok(format!(
        "//! `CUresult`.

use core::ffi::CStr;

use crate::define::*;

c_enum! {{
/// `enum cudaError_enum` in C: how a call went.
CUresult: u32 {{ {constants} }}
}}

impl CUresult {{
    /// The name of the constant, as `cuGetErrorName` returns it; none for a value that is no result code.
    pub const fn name(self) -> Option<&'static CStr> {{
        Some(match self.0 {{ {names} _ => return None }})
    }}

    /// The text that `cuGetErrorString` returns.
    pub const fn text(self) -> Option<&'static CStr> {{
        Some(match self.0 {{ {texts} _ => return None }})
    }}

    /// The CUDA version that added the code; 0 for those older than 11.3.
    pub const fn since(self) -> i32 {{
        match self.0 {{ {since} _ => 0 }}
    }}
}}
"
    ))
}
