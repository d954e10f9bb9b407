//! crates/abi: types, constants, function-pointer types and the facts of each entry point.

mod aggregates;
mod entries;
mod nvml_return;
mod runtime_result;
mod types;

use std::path::Path;

use anyhow::Result;

use super::rust_type::RustTypes;
use crate::output::Output;
use crate::registry::Registry;

pub(super) use entries::{symbols, typedef_header, typedef_name};

const FOLDER: &str = "crates/abi/src/generated";

pub(super) fn generate(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let types = RustTypes::new(&registry.topics);
    types::generate(root, registry, &types, outputs)?;
    entries::generate(root, registry, &types, outputs)?;
    types::runtime(root, registry, outputs)?;
    types::nvml(root, registry, outputs)?;
    let modules = "pub mod entry;\npub mod facts;\npub mod nvml;\npub mod pfn;\npub mod runtime;\npub mod types;\n";
    let body = &format!("//! Generated from the registry.\n\n{modules}");
    outputs.push(Output::rust(root, format!("{FOLDER}.rs"), body)?);
    Ok(())
}

/// A module that takes in the items of its children.
fn parent_module(root: &Path, name: &str, doc: &str, children: &[&str], outputs: &mut Vec<Output>) -> Result<()> {
    let mut body = format!("//! {doc}\n\n");
    for child in children {
        body += &format!("mod {child};\n");
    }
    body += "\n";
    for child in children {
        body += &format!("pub use {child}::*;\n");
    }
    outputs.push(Output::rust(root, format!("{FOLDER}/{name}.rs"), &body)?);
    Ok(())
}
