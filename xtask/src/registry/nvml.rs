//! The management library: registry/nvml.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use super::runtime::{Errors, FunctionGroup, Groups, RuntimeError, group};
use super::types::{self, Topic};

/// All facts of the management library.
pub(crate) struct Nvml {
    /// Groups of functions in the order of the manual.
    pub(crate) groups: Vec<FunctionGroup>,
    pub(crate) topics: Vec<Topic>,
    /// Result codes in ascending order of value.
    pub(crate) errors: Vec<RuntimeError>,
    /// The first driver branch of CUDA versions, in ascending order.
    pub(crate) branches: Vec<Branch>,
}

/// The number with which drivers' versions begin that came with a CUDA version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Branch {
    /// `1000 * major + 10 * minor`.
    pub(crate) cuda: u32,
    pub(crate) branch: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Branches {
    branch: Vec<Branch>,
}

pub(super) fn load(registry: &Path) -> Result<Nvml> {
    let folder = registry.join("nvml");
    let Groups { groups } = super::read_toml(&folder.join("groups.toml"))?;
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    let topics = types::load(&folder, &names, "nvml.h")?;
    let Errors { error: errors } = super::read_toml(&folder.join("errors.toml"))?;
    let Branches { branch: branches } = super::read_toml(&folder.join("branches.toml"))?;
    let load = |name| group(&folder.join("functions"), name, "nvml.h", "nvmlReturn_t");
    let groups: Result<Vec<FunctionGroup>> = groups.into_iter().map(load).collect();
    Ok(Nvml { groups: groups?, topics, errors, branches })
}
