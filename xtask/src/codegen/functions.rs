//! The exported functions with their parameters as data, down to the fields of structs: what the fuzzer of the API walks; and how each is called.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::abi::{symbols, typedef_name};
use super::layout::{aggregate_layout, layout};
use super::rust_type::RustTypes;
use crate::c::{Aggregate, Type};
use crate::output::Output;
use crate::registry::{Direction, Item, Kind, Registry, by_name};

pub(super) fn generate(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let types = RustTypes::new(&registry.topics);
    let mut shapes =
        Shapes { items: by_name(&registry.topics), types, used: BTreeSet::new(), written: BTreeSet::new() };
    let mut rows = String::new();
    for entry_point in registry.groups.iter().flat_map(|group| &group.entry_points).filter(|entry| entry.exported) {
        for abi in &entry_point.abis {
            let mut params = String::new();
            for param in &abi.params {
                let direction = match param.direction {
                    Direction::Value => "Value",
                    Direction::In => "In",
                    Direction::Out => "Out",
                    Direction::InOut => "InOut",
                };
                let name = &param.variable.name;
                let shape = shapes.shape(&param.variable.ty).with_context(|| abi.symbol.clone())?;
                let array = param.array;
                write!(params, "Param::new({name:?}, {direction}, {array}, {shape}),")?;
            }
            let indices: Vec<String> = (0..abi.params.len()).map(|index| index.to_string()).collect();
            let indices = indices.join(", ");
            for (symbol, _, per_thread) in symbols(abi) {
                let typedef = typedef_name(entry_point, abi, per_thread);
                writeln!(rows, "Function::new({symbol:?}, &[{params}], call!(PFN_{typedef}, {indices})),")?;
            }
        }
    }
    let mut aggregates = String::new();
    while let Some(name) = shapes.used.difference(&shapes.written).next().cloned() {
        let Kind::Aggregate { aggregate, .. } = &shapes.items[name.as_str()].kind else {
            unreachable!("only aggregates are noted as used")
        };
        let body = shapes.aggregate(&name, aggregate)?;
        writeln!(aggregates, "#[allow(non_upper_case_globals)]\nstatic {name}: Aggregate = {body};\n")?;
        shapes.written.insert(name);
    }
    let body = format!(
        "//! Every exported function, with what its arguments are.

use warploom_abi::pfn::*;

use crate::facts::Direction::*;
use crate::facts::Shape::*;
use crate::facts::{{Aggregate, Field, Function, Param, call}};

pub(crate) static FUNCTIONS: &[Function] = &[\n{rows}];\n\n{aggregates}"
    );
    outputs.push(Output::rust(root, "crates/api-fuzz/src/generated/functions.rs", &body)?);
    Ok(())
}

/// Writes types as expressions of the fuzzer's `Shape`.
struct Shapes<'a> {
    items: HashMap<&'a str, &'a Item>,
    types: RustTypes,
    /// Structs and unions with a name that were referred to, and those of them whose description is written.
    used: BTreeSet<String>,
    written: BTreeSet<String>,
}

impl Shapes<'_> {
    fn shape(&mut self, ty: &Type) -> Result<String> {
        Ok(match ty.unqualified() {
            Type::Pointer(to) => match to.unqualified() {
                Type::Function(..) => "Callback".to_owned(),
                to => format!("Pointer(&{})", self.shape(to)?),
            },
            Type::Array(of, length) => format!("Array(&{}, {length})", self.shape(of)?),
            Type::Aggregate(inner) => format!("Struct(&{})", self.aggregate("", inner)?),
            Type::Name(name) => self.named(name)?,
            tag @ Type::Tag(_) => match self.types.name(tag).as_str() {
                "core::ffi::c_void" => "Void".to_owned(),
                name => self.named(name)?,
            },
            other => anyhow::bail!("{other:?} is no type of an argument"),
        })
    }

    fn named(&mut self, name: &str) -> Result<String> {
        let integer = |bytes: u64| format!("Integer({bytes}, {name:?})");
        let Some(item) = self.items.get(name) else {
            return Ok(match name {
                "void" => "Void".to_owned(),
                "char" => "Text".to_owned(),
                "float" => "Float(4)".to_owned(),
                "double" => "Float(8)".to_owned(),
                _ => integer(layout(&Type::Name(name.to_owned()), &self.items)?.size),
            });
        };
        Ok(match &item.kind {
            Kind::Handle { .. } => format!("Handle({name:?})"),
            Kind::Callback { .. } => "Callback".to_owned(),
            Kind::Enum(enumeration) => {
                let values: Vec<String> = enumeration.enumerators.iter().map(|one| one.value.to_string()).collect();
                format!("Enum(&[{}])", values.join(", "))
            }
            Kind::Alias { of, .. } | Kind::Foreign { of, .. } => match of.unqualified() {
                // The name says what the number stands for.
                Type::Name(basic) if !self.items.contains_key(basic.as_str()) && basic != "void" => {
                    integer(layout(of, &self.items)?.size)
                }
                of => self.shape(&of.clone())?,
            },
            Kind::Aggregate { .. } => {
                self.used.insert(name.to_owned());
                format!("Struct(&{name})")
            }
            Kind::Constant(_) => anyhow::bail!("{name} is no type"),
        })
    }

    fn aggregate(&mut self, name: &str, aggregate: &Aggregate) -> Result<String> {
        let (mut fields, mut end) = (String::new(), 0_u64);
        for field in &aggregate.fields {
            let of = layout(&field.ty, &self.items)?;
            let offset = if aggregate.is_union { 0 } else { end.next_multiple_of(of.align) };
            end = offset + of.size;
            let shape = self.shape(&field.ty)?;
            write!(fields, "Field::new({:?}, {offset}, {shape}),", field.name)?;
        }
        let size = aggregate_layout(aggregate, &self.items)?.size;
        let is_union = aggregate.is_union;
        Ok(format!("Aggregate::new({name:?}, {size}, {is_union}, &[{fields}])"))
    }
}
