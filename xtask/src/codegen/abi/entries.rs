//! Function-pointer types, the types that tie name, version and signature together, and the table of facts.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::super::rust_type::RustTypes;
use super::{FOLDER, parent_module};
use crate::c::Type;
use crate::output::Output;
use crate::registry::{Abi, Direction, EntryPoint, Group, Param, Registry};

pub(super) fn generate(root: &Path, registry: &Registry, types: &RustTypes, outputs: &mut Vec<Output>) -> Result<()> {
    let mut modules = Vec::new();
    for group in registry.groups.iter().filter(|group| !group.entry_points.is_empty()) {
        let (mut pfn, mut entry) = (String::new(), String::new());
        for entry_point in &group.entry_points {
            for abi in &entry_point.abis {
                write_abi(&mut pfn, &mut entry, group, entry_point, abi, types)?;
            }
        }
        let name = &group.name;
        let title = &group.title;
        let body = format!("//! {title}.\n\nuse crate::types::*;\n\n{pfn}");
        outputs.push(Output::rust(root, format!("{FOLDER}/pfn/{name}.rs"), &body)?);
        let body = format!(
            "//! {title}.\n\nuse crate::define::entry_points;\nuse crate::pfn::*;\n\nentry_points! {{\n{entry}}}\n"
        );
        outputs.push(Output::rust(root, format!("{FOLDER}/entry/{name}.rs"), &body)?);
        modules.push(name.as_str());
    }
    modules.sort_unstable();
    parent_module(root, "pfn", "Types of pointers to the API's functions, named as in C.", &modules, outputs)?;
    let doc =
        "One type for each ABI version of each entry point: what to ask the lookup for, and the type of the answer.";
    parent_module(root, "entry", doc, &modules, outputs)?;
    facts(root, registry, outputs)
}

/// The header with the typedefs that go with a header.
pub(crate) fn typedef_header(header: &str) -> String {
    match header.strip_suffix(".h") {
        Some("cuda") | None => "cudaTypedefs.h".to_owned(),
        Some(name) => format!("{name}Typedefs.h"),
    }
}

/// The typedef's name without `PFN_`, for the legacy symbol or the per-thread one.
pub(crate) fn typedef_name(entry_point: &EntryPoint, abi: &Abi, per_thread: bool) -> String {
    match &abi.per_thread {
        Some(variant) if per_thread => format!("{}_v{}{}", entry_point.name, variant.since, variant.suffix),
        _ => format!("{}_v{}", entry_point.name, abi.since),
    }
}

/// The legacy symbol of an ABI version and its per-thread one: symbol, version, whether per-thread.
pub(crate) fn symbols(abi: &Abi) -> Vec<(String, u32, bool)> {
    let mut symbols = vec![(abi.symbol.clone(), abi.since, false)];
    if let (Some(symbol), Some(variant)) = (abi.per_thread_symbol(), &abi.per_thread) {
        symbols.push((symbol, variant.since, true));
    }
    symbols
}

fn write_abi(
    pfn: &mut String,
    entry: &mut String,
    group: &Group,
    entry_point: &EntryPoint,
    abi: &Abi,
    types: &RustTypes,
) -> Result<()> {
    let result = Type::Name("CUresult".to_owned());
    let function = types.function(&result, abi.params.iter().map(|param| &param.variable));
    let header = typedef_header(&group.header);
    for (symbol, version, per_thread) in symbols(abi) {
        let typedef = typedef_name(entry_point, abi, per_thread);
        writeln!(pfn, "/// `{symbol}`.{}\npub type PFN_{typedef} = {function};\n", pointers(abi))?;
        writeln!(
            entry,
            "{typedef} {{ name: {:?}, version: {version}, per_thread: {per_thread}, symbol: {symbol:?}, typedef: \"PFN_{typedef}\", header: {header:?}, function: PFN_{typedef} }}",
            entry_point.name,
        )?;
    }
    Ok(())
}

/// What the function does through its pointers.
fn pointers(abi: &Abi) -> String {
    let pointer = |param: &Param| {
        let direction = match param.direction {
            Direction::Value => return None,
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "in and out",
        };
        let several = if param.array { ", several" } else { "" };
        let null = if param.optional { ", may be NULL" } else { "" };
        Some(format!("`{}` {direction}{several}{null}", param.variable.name))
    };
    let list: Vec<String> = abi.params.iter().filter_map(pointer).collect();
    if list.is_empty() { String::new() } else { format!(" Pointers: {}.", list.join("; ")) }
}

fn facts(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let mut table: Vec<(&str, String)> = Vec::new();
    for group in &registry.groups {
        for entry_point in group.entry_points.iter().filter(|entry_point| entry_point.exported) {
            let mut versions = String::new();
            for abi in &entry_point.abis {
                for (symbol, since, per_thread) in symbols(abi) {
                    let typedef = typedef_name(entry_point, abi, per_thread);
                    write!(
                        versions,
                        "AbiVersion {{ since: {since}, symbol: {symbol:?}, typedef: \"PFN_{typedef}\", header: {:?}, per_thread: {per_thread} }},",
                        typedef_header(&group.header)
                    )?;
                }
            }
            let row = format!(
                "EntryPointFacts {{ name: {:?}, group: {:?}, versions: &[{versions}] }},\n",
                entry_point.name, group.title
            );
            table.push((&entry_point.name, row));
        }
    }
    table.sort_unstable();
    let rows: String = table.iter().map(|(_, row)| row.as_str()).collect();
    let body = format!(
        "//! The facts of every entry point, for tools that show or search them.

use crate::{{AbiVersion, EntryPointFacts}};

/// The newest CUDA version whose API is here.
pub const CUDA_VERSION: i32 = {};

/// Every entry point that a driver for this platform has, by name.
pub static ENTRY_POINTS: &[EntryPointFacts] = &[\n{rows}];\n",
        registry.newest_version()
    );
    outputs.push(Output::rust(root, format!("{FOLDER}/facts.rs"), &body)?);
    Ok(())
}
