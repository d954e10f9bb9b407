//! The facts in registry/, as read from its files.

mod errors;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

pub(crate) use errors::ErrorCode;

/// All facts.
pub(crate) struct Registry {
    /// Result codes in ascending order of value.
    pub(crate) errors: Vec<ErrorCode>,
}

impl Registry {
    /// Reads the registry of the workspace in `root`.
    pub(crate) fn load(root: &Path) -> Result<Registry> {
        let folder = root.join("registry");
        Ok(Registry { errors: errors::load(&folder)? })
    }
}

fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}
