//! The runtime API: registry/runtime.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::types::{self, Topic};
use crate::c::{Parser, Type, Variable, tokens};

/// The major versions whose library is built.
pub(crate) const MAJORS: [u32; 3] = [11, 12, 13];

/// Those of them that headers are generated for.
pub(crate) const HEADER_MAJORS: [u32; 2] = [12, 13];

/// All facts of the runtime API.
pub(crate) struct Runtime {
    /// Groups of functions in the order of the manual.
    pub(crate) groups: Vec<FunctionGroup>,
    pub(crate) topics: Vec<Topic>,
    /// Result codes in ascending order of value.
    pub(crate) errors: Vec<RuntimeError>,
    /// What C++ has under functions' names besides them.
    pub(crate) overloads: Vec<Overload>,
    /// Bits of each component, for texture formats with a kind of their own.
    pub(crate) channels: BTreeMap<String, [u32; 4]>,
}

/// One group of functions: a section of the manual.
pub(crate) struct FunctionGroup {
    /// The name of its file and of the modules generated for it: `memory`.
    pub(crate) name: String,
    pub(crate) title: String,
    /// The header that declares them.
    pub(crate) header: String,
    pub(crate) functions: Vec<Function>,
}

/// An exported function.
pub(crate) struct Function {
    pub(crate) name: String,
    /// The major version that alone exports it, or exports it with this signature; what 12 alone has, 11 has too.
    pub(crate) only: Option<u32>,
    /// The first major version that exports it, if 11 does not.
    pub(crate) since: Option<u32>,
    /// The handler's name, where another major version's function with the same meaning has another name.
    pub(crate) handler: String,
    /// The suffix of the variant whose default stream is the calling thread's.
    pub(crate) per_thread: Option<String>,
    /// No header declares it.
    pub(crate) undeclared: bool,
    pub(crate) returns: Type,
    pub(crate) params: Vec<Variable>,
    /// What C++ passes for each parameter that is left out.
    pub(crate) defaults: Vec<Option<String>>,
    /// The name that stands for this function in programs.
    pub(crate) plain: Option<String>,
    pub(crate) without_effect: Option<String>,
    /// Why it is refused, for good or as long as it has no handler.
    pub(crate) refused: Option<String>,
    /// It works before the library is initialised.
    pub(crate) before_init: bool,
}

impl Function {
    /// Whether the library of a major version has it.
    pub(crate) fn is_in(&self, major: u32) -> bool {
        let until_12 = self.only == Some(12) && major < 12;
        self.only.is_none_or(|only| only == major || until_12) && self.since.is_none_or(|since| since <= major)
    }

    /// The exported symbols: whether each is the per-thread variant, and its name.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = (bool, String)> {
        let variant = self.per_thread.as_ref().map(|suffix| (true, format!("{}{suffix}", self.name)));
        std::iter::once((false, self.name.clone())).chain(variant)
    }
}

/// One result code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuntimeError {
    /// As in C: `cudaErrorInvalidValue`.
    pub(crate) name: String,
    pub(crate) value: u32,
    /// What `cudaGetErrorString` returns.
    pub(crate) text: String,
    /// The major version that alone knows it.
    pub(crate) only: Option<u32>,
}

/// An inline function of `cuda_runtime.h`, in the words of C++.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overload {
    pub(crate) name: String,
    /// The template's parameters; none for a function that is no template.
    pub(crate) template: Option<String>,
    pub(crate) params: Vec<String>,
    /// The function that it hands its arguments to.
    pub(crate) calls: Option<String>,
    /// Its statements, where it does more.
    pub(crate) body: Option<String>,
    /// The major version that alone has it.
    pub(crate) only: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Overloads {
    overload: Vec<Overload>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Channels {
    channels: BTreeMap<String, [u32; 4]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Errors {
    pub(super) error: Vec<RuntimeError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Groups {
    pub(super) groups: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    header: Option<String>,
    function: Vec<RawFunction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFunction {
    name: String,
    only: Option<u32>,
    since: Option<u32>,
    handler: Option<String>,
    per_thread: Option<String>,
    #[serde(default)]
    undeclared: bool,
    returns: Option<String>,
    #[serde(default)]
    params: Vec<String>,
    plain: Option<String>,
    without_effect: Option<String>,
    refused: Option<String>,
    #[serde(default)]
    before_init: bool,
}

pub(super) fn load(registry: &Path) -> Result<Runtime> {
    let folder = registry.join("runtime");
    let Groups { groups } = super::read_toml(&folder.join("groups.toml"))?;
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    let topics = types::load(&folder, &names, "driver_types.h")?;
    let Errors { error: errors } = super::read_toml(&folder.join("errors.toml"))?;
    for pair in errors.windows(2) {
        if pair[0].value >= pair[1].value {
            bail!("runtime/errors.toml: {} must come before {}", pair[1].name, pair[0].name);
        }
    }
    let groups: Result<Vec<FunctionGroup>> = groups
        .into_iter()
        .map(|name| group(&folder.join("functions"), name, "cuda_runtime_api.h", "cudaError_t"))
        .collect();
    let Overloads { overload: overloads } = super::read_toml(&folder.join("overloads.toml"))?;
    let Channels { channels } = super::read_toml(&folder.join("channels.toml"))?;
    Ok(Runtime { groups: groups?, topics, errors, overloads, channels })
}

/// The functions of a file, which `header` declares and which return `returns` if nothing is said.
pub(super) fn group(folder: &Path, name: String, default_header: &str, returns: &str) -> Result<FunctionGroup> {
    let File { title, header, function } = super::read_toml(&folder.join(format!("{name}.toml")))?;
    let functions: Result<Vec<Function>> = function.into_iter().map(|raw| convert(raw, returns)).collect();
    let header = header.unwrap_or_else(|| default_header.to_owned());
    Ok(FunctionGroup { functions: functions?, name, title, header })
}

fn convert(raw: RawFunction, returns: &str) -> Result<Function> {
    let variable = |text: &str| Parser::new(tokens(text)?).variable().context(text.to_owned());
    let parts: Vec<(&str, Option<String>)> = raw.params.iter().map(|text| default(text)).collect();
    let params: Result<Vec<Variable>> = parts.iter().map(|(text, _)| variable(text)).collect();
    let returns = raw.returns.as_deref().unwrap_or(returns);
    Ok(Function {
        params: params.with_context(|| raw.name.clone())?,
        defaults: parts.into_iter().map(|(_, default)| default).collect(),
        plain: raw.plain,
        returns: Parser::new(tokens(returns)?).variable()?.ty,
        handler: raw.handler.unwrap_or_else(|| raw.name.clone()),
        name: raw.name,
        only: raw.only,
        since: raw.since,
        per_thread: raw.per_thread,
        undeclared: raw.undeclared,
        without_effect: raw.without_effect,
        refused: raw.refused,
        before_init: raw.before_init,
    })
}

/// A parameter's declaration and the value after `=`.
fn default(text: &str) -> (&str, Option<String>) {
    match text.split_once(" = ") {
        Some((declaration, value)) => (declaration, Some(value.to_owned())),
        None => (text, None),
    }
}
