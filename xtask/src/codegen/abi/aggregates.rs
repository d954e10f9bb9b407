//! Structs and unions, with names for those that have none in C.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::Result;

use super::super::layout::aggregate_layout;
use super::super::rust_type::{RustTypes, rust_name};
use crate::c::{Aggregate, Type};
use crate::registry::{Item, Kind};

/// Writes the type and, before it, those that it contains inline: `Outer_field`, or `Outer_anonymous0` for a member without
/// a name.
pub(super) fn write(
    text: &mut String,
    name: &str,
    aggregate: &Aggregate,
    types: &RustTypes,
    items: &HashMap<&str, &Item>,
) -> Result<()> {
    let mut fields = String::new();
    let mut anonymous = 0;
    let mut values = String::new();
    for field in &aggregate.fields {
        let field_name = match field.name.as_str() {
            "" => {
                anonymous += 1;
                format!("anonymous{}", anonymous - 1)
            }
            other => rust_name(other),
        };
        let ty = match &field.ty {
            Type::Aggregate(inner) => {
                let inner_name = format!("{name}_{}", field_name.trim_start_matches("r#"));
                write(text, &inner_name, inner, types, items)?;
                inner_name
            }
            other => types.name(other),
        };
        writeln!(fields, "/// As in C.\npub {field_name}: {ty},")?;
        writeln!(values, "{field_name}: {},", zero(&field.ty))?;
    }
    let align = aggregate.align.map(|align| format!(", align({align})")).unwrap_or_default();
    let tag = aggregate.tag.as_ref().map(|tag| format!("`{tag}` in C")).unwrap_or("An inline type".to_owned());
    let debug = !aggregate.is_union && !contains_union(aggregate, items);
    let derive = if debug { "Clone, Copy, Debug, PartialEq" } else { "Clone, Copy" };
    let keyword = if aggregate.is_union { "union" } else { "struct" };
    if aggregate.is_union {
        let size = aggregate_layout(aggregate, items)?.size;
        writeln!(fields, "/// All bytes of the union.\npub bytes_of_union: [u8; {size}],")?;
        values = format!("bytes_of_union: [0; {size}]");
    }
    writeln!(text, "/// {tag}.\n#[repr(C{align})]\n#[derive({derive})]\npub {keyword} {name} {{\n{fields}}}\n")?;
    writeln!(text, "impl Default for {name} {{\n/// All zero.\nfn default() -> Self {{ Self {{ {values} }} }}\n}}\n")?;
    if !debug {
        writeln!(text, "opaque_debug!({name});\n")?;
    }
    Ok(())
}

/// The expression for a field that is all zero.
fn zero(ty: &Type) -> String {
    match ty.unqualified() {
        Type::Pointer(to) => match &**to {
            Type::Const(_) => "core::ptr::null()".to_owned(),
            _ => "core::ptr::null_mut()".to_owned(),
        },
        Type::Array(of, length) => format!("[{}; {length}]", zero(of)),
        _ => "Default::default()".to_owned(),
    }
}

fn contains_union(aggregate: &Aggregate, items: &HashMap<&str, &Item>) -> bool {
    aggregate.is_union || aggregate.fields.iter().any(|field| holds_union(&field.ty, items))
}

fn holds_union(ty: &Type, items: &HashMap<&str, &Item>) -> bool {
    match ty.unqualified() {
        Type::Aggregate(inner) => contains_union(inner, items),
        Type::Array(of, _) => holds_union(of, items),
        Type::Name(name) => match items.get(name.as_str()).map(|item| &item.kind) {
            Some(Kind::Aggregate { aggregate, .. }) => contains_union(aggregate, items),
            Some(Kind::Alias { of, .. }) => holds_union(of, items),
            _ => false,
        },
        _ => false,
    }
}
