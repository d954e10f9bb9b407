//! The facts in registry/, as read from its files. Nothing here knows what is generated from them.

mod entry_points;
mod errors;
mod left_out;
mod nvml;
mod refusals;
mod runtime;
mod types;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

pub(crate) use entry_points::{Abi, Direction, EntryPoint, Group, Param};
pub(crate) use errors::ErrorCode;
pub(crate) use left_out::{LeftOut, Omission};
pub(crate) use nvml::Nvml;
pub(crate) use refusals::{Forbidden, InCallbacks, Refusal, Refusals, Zero};
pub(crate) use runtime::{Function, FunctionGroup, HEADER_MAJORS, MAJORS, Overload, Runtime, RuntimeError};
pub(crate) use types::{Enumeration, Enumerator, Item, Kind, Topic, by_name};

/// All facts.
pub(crate) struct Registry {
    /// Result codes in ascending order of value.
    pub(crate) errors: Vec<ErrorCode>,
    /// Groups of entry points in the order of the manual.
    pub(crate) groups: Vec<Group>,
    /// Types and constants.
    pub(crate) topics: Vec<Topic>,
    pub(crate) left_out: LeftOut,
    /// In which order calls are refused.
    pub(crate) refusals: Refusals,
    /// The runtime API.
    pub(crate) runtime: Runtime,
    /// The management library.
    pub(crate) nvml: Nvml,
}

impl Registry {
    /// Reads the registry of the workspace in `root`.
    pub(crate) fn load(root: &Path) -> Result<Registry> {
        let folder = root.join("registry");
        let groups = entry_points::load(&folder)?;
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        let errors = errors::load(&folder)?;
        let refusals = refusals::load(&folder, &errors)?;
        refusals.check(groups.iter().flat_map(|group| &group.entry_points).flat_map(|entry| &entry.abis))?;
        Ok(Registry {
            errors,
            refusals,
            topics: types::load(&folder, &names, "cuda.h")?,
            left_out: left_out::load(&folder)?,
            runtime: runtime::load(&folder)?,
            nvml: nvml::load(&folder)?,
            groups,
        })
    }

    /// The newest CUDA version that an entry point came with.
    pub(crate) fn newest_version(&self) -> u32 {
        let abis = self.groups.iter().flat_map(|group| &group.entry_points).flat_map(|entry| &entry.abis);
        abis.map(|abi| abi.since).max().unwrap_or_default()
    }
}

fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}
