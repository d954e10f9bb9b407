//! The exported functions, one file for each group.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::FOLDER;
use crate::c::Type;
use crate::codegen::libcuda::Handlers;
use crate::codegen::rust_type::{RustTypes, rust_name};
use crate::output::Output;
use crate::registry::{Function, Registry};

pub(super) fn generate(root: &Path, registry: &Registry, handlers: &Handlers, outputs: &mut Vec<Output>) -> Result<()> {
    let types = RustTypes::new(&registry.nvml.topics);
    let mut modules = Vec::new();
    for group in &registry.nvml.groups {
        let mut text = String::new();
        for function in &group.functions {
            write_export(&mut text, function, &types, handlers)?;
        }
        let body = format!("//! {}.\n\n{}\n{text}", group.title, imports(&text));
        outputs.push(Output::rust(root, format!("{FOLDER}/exports/{}.rs", group.name), &body)?);
        modules.push(group.name.as_str());
    }
    modules.sort_unstable();
    let list: String = modules.iter().map(|module| format!("mod {module};\n")).collect();
    let body = format!("//! The functions that the library exports.\n#![allow(non_snake_case)]\n\n{list}");
    outputs.push(Output::rust(root, format!("{FOLDER}/exports.rs"), &body)?);
    let body = "//! Generated from the registry and from the handlers that there are.\n\nmod exports;\n";
    outputs.push(Output::rust(root, format!("{FOLDER}.rs"), body)?);
    Ok(())
}

/// The imports that the text, not formatted yet, needs.
fn imports(text: &str) -> String {
    let used = |name: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name);
    let names = ["Call", "arg", "answer", "enter", "not_supported"];
    let border: Vec<&str> = names.into_iter().filter(|name| used(name)).collect();
    let api = if text.contains("api::") { "use crate::api;\n" } else { "" };
    format!("use warploom_abi::nvml::*;\n\n{api}use crate::border::{{{}}};\n", border.join(", "))
}

fn write_export(text: &mut String, function: &Function, types: &RustTypes, handlers: &Handlers) -> Result<()> {
    let symbol = &function.name;
    let params: Vec<String> = function.params.iter().map(|param| types.param(param)).collect();
    writeln!(text, "#[unsafe(no_mangle)]")?;
    let call = format!("static CALL: Call = Call::new({symbol:?});");
    let Some(module) = handlers.module(&function.handler) else {
        return write_refusal(text, function, types, &call);
    };
    let arguments = function.params.iter().map(|param| format!("arg({})", rust_name(&param.name)));
    let arguments: Vec<String> = arguments.collect();
    let handled = format!("{module}::{symbol}({})", arguments.join(", "));
    let body = if arguments.is_empty() {
        format!("{module}::{symbol}")
    } else {
        format!("|| {{\n// SAFETY: the caller keeps the contract of the C prototype.\nunsafe {{ {handled} }}\n}}")
    };
    let (params, returns) = (params.join(", "), types.name(&function.returns));
    let way = match (returns.as_str(), function.before_init) {
        ("nvmlReturn_t", false) => "enter(&CALL, ",
        ("nvmlReturn_t", true) => "answer(&CALL, ",
        _ => {
            let body = format!("// SAFETY: the caller keeps the contract of the C prototype.\nunsafe {{ {handled} }}");
            writeln!(text, "pub(crate) unsafe extern \"C\" fn {symbol}({params}) -> {returns} {{\n{body}\n}}\n")?;
            return Ok(());
        }
    };
    writeln!(
        text,
        "pub(crate) unsafe extern \"C\" fn {symbol}({params}) -> nvmlReturn_t {{\n{call}\n{way}{body})\n}}\n"
    )?;
    Ok(())
}

/// A function without a handler looks at its device, and whether pointers are NULL. Parameters that nobody looks at need not be declared, but for those before.
fn write_refusal(text: &mut String, function: &Function, types: &RustTypes, call: &str) -> Result<()> {
    let symbol = &function.name;
    let is_pointer = |ty: &Type| matches!(ty.unqualified(), Type::Pointer(_) | Type::Array(..));
    let is_device = |ty: &Type| types.name(ty) == "nvmlDevice_t";
    let last = function.params.iter().rposition(|param| is_pointer(&param.ty) || is_device(&param.ty));
    let looked_at = &function.params[..last.map_or(0, |last| last + 1)];
    let params: Vec<String> = looked_at
        .iter()
        .map(|param| {
            let unused = if is_pointer(&param.ty) || is_device(&param.ty) { "" } else { "_" };
            // Nothing is read through the pointers: their types do not matter.
            let declared = if is_pointer(&param.ty) {
                format!("{}: *const core::ffi::c_void", rust_name(&param.name))
            } else {
                types.param(param)
            };
            format!("{unused}{}", if unused.is_empty() { &declared } else { declared.trim_start_matches("r#") })
        })
        .collect();
    let device = looked_at.iter().find(|param| is_device(&param.ty));
    let device = device.map_or("None".to_owned(), |param| format!("Some({})", rust_name(&param.name)));
    let pointers = looked_at.iter().filter(|param| is_pointer(&param.ty));
    let pointers: Vec<String> = pointers.map(|param| rust_name(&param.name)).collect();
    let params = params.join(", ");
    writeln!(
        text,
        "pub(crate) extern \"C\" fn {symbol}({params}) -> nvmlReturn_t {{\n{call}\nnot_supported(&CALL, {device}, &[{}])\n}}\n",
        pointers.join(", ")
    )?;
    Ok(())
}
