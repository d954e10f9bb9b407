//! What is generated, one module for each kind of output.

mod abi;
mod coverage;
mod error_code;
mod every_function;
mod functions;
mod headers;
mod instructions;
mod layout;
mod libcuda;
mod names;
mod nvml;
mod runtime;
mod rust_type;
mod tests;

use std::path::Path;

use anyhow::Result;
use libcuda::{DRIVER, Handlers};

use crate::output::Output;
use crate::registry::Registry;

/// Generates every output from the registry and the sources of the workspace in `root`.
pub(crate) fn generate(root: &Path) -> Result<Vec<Output>> {
    let registry = Registry::load(root)?;
    let mut outputs = Vec::new();
    error_code::generate(root, &registry, &mut outputs)?;
    abi::generate(root, &registry, &mut outputs)?;
    let handlers = Handlers::scan(root, &DRIVER)?;
    libcuda::generate(root, &registry, &handlers, &mut outputs)?;
    coverage::generate(&registry, &handlers, &mut outputs)?;
    tests::generate(root, &registry, &handlers, &mut outputs)?;
    functions::generate(root, &registry, &mut outputs)?;
    every_function::generate(&registry, &mut outputs)?;
    headers::generate(&registry, &mut outputs)?;
    runtime::generate(root, &registry, &mut outputs)?;
    nvml::generate(root, &registry, &mut outputs)?;
    instructions::generate(&mut outputs)?;
    Ok(outputs)
}
