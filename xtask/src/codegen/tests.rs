//! What tests hold against the outside: layouts as C and Rust see them, and a call of every exported function.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::abi::{symbols, typedef_name};
use super::libcuda::Handlers;
use super::rust_type::rust_name;
use crate::c::{Aggregate, Type};
use crate::output::Output;
use crate::registry::{Kind, Registry};

pub(super) fn generate(root: &Path, registry: &Registry, handlers: &Handlers, outputs: &mut Vec<Output>) -> Result<()> {
    layouts(root, registry, outputs)?;
    calls(root, registry, handlers, outputs)
}

/// A program that prints each struct's size and the offset of its fields, and the same facts of the Rust types.
fn layouts(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let (mut c, mut rust) = (String::new(), String::new());
    for topic in registry.topics.iter().filter(|topic| topic.header == "cuda.h") {
        for item in &topic.items {
            let Kind::Aggregate { aggregate, .. } = &item.kind else { continue };
            let name = &item.name;
            let mut paths = Vec::new();
            collect_paths(aggregate, "", "", &mut paths);
            writeln!(c, "    printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));")?;
            writeln!(rust, "(\"{name}\", size_of::<{name}>(), align_of::<{name}>(), &[")?;
            for (in_c, in_rust) in paths {
                writeln!(c, "    printf(\"{name}.{in_c} %zu\\n\", offsetof({name}, {in_c}));")?;
                writeln!(rust, "(\"{in_c}\", offset_of!({name}, {in_rust})),")?;
            }
            writeln!(rust, "]),")?;
        }
    }
    let program = format!(
        "#include <cuda.h>\n#include <stddef.h>\n#include <stdio.h>\n\nint main(void) {{\n{c}    return 0;\n}}\n"
    );
    outputs.push(Output::c("crates/abi/tests/generated/layout.c", &program));
    let body = format!(
        "//! The layout of every struct and union of cuda.h.

use core::mem::offset_of;

use warploom_abi::types::*;

/// Name, size, alignment, and the offsets of its fields.
pub(crate) type Layout = (&'static str, usize, usize, &'static [(&'static str, usize)]);

pub(crate) static LAYOUTS: &[Layout] = &[\n{rust}];\n"
    );
    outputs.push(Output::rust(root, "crates/abi/tests/generated/layout.rs", &body)?);
    Ok(())
}

/// Every field's path in C and in Rust, through inline structs and unions.
fn collect_paths(aggregate: &Aggregate, in_c: &str, in_rust: &str, paths: &mut Vec<(String, String)>) {
    let mut anonymous = 0;
    for field in &aggregate.fields {
        let (c_name, rust_field) = match field.name.as_str() {
            "" => {
                anonymous += 1;
                (String::new(), format!("anonymous{}", anonymous - 1))
            }
            name => (name.to_owned(), rust_name(name)),
        };
        let c_path = if c_name.is_empty() { in_c.to_owned() } else { join(in_c, &c_name) };
        let rust_path = join(in_rust, &rust_field);
        if let Type::Aggregate(inner) = &field.ty {
            collect_paths(inner, &c_path, &rust_path, paths);
        }
        if !c_name.is_empty() {
            paths.push((c_path, rust_path));
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A call of each exported function with arguments that are all zero.
fn calls(root: &Path, registry: &Registry, handlers: &Handlers, outputs: &mut Vec<Output>) -> Result<()> {
    let mut rows = String::new();
    for entry_point in registry.groups.iter().flat_map(|group| &group.entry_points).filter(|entry| entry.exported) {
        for abi in &entry_point.abis {
            let handled = handlers.module(&abi.symbol).is_some();
            let zeros = vec!["zeroed()"; abi.params.len()].join(", ");
            for (symbol, _, per_thread) in symbols(abi) {
                let typedef = typedef_name(entry_point, abi, per_thread);
                writeln!(rows, "call!({symbol:?}, {handled}, PFN_{typedef}, ({zeros})),")?;
            }
        }
    }
    let body = format!(
        "//! A call of every exported function, with arguments that are all zero.

use std::ffi::c_void;
use std::mem::{{transmute, zeroed}};

use warploom_abi::CUresult;
use warploom_abi::pfn::*;

/// An exported function.
pub(crate) struct Export {{
    pub(crate) symbol: &'static str,
    /// Whether it has a handler.
    pub(crate) handled: bool,
    /// Calls it where it is in the library.
    pub(crate) call: fn(*mut c_void) -> CUresult,
}}

macro_rules! call {{
    ($symbol:literal, $handled:literal, $function:ty, ($($argument:expr),*)) => {{
        Export {{
            symbol: $symbol,
            handled: $handled,
            // SAFETY: the type is the symbol's, whose address is given; zero is a value of every argument type.
            call: |address| unsafe {{ transmute::<*mut c_void, $function>(address)($($argument),*) }},
        }}
    }};
}}

pub(crate) static EXPORTS: &[Export] = &[\n{rows}];\n"
    );
    outputs.push(Output::rust(root, "crates/libcuda/tests/generated/exports.rs", &body)?);
    Ok(())
}
