//! crates/libcuda: exports, the lookup's table of entry points, and what the call trace prints.

mod exports;
mod given;
mod handlers;
mod table;
mod trace;

use std::path::Path;

use anyhow::Result;

use super::rust_type::RustTypes;
use crate::output::Output;
use crate::registry::{Abi, EntryPoint, Group, Registry};

pub(crate) use handlers::{DRIVER, Handlers, Sources};

const FOLDER: &str = "crates/libcuda/src/generated";

pub(super) fn generate(root: &Path, registry: &Registry, handlers: &Handlers, outputs: &mut Vec<Output>) -> Result<()> {
    let types = RustTypes::new(&registry.topics);
    exports::generate(root, registry, &types, handlers, outputs)?;
    table::generate(root, registry, outputs)?;
    trace::generate(root, registry, &types, outputs)?;
    symbol_list(registry, outputs);
    let body = "//! Generated from the registry and from the handlers that there are.

pub(crate) mod entry_points;
mod exports;
mod trace;\n";
    outputs.push(Output::rust(root, format!("{FOLDER}.rs"), body)?);
    Ok(())
}

/// Groups that have entry points, each with those that are exported.
fn exported_groups(registry: &Registry) -> impl Iterator<Item = (&Group, Vec<&EntryPoint>)> {
    registry.groups.iter().filter_map(|group| {
        let exported: Vec<&EntryPoint> = group.entry_points.iter().filter(|entry_point| entry_point.exported).collect();
        (!exported.is_empty()).then_some((group, exported))
    })
}

/// Every symbol of an ABI version.
fn symbols_of(abi: &Abi) -> impl Iterator<Item = String> {
    std::iter::once(abi.symbol.clone()).chain(abi.per_thread_symbol())
}

/// The list that a test holds against the dynamic symbols of the library.
fn symbol_list(registry: &Registry, outputs: &mut Vec<Output>) {
    let mut symbols: Vec<String> = exported_groups(registry)
        .flat_map(|(_, entry_points)| entry_points)
        .flat_map(|entry_point| &entry_point.abis)
        .flat_map(symbols_of)
        .collect();
    symbols.sort_unstable();
    outputs.push(Output::list("crates/libcuda/tests/generated/symbols.txt", &symbols));
}
