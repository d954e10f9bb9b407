//! Sizes and alignments of C types on 64-bit machines.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use crate::c::{Aggregate, Type};
use crate::registry::{Item, Kind};

/// Size and alignment in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) size: u64,
    pub(crate) align: u64,
}

impl Layout {
    const fn scalar(size: u64) -> Layout {
        Layout { size, align: size }
    }
}

/// The layout of a type; `items` are all named types.
pub(crate) fn layout(ty: &Type, items: &HashMap<&str, &Item>) -> Result<Layout> {
    Ok(match ty.unqualified() {
        Type::Pointer(_) => Layout::scalar(8),
        Type::Enum(_) => Layout::scalar(4),
        Type::Array(of, length) => {
            let of = layout(of, items)?;
            Layout { size: of.size * length, align: of.align }
        }
        Type::Aggregate(aggregate) => aggregate_layout(aggregate, items)?,
        Type::Name(name) => named(name, items)?,
        other => bail!("{other:?} has no size"),
    })
}

fn named(name: &str, items: &HashMap<&str, &Item>) -> Result<Layout> {
    Ok(match name {
        "char" | "signed char" | "unsigned char" => Layout::scalar(1),
        "short" | "unsigned short" => Layout::scalar(2),
        "int" | "unsigned int" | "uint32_t" | "float" | "CUresult" => Layout::scalar(4),
        "long" | "unsigned long" | "long long" | "unsigned long long" | "uint64_t" | "size_t" | "double" => {
            Layout::scalar(8)
        }
        name => match &items.get(name).with_context(|| format!("{name} is no type of the registry"))?.kind {
            Kind::Handle { .. } | Kind::Callback { .. } => Layout::scalar(8),
            Kind::Enum(_) => Layout::scalar(4),
            Kind::Alias { of, .. } | Kind::Foreign { of, .. } => layout(of, items)?,
            Kind::Aggregate { aggregate, .. } => aggregate_layout(aggregate, items)?,
            Kind::Constant(_) => bail!("{name} is no type"),
        },
    })
}

/// The layout of a struct or union.
pub(crate) fn aggregate_layout(aggregate: &Aggregate, items: &HashMap<&str, &Item>) -> Result<Layout> {
    let mut whole = Layout { size: 0, align: aggregate.align.unwrap_or(1) };
    for field in &aggregate.fields {
        let field = layout(&field.ty, items)?;
        whole.align = whole.align.max(field.align);
        whole.size = if aggregate.is_union {
            whole.size.max(field.size)
        } else {
            whole.size.next_multiple_of(field.align) + field.size
        };
    }
    whole.size = whole.size.next_multiple_of(whole.align);
    Ok(whole)
}
