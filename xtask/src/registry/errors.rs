//! Result codes: registry/errors.toml.

use std::path::Path;

use anyhow::{Result, bail};
use serde::Deserialize;

/// One result code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorCode {
    /// As in C: `CUDA_ERROR_INVALID_VALUE`.
    pub(crate) name: String,
    pub(crate) value: u32,
    /// The CUDA version that added it; 0 for those that are older than any driver that can be emulated.
    #[serde(default)]
    pub(crate) since: u32,
    /// What `cuGetErrorString` returns.
    pub(crate) text: String,
    /// Whether the text was recorded from a real driver.
    #[serde(default = "recorded")]
    pub(crate) recorded: bool,
}

fn recorded() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    error: Vec<ErrorCode>,
}

pub(super) fn load(folder: &Path) -> Result<Vec<ErrorCode>> {
    let File { error } = super::read_toml(&folder.join("errors.toml"))?;
    for pair in error.windows(2) {
        if pair[0].value >= pair[1].value {
            bail!("errors.toml: {} must come before {}", pair[1].name, pair[0].name);
        }
    }
    Ok(error)
}
