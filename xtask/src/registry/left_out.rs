//! What a real driver has and this one does not: registry/left_out.toml.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

/// Names that are left out for the same reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Omission {
    pub(crate) reason: String,
    pub(crate) names: Vec<String>,
}

/// Everything that is left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeftOut {
    pub(crate) symbols: Vec<Omission>,
    pub(crate) headers: Vec<Omission>,
}

pub(super) fn load(folder: &Path) -> Result<LeftOut> {
    super::read_toml(&folder.join("left_out.toml"))
}
