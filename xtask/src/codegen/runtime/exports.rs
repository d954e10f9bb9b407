//! The exported functions of one major version, one file for each group.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use crate::codegen::libcuda::Handlers;
use crate::codegen::rust_type::{RustTypes, rust_name};
use crate::output::Output;
use crate::registry::{Function, Registry};

pub(super) fn generate(
    root: &Path,
    registry: &Registry,
    handlers: &Handlers,
    major: u32,
    outputs: &mut Vec<Output>,
) -> Result<()> {
    let folder = format!("crates/cudart{major}/src/generated");
    let types = RustTypes::new(registry.topics.iter().chain(&registry.runtime.topics));
    let mut modules = Vec::new();
    for group in &registry.runtime.groups {
        let mut text = String::new();
        for function in group.functions.iter().filter(|function| function.is_in(major)) {
            for (per_thread, symbol) in function.symbols() {
                write_export(&mut text, function, &symbol, per_thread, &types, handlers)?;
            }
        }
        if text.is_empty() {
            continue;
        }
        let body = format!("//! {}.\n\n{}\n{text}", group.title, imports(&text));
        outputs.push(Output::rust(root, format!("{folder}/exports/{}.rs", group.name), &body)?);
        modules.push(group.name.as_str());
    }
    modules.sort_unstable();
    let list: String = modules.iter().map(|module| format!("mod {module};\n")).collect();
    let body = format!("//! The functions that the library exports.\n#![allow(non_snake_case)]\n\n{list}");
    outputs.push(Output::rust(root, format!("{folder}/exports.rs"), &body)?);
    let body = "//! Generated from the registry and from the handlers that there are.\n\nmod exports;\n";
    outputs.push(Output::rust(root, format!("{folder}.rs"), body)?);
    Ok(())
}

/// The imports that the text, not formatted yet, needs.
fn imports(text: &str) -> String {
    let used = |name: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name);
    let names = ["Call", "DefaultStream", "answer", "arg", "enter", "not_supported"];
    let border: Vec<&str> = names.into_iter().filter(|name| used(name)).collect();
    let api = if text.contains("api::") { "use warploom_cudart::api;\n" } else { "" };
    format!(
        "use warploom_abi::runtime::*;\n{api}use warploom_cudart::border::{{{}}};\n\nuse crate::VERSION;\n",
        border.join(", ")
    )
}

fn write_export(
    text: &mut String,
    function: &Function,
    symbol: &str,
    per_thread: bool,
    types: &RustTypes,
    handlers: &Handlers,
) -> Result<()> {
    writeln!(text, "#[unsafe(no_mangle)]")?;
    let call = format!("static CALL: Call = Call::new({symbol:?}, VERSION);");
    let Some(module) = handlers.module(&function.handler) else {
        // Arguments are the caller's to clean up: what is not looked at need not be declared.
        writeln!(text, "pub(crate) extern \"C\" fn {symbol}() -> cudaError {{\n{call}\nnot_supported(&CALL)\n}}\n")?;
        return Ok(());
    };
    let params: Vec<String> = function.params.iter().map(|param| types.param(param)).collect();
    let returns = types.name(&function.returns);
    let (way, result) = match returns.as_str() {
        "cudaError_t" => ("enter", " -> cudaError".to_owned()),
        "()" => ("answer", String::new()),
        other => ("answer", format!(" -> {other}")),
    };
    let stream = if per_thread { "DefaultStream::PerThread" } else { "DefaultStream::Legacy" };
    let stream = function.per_thread.iter().map(|_| stream.to_owned());
    let arguments = function.params.iter().map(|param| format!("arg({})", rust_name(&param.name)));
    let arguments: Vec<String> = stream.chain(arguments).collect();
    let handled = format!("{module}::{}({})", function.handler, arguments.join(", "));
    let body = match (arguments.is_empty(), params.is_empty()) {
        (true, _) => format!("{module}::{}", function.handler),
        (false, true) => format!("|| {handled}"),
        (false, false) => {
            format!("|| {{\n// SAFETY: the caller keeps the contract of the C prototype.\nunsafe {{ {handled} }}\n}}")
        }
    };
    writeln!(
        text,
        "pub(crate) unsafe extern \"C\" fn {symbol}({}){result} {{\n{call}\n{way}(&CALL, {body})\n}}\n",
        params.join(", ")
    )?;
    Ok(())
}
