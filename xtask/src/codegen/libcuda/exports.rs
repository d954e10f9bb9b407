//! The exported functions, one file for each group.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::{FOLDER, Handlers, exported_groups, symbols_of, trace};
use crate::codegen::rust_type::{RustTypes, rust_name};
use crate::output::Output;
use crate::registry::{Abi, EntryPoint, Registry};

pub(super) fn generate(
    root: &Path,
    registry: &Registry,
    types: &RustTypes,
    handlers: &Handlers,
    outputs: &mut Vec<Output>,
) -> Result<()> {
    let mut modules = Vec::new();
    let mut known = HashSet::new();
    for (group, entry_points) in exported_groups(registry) {
        let mut text = String::new();
        for entry_point in entry_points {
            for abi in &entry_point.abis {
                known.insert(abi.symbol.as_str());
                for symbol in symbols_of(abi) {
                    write_export(&mut text, entry_point, abi, &symbol, types, handlers)?;
                }
            }
        }
        let body = format!("//! {}.\n\n{}\n{text}", group.title, imports(&text));
        outputs.push(Output::rust(root, format!("{FOLDER}/exports/{}.rs", group.name), &body)?);
        modules.push(group.name.as_str());
    }
    handlers.require_known(|symbol| known.contains(symbol))?;
    modules.sort_unstable();
    let list: String = modules.iter().map(|module| format!("pub(crate) mod {module};\n")).collect();
    let body = format!("//! The functions that the library exports.\n#![allow(non_snake_case)]\n\n{list}");
    outputs.push(Output::rust(root, format!("{FOLDER}/exports.rs"), &body)?);
    Ok(())
}

/// The imports that the text, not formatted yet, needs.
fn imports(text: &str) -> String {
    let used =
        |name: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').any(|word| word == name);
    let names = ["Call", "DefaultStream", "arg", "enter", "not_supported"];
    let border: Vec<&str> = names.into_iter().filter(|name| used(name)).collect();
    let api = if text.contains("api::") { "use crate::api;\n" } else { "" };
    format!("use warploom_abi::types::*;\n\n{api}use crate::border::{{{}}};\n", border.join(", "))
}

fn write_export(
    text: &mut String,
    entry_point: &EntryPoint,
    abi: &Abi,
    symbol: &str,
    types: &RustTypes,
    handlers: &Handlers,
) -> Result<()> {
    let params: Vec<String> = abi.params.iter().map(|param| types.param(&param.variable)).collect();
    let constructor = if entry_point.before_init { "before_init" } else { "new" };
    let trace = trace::closure(abi, types);
    writeln!(
        text,
        "#[unsafe(no_mangle)]\npub(crate) unsafe extern \"C\" fn {symbol}({}) -> CUresult {{
            static CALL: Call = Call::{constructor}({symbol:?});",
        params.join(", ")
    )?;
    match handlers.module(&abi.symbol) {
        None => writeln!(text, "not_supported(&CALL, {trace})")?,
        Some(module) => {
            let mut arguments: Vec<String> = Vec::new();
            if abi.per_thread.is_some() {
                let stream = if symbol == abi.symbol { "Legacy" } else { "PerThread" };
                arguments.push(format!("DefaultStream::{stream}"));
            }
            arguments.extend(abi.params.iter().map(|param| format!("arg({})", rust_name(&param.variable.name))));
            let handler = format!("{module}::{}", abi.symbol);
            let call = format!("{handler}({})", arguments.join(", "));
            let body = match (arguments.is_empty(), abi.params.is_empty()) {
                (true, _) => handler,
                (false, true) => format!("|| {call}"),
                (false, false) => format!(
                    "|| {{\n// SAFETY: the caller keeps the contract of the C prototype.\nunsafe {{ {call} }}\n}}"
                ),
            };
            writeln!(text, "enter(&CALL, {body}, {trace})")?;
        }
    }
    writeln!(text, "}}\n")?;
    Ok(())
}
