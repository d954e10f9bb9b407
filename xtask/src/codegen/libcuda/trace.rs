//! What the call trace prints: the arguments of each call by name and type.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anyhow::Result;

use super::{FOLDER, exported_groups};
use crate::c::Type;
use crate::codegen::rust_type::{RustTypes, rust_name};
use crate::output::Output;
use crate::registry::{Abi, Direction, Item, Kind, Param, Registry, by_name};

/// The closure that prints the arguments of one call.
pub(super) fn closure(abi: &Abi, types: &RustTypes) -> String {
    if abi.params.is_empty() {
        return "|_| {}".to_owned();
    }
    let lines: Vec<String> = abi.params.iter().map(|param| line(param, types)).collect();
    format!("|trace| {{\n{}}}", lines.concat())
}

fn line(param: &Param, types: &RustTypes) -> String {
    let name = &param.variable.name;
    let value = rust_name(name);
    match print(param, types) {
        Print::Value => format!("trace.arg({name:?}, &{value});\n"),
        Print::Text => {
            format!("// SAFETY: the caller passed a string or NULL.\nunsafe {{ trace.text({name:?}, {value}) }};\n")
        }
        Print::Target => format!(
            "// SAFETY: the trace reads what the call has written there if it succeeded.\nunsafe {{ trace.out({name:?}, {value}) }};\n"
        ),
    }
}

/// How an argument is printed.
#[derive(PartialEq)]
enum Print {
    /// A number, a handle, an address.
    Value,
    /// A string that goes in.
    Text,
    /// An address and what it points to.
    Target,
}

fn print(param: &Param, types: &RustTypes) -> Print {
    let Type::Pointer(to) = &param.variable.ty else { return Print::Value };
    let target = types.name(&Type::Pointer(to.clone()));
    let is = |name: &str| target.ends_with(&format!(" {name}"));
    match param.direction {
        Direction::In if is("core::ffi::c_char") && target.starts_with("*const core") => Print::Text,
        Direction::Out | Direction::InOut if !param.array && !is("core::ffi::c_void") && !is("core::ffi::c_char") => {
            Print::Target
        }
        Direction::Out if !param.array && target.matches('*').count() == 2 => Print::Target,
        _ => Print::Value,
    }
}

/// Makes every type that an argument has, or points to, printable.
pub(super) fn generate(root: &Path, registry: &Registry, types: &RustTypes, outputs: &mut Vec<Output>) -> Result<()> {
    let items = by_name(&registry.topics);
    let mut printable = BTreeSet::from(["CUresult".to_owned()]);
    for (_, entry_points) in exported_groups(registry) {
        let params = entry_points.iter().flat_map(|entry_point| &entry_point.abis).flat_map(|abi| &abi.params);
        for param in params {
            let ty = match (&param.variable.ty, print(param, types)) {
                (Type::Pointer(to), Print::Target) => to,
                (ty, _) => ty,
            };
            if let Type::Name(name) = ty.unqualified() {
                printable.extend(own_type(name, &items));
            }
        }
    }
    let list: Vec<String> = printable.into_iter().collect();
    let body = format!(
        "//! The C types that the call trace prints.

use warploom_abi::types::*;

use crate::border::trace_through_debug;

trace_through_debug!({});\n",
        list.join(", ")
    );
    outputs.push(Output::rust(root, format!("{FOLDER}/trace.rs"), &body)?);
    Ok(())
}

/// The type of ours behind a name; none for numbers.
fn own_type(name: &str, items: &HashMap<&str, &Item>) -> Option<String> {
    match &items.get(name)?.kind {
        Kind::Alias { of: Type::Name(of), .. } => own_type(of, items),
        Kind::Alias { .. } | Kind::Foreign { .. } | Kind::Constant(_) => None,
        Kind::Handle { .. } | Kind::Enum(_) | Kind::Aggregate { .. } | Kind::Callback { .. } => Some(name.to_owned()),
    }
}
