//! The exported functions, one file for each group.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::{FOLDER, Handlers, exported_groups, given, symbols_of, trace};
use crate::c::Type;
use crate::codegen::rust_type::{RustTypes, rust_name};
use crate::output::Output;
use crate::registry::{Abi, EntryPoint, Forbidden, InCallbacks, Refusal, Registry, by_name};

pub(super) fn generate(
    root: &Path,
    registry: &Registry,
    types: &RustTypes,
    handlers: &Handlers,
    outputs: &mut Vec<Output>,
) -> Result<()> {
    let mut modules = Vec::new();
    let mut known = HashSet::new();
    let items = by_name(&registry.topics);
    for (group, entry_points) in exported_groups(registry) {
        let mut text = String::new();
        for entry_point in entry_points {
            for abi in &entry_point.abis {
                known.insert(abi.symbol.as_str());
                for symbol in symbols_of(abi) {
                    let refusal = registry.refusals.of(abi, &symbol);
                    let given = given::closure(abi, refusal, &items);
                    let call = constructor(entry_point, &symbol, refusal);
                    let capture = refusal.and_then(|refusal| refusal.capture);
                    write_export(&mut text, abi, &symbol, (&call, &given, capture), types, handlers)?;
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
    let codes = if text.contains("ErrorCode::") { "use warploom_driver::ErrorCode;\n" } else { "" };
    format!("use warploom_abi::types::*;\n{codes}\n{api}use crate::border::{{{}}};\n", border.join(", "))
}

/// The statement that fails the captures that forbid the call.
fn refuse(capture: Forbidden, abi: &Abi, symbol: &str) -> String {
    match capture {
        Forbidden::Unsafe => "api::stream_capture::refuse_unsafe()?;\n".to_owned(),
        Forbidden::Stream => {
            let stream = abi
                .params
                .iter()
                .find(|param| matches!(param.variable.ty.unqualified(), Type::Name(name) if name == "CUstream"));
            let stream = rust_name(&stream.expect("what is refused for its stream has one").variable.name);
            let default = if symbol == abi.symbol { "Legacy" } else { "PerThread" };
            format!("api::stream_capture::refuse({stream}, DefaultStream::{default})?;\n")
        }
    }
}

/// What the border knows of the function, as an expression.
fn constructor(entry_point: &EntryPoint, symbol: &str, refusal: Option<&Refusal>) -> String {
    let mut call = format!("Call::{}({symbol:?})", if entry_point.before_init { "before_init" } else { "new" });
    let Some(refusal) = refusal else { return call };
    if refusal.context_first {
        call += ".context_first()";
    }
    match refusal.in_callbacks {
        InCallbacks::Never => {}
        InCallbacks::WithStream => call += ".in_callbacks_with_stream()",
        InCallbacks::Always => call += ".in_callbacks()",
    }
    call
}

fn write_export(
    text: &mut String,
    abi: &Abi,
    symbol: &str,
    (call, given, capture): (&str, &str, Option<Forbidden>),
    types: &RustTypes,
    handlers: &Handlers,
) -> Result<()> {
    let params: Vec<String> = abi.params.iter().map(|param| types.param(&param.variable)).collect();
    let trace = trace::closure(abi, types);
    writeln!(
        text,
        "#[unsafe(no_mangle)]\npub(crate) unsafe extern \"C\" fn {symbol}({}) -> CUresult {{
            static CALL: Call = {call};",
        params.join(", ")
    )?;
    match handlers.module(&abi.symbol) {
        None => {
            let before = capture.map(|capture| format!("{{\n{}Ok(())\n}}", refuse(capture, abi, symbol)));
            let before = before.unwrap_or_else(|| "Ok(())".to_owned());
            writeln!(text, "not_supported(&CALL, || {before}, {given}, {trace})")?;
        }
        Some(module) => {
            let mut arguments: Vec<String> = Vec::new();
            if abi.per_thread.is_some() {
                let stream = if symbol == abi.symbol { "Legacy" } else { "PerThread" };
                arguments.push(format!("DefaultStream::{stream}"));
            }
            arguments.extend(abi.params.iter().map(|param| format!("arg({})", rust_name(&param.variable.name))));
            let handler = format!("{module}::{}", abi.symbol);
            let handled = format!("{handler}({})", arguments.join(", "));
            let body = match (arguments.is_empty(), abi.params.is_empty()) {
                (true, _) => match capture {
                    Some(capture) => format!("|| {{\n{}{handled}\n}}", refuse(capture, abi, symbol)),
                    None => handler,
                },
                (false, true) => format!("|| {handled}"),
                (false, false) => {
                    let refuse = capture.map(|capture| refuse(capture, abi, symbol)).unwrap_or_default();
                    format!(
                        "|| {{\n{refuse}// SAFETY: the caller keeps the contract of the C prototype.\nunsafe {{ {handled} }}\n}}"
                    )
                }
            };
            writeln!(text, "enter(&CALL, {body}, {given}, {trace})")?;
        }
    }
    writeln!(text, "}}\n")?;
    Ok(())
}
