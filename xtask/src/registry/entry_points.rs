//! Entry points: registry/entry_points/GROUP.toml.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::c::{Parser, Type, Variable, tokens};

/// One group of entry points: a chapter of the manual.
pub(crate) struct Group {
    /// The name of its file and of the modules generated for it: `memory`.
    pub(crate) name: String,
    pub(crate) title: String,
    /// The header that declares its entry points.
    pub(crate) header: String,
    pub(crate) entry_points: Vec<EntryPoint>,
}

/// A name that the lookup knows.
pub(crate) struct EntryPoint {
    pub(crate) name: String,
    /// Whether it works before `cuInit`.
    pub(crate) before_init: bool,
    /// Whether a driver for this platform has it.
    pub(crate) exported: bool,
    /// What of it this driver keeps and tells again, but does not act on: `everything`, or which values.
    pub(crate) without_effect: Option<String>,
    /// Why it answers NOT_SUPPORTED to whatever its arguments allow.
    pub(crate) not_supported: Option<String>,
    /// To what else than that it works it answers NOT_SUPPORTED.
    pub(crate) not_supported_in_part: Option<String>,
    /// With which code its handler refuses what its arguments allow, and why.
    pub(crate) refused: Option<String>,
    /// Another entry point's symbol for which the plain name stands from some header version on.
    pub(crate) plain: Option<Plain>,
    /// ABI versions, oldest first.
    pub(crate) abis: Vec<Abi>,
}

/// What the plain name stands for from a header version on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plain {
    pub(crate) since: u32,
    pub(crate) symbol: String,
}

/// One ABI version of an entry point.
pub(crate) struct Abi {
    pub(crate) symbol: String,
    /// The CUDA version whose driver first had it.
    pub(crate) since: u32,
    /// The first header version in which the plain name stands for it.
    pub(crate) plain_since: Option<u32>,
    /// The first header version in which the per-thread macro leaves the symbol's own name alone.
    pub(crate) explicit_until: Option<u32>,
    pub(crate) per_thread: Option<PerThread>,
    pub(crate) params: Vec<Param>,
}

/// The variant whose default stream is the calling thread's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PerThread {
    /// `_ptds` or `_ptsz`.
    pub(crate) suffix: String,
    pub(crate) since: u32,
}

/// What a function does through a pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Not a pointer, or one that is only passed on.
    Value,
    In,
    Out,
    InOut,
}

/// A parameter.
pub(crate) struct Param {
    pub(crate) variable: Variable,
    pub(crate) direction: Direction,
    /// Whether the pointer is to several values.
    pub(crate) array: bool,
    /// Whether NULL is allowed.
    pub(crate) optional: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    #[serde(default = "main_header")]
    header: String,
    #[serde(default)]
    entry_point: Vec<RawEntryPoint>,
}

fn main_header() -> String {
    "cuda.h".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntryPoint {
    name: String,
    #[serde(default)]
    before_init: bool,
    #[serde(default = "exported")]
    exported: bool,
    without_effect: Option<String>,
    not_supported: Option<String>,
    not_supported_in_part: Option<String>,
    refused: Option<String>,
    plain: Option<Plain>,
    abi: Vec<RawAbi>,
}

fn exported() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAbi {
    symbol: String,
    since: u32,
    plain_since: Option<u32>,
    explicit_until: Option<u32>,
    per_thread: Option<PerThread>,
    params: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Groups {
    groups: Vec<String>,
}

pub(super) fn load(folder: &Path) -> Result<Vec<Group>> {
    let Groups { groups } = super::read_toml(&folder.join("groups.toml"))?;
    groups.into_iter().map(|name| group(&folder.join("entry_points"), name)).collect()
}

fn group(folder: &Path, name: String) -> Result<Group> {
    let File { title, header, entry_point } = super::read_toml(&folder.join(format!("{name}.toml")))?;
    let entry_points: Result<Vec<EntryPoint>> = entry_point.into_iter().map(convert).collect();
    Ok(Group { entry_points: entry_points.with_context(|| name.clone())?, name, title, header })
}

fn convert(raw: RawEntryPoint) -> Result<EntryPoint> {
    for pair in raw.abi.windows(2) {
        if pair[0].since >= pair[1].since {
            bail!("{}: {} must come before {}", raw.name, pair[1].symbol, pair[0].symbol);
        }
    }
    let abis: Result<Vec<Abi>> = raw.abi.into_iter().map(convert_abi).collect();
    Ok(EntryPoint {
        abis: abis.with_context(|| raw.name.clone())?,
        name: raw.name,
        before_init: raw.before_init,
        exported: raw.exported,
        without_effect: raw.without_effect,
        not_supported: raw.not_supported,
        not_supported_in_part: raw.not_supported_in_part,
        refused: raw.refused,
        plain: raw.plain,
    })
}

fn convert_abi(raw: RawAbi) -> Result<Abi> {
    let params: Result<Vec<Param>> = raw.params.iter().map(|text| param(text).context(text.clone())).collect();
    Ok(Abi {
        symbol: raw.symbol,
        since: raw.since,
        plain_since: raw.plain_since,
        explicit_until: raw.explicit_until,
        per_thread: raw.per_thread,
        params: params?,
    })
}

fn param(text: &str) -> Result<Param> {
    let (word, rest) = text.split_once(' ').context("a parameter has a type and a name")?;
    let (pointer, optional) = word.strip_suffix('?').map_or((word, false), |pointer| (pointer, true));
    let (plain, array) = pointer.strip_suffix("[]").map_or((pointer, false), |plain| (plain, true));
    let direction = match plain {
        "in" => Direction::In,
        "out" => Direction::Out,
        "inout" => Direction::InOut,
        _ => Direction::Value,
    };
    let declaration = if direction == Direction::Value { text } else { rest };
    let variable = Parser::new(tokens(declaration)?).variable()?;
    let is_pointer = matches!(variable.ty, Type::Pointer(_));
    if is_pointer != (direction != Direction::Value) {
        bail!("pointers, and only they, have a direction");
    }
    Ok(Param { variable, direction, array, optional })
}

impl Abi {
    /// The symbol of the per-thread variant.
    pub(crate) fn per_thread_symbol(&self) -> Option<String> {
        Some(format!("{}{}", self.symbol, self.per_thread.as_ref()?.suffix))
    }
}
