//! Inline functions: `make_int2` and its siblings, channel descriptors by type, and typed variants of functions for C++.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::when;
use crate::c::{Aggregate, Type};
use crate::registry::{HEADER_MAJORS, Kind, Overload, Registry};

/// `static inline`, as compilers in the mode of any standard know it.
const INLINE: &str = "static __inline__";

/// Makers of the structs that say where something is, and how large.
const PLACES: [(&str, &str, &[&str]); 3] = [
    ("cudaPitchedPtr", "void *ptr, size_t pitch, size_t xsize, size_t ysize", &["ptr", "pitch", "xsize", "ysize"]),
    ("cudaPos", "size_t x, size_t y, size_t z", &["x", "y", "z"]),
    ("cudaExtent", "size_t width, size_t height, size_t depth", &["width", "height", "depth"]),
];

pub(super) fn makers_of_places() -> String {
    PLACES.iter().map(|(name, params, fields)| maker(name, params, fields)).collect()
}

fn maker(name: &str, params: &str, fields: &[&str]) -> String {
    let fields: String = fields.iter().map(|field| format!("    made.{field} = {field};\n")).collect();
    format!(
        "{INLINE} struct {name} make_{name}({params}) {{\n    struct {name} made;\n{fields}    return made;\n}}\n\n"
    )
}

/// The vector types: structs of up to four values of one type.
fn vectors(registry: &Registry) -> Result<Vec<(&str, &Aggregate)>> {
    let topics = registry.runtime.topics.iter().filter(|topic| topic.header == "vector_types.h");
    let mut vectors = Vec::new();
    for item in topics.flat_map(|topic| &topic.items) {
        // dim3 has constructors, and no maker.
        if let Kind::Aggregate { aggregate, members: None, .. } = &item.kind {
            vectors.push((item.name.as_str(), aggregate));
        }
    }
    Ok(vectors)
}

pub(super) fn makers_of_vectors(registry: &Registry) -> Result<String> {
    let mut text = String::new();
    for (name, aggregate) in vectors(registry)? {
        let of = element(aggregate)?;
        let fields: Vec<&str> = aggregate.fields.iter().map(|field| field.name.as_str()).collect();
        let params: Vec<String> = fields.iter().map(|field| format!("{of} {field}")).collect();
        text += &maker(name, &params.join(", "), &fields);
    }
    Ok(text)
}

fn element(aggregate: &Aggregate) -> Result<&str> {
    match aggregate.fields.first().map(|field| &field.ty) {
        Some(Type::Name(name)) => Ok(name),
        other => anyhow::bail!("{other:?} is no element of a vector"),
    }
}

/// The kind of a channel that holds values of a type, where textures have one.
fn channel(of: &str) -> Option<&'static str> {
    match of {
        "signed char" | "short" | "int" => Some("Signed"),
        "unsigned char" | "unsigned short" | "unsigned int" => Some("Unsigned"),
        "float" => Some("Float"),
        _ => None,
    }
}

pub(super) fn channel_descriptors(registry: &Registry) -> Result<String> {
    let mut text = String::from("#ifdef __cplusplus\n\n");
    let descriptor = |bits: [&str; 4], kind: &str| {
        format!("{{\n    return ::cudaCreateChannelDesc({}, cudaChannelFormatKind{kind});\n}}\n\n", bits.join(", "))
    };
    let general = |template: &str| {
        format!("template <{template}> inline cudaChannelFormatDesc cudaCreateChannelDesc(void) ")
            + &descriptor(["0"; 4], "None")
    };
    let special = |of: &str| format!("template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<{of}>(void) ");
    let bits = "(int)sizeof(unsigned short) * 8";
    for (name, count) in [("Half", 1), ("Half1", 1), ("Half2", 2), ("Half4", 4)] {
        let bits = [0, 1, 2, 3].map(|at| if at < count { bits } else { "0" });
        write!(text, "{INLINE} cudaChannelFormatDesc cudaCreateChannelDesc{name}(void) {}", descriptor(bits, "Float"))?;
    }
    let eight = ["8", "8", "8", "0"];
    write!(text, "{INLINE} cudaChannelFormatDesc cudaCreateChannelDescNV12(void) {}", descriptor(eight, "NV12"))?;
    text += &general("typename T");
    // Whether `char` has a sign is the compiler's choice.
    write!(
        text,
        "{}{{\n    const cudaChannelFormatKind kind = (char)-1 < 0 ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned;\n    return ::cudaCreateChannelDesc(8, 0, 0, 0, kind);\n}}\n\n",
        special("char")
    )?;
    for (name, aggregate) in vectors(registry)? {
        let (of, count) = (element(aggregate)?, aggregate.fields.len());
        let (Some(kind), false) = (channel(of), count == 3) else { continue };
        let size = format!("(int)sizeof({of}) * 8");
        let bits = [0, 1, 2, 3].map(|at| if at < count { size.as_str() } else { "0" });
        if count == 1 {
            text += &(special(of) + &descriptor(bits, kind));
        }
        text += &(special(name) + &descriptor(bits, kind));
    }
    text += &general("cudaChannelFormatKind kind");
    let newer = registry.runtime.topics.iter().flat_map(|topic| &topic.items);
    let kinds = newer.filter(|item| item.name == "cudaChannelFormatKind").find_map(|item| match &item.kind {
        Kind::Enum(enumeration) => Some(&enumeration.enumerators),
        _ => None,
    });
    for enumerator in kinds.context("cudaChannelFormatKind is an enum of the registry")? {
        if let Some(bits) = registry.runtime.channels.get(&enumerator.name) {
            let bits = bits.map(|bits| bits.to_string());
            let bits = [&*bits[0], &*bits[1], &*bits[2], &*bits[3]];
            let kind = enumerator.name.trim_start_matches("cudaChannelFormatKind");
            text += &(special(&enumerator.name) + &descriptor(bits, kind));
        }
    }
    Ok(text + "#endif\n")
}

pub(super) fn overloads(registry: &Registry) -> Result<String> {
    let mut text = String::from("#ifdef __cplusplus\n#include <utility>\n\n");
    for overload in &registry.runtime.overloads {
        if let Some(only) = overload.only.filter(|only| !HEADER_MAJORS.contains(only)) {
            anyhow::bail!("{}: there is no library of version {only}", overload.name);
        }
        text += &when(overload.only, &one_overload(overload)?);
        text += "\n";
    }
    Ok(text + "#endif\n")
}

fn one_overload(overload: &Overload) -> Result<String> {
    let name = &overload.name;
    let template = overload.template.as_ref().map(|params| format!("template <{params}>\n")).unwrap_or_default();
    let statements = match (&overload.calls, &overload.body) {
        (Some(call), None) => format!("return ::{call};\n"),
        (None, Some(body)) => body.clone(),
        _ => anyhow::bail!("{name}: an overload says what it calls or what it does"),
    };
    let statements: String = statements.lines().map(|line| format!("    {line}\n")).collect();
    Ok(format!("{template}{INLINE} cudaError_t {name}({}) {{\n{statements}}}\n", overload.params.join(", ")))
}
