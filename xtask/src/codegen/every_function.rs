//! A call of every exported function for the C program that records what drivers answer: the machine's view of each parameter,
//! and what it stands for.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::{Context, Result};

use super::abi::symbols;
use super::layout::layout;
use crate::c::Type;
use crate::output::Output;
use crate::registry::{Direction, Item, Kind, Param, Registry, by_name};

pub(super) fn generate(registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let items = by_name(&registry.topics);
    let mut rows = String::new();
    for entry_point in registry.groups.iter().flat_map(|group| &group.entry_points).filter(|entry| entry.exported) {
        for abi in &entry_point.abis {
            let params: Result<Vec<(String, String)>> =
                abi.params.iter().enumerate().map(|(index, param)| argument(index, param, &items)).collect();
            let (types, arguments): (Vec<String>, Vec<String>) =
                params.with_context(|| abi.symbol.clone())?.into_iter().unzip();
            let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
            for (symbol, ..) in symbols(abi) {
                writeln!(rows, "CALL({symbol}, ({types}), ({}))", arguments.join(", "))?;
            }
        }
    }
    outputs.push(Output::c("tests/c/every_function/calls.h", &rows));
    Ok(())
}

/// The C type that is passed as the parameter is, and the expression for its value.
fn argument(index: usize, param: &Param, items: &HashMap<&str, &Item>) -> Result<(String, String)> {
    let name = &param.variable.name;
    let ty = param.variable.ty.unqualified();
    let direction = match param.direction {
        Direction::Value => "VALUE",
        Direction::In => "IN",
        Direction::Out => "OUT",
        Direction::InOut => "INOUT",
    };
    if let Type::Pointer(to) | Type::Array(to, _) = ty {
        return Ok(("uint64_t".to_owned(), format!("POINTER({index}, {direction}, {:?}, {name:?})", type_name(to))));
    }
    let kind = |name: &str| items.get(name).map(|item| &item.kind);
    if let Type::Name(basic) = ty {
        if basic == "float" {
            return Ok(("float".to_owned(), "0".to_owned()));
        }
        if let Some(Kind::Callback { .. }) = kind(basic) {
            return Ok(("uint64_t".to_owned(), format!("CALLBACK({index})")));
        }
    }
    Ok(match layout(ty, items)?.size {
        8 => ("uint64_t".to_owned(), format!("WORD({index}, {:?}, {name:?})", type_name(ty))),
        size @ (1 | 2 | 4) => (format!("uint{}_t", 8 * size), format!("WORD({index}, {:?}, {name:?})", type_name(ty))),
        size => (format!("Bytes{size}"), format!("(Bytes{size}){{0}}")),
    })
}

/// What a type is called; `*` behind it for each level of pointers.
fn type_name(ty: &Type) -> String {
    match ty.unqualified() {
        Type::Name(name) | Type::Tag(name) => name.clone(),
        Type::Pointer(to) | Type::Array(to, _) => format!("{} *", type_name(to)),
        _ => String::new(),
    }
}
