//! Types, constants and prototypes.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use anyhow::{Result, bail};

use super::{BEGIN_C, END_C, Part, guarded, mapping};
use crate::c::{Type, aggregate_text, declare};
use crate::registry::{Enumeration, Enumerator, ErrorCode, Item, Kind, Param, Registry, Topic};

/// The macros of an API's headers.
pub(super) struct Words {
    /// Whose header it is.
    pub(super) version: &'static str,
    /// How the API calls functions of the application.
    pub(super) callback: &'static str,
}

const DRIVER: Words = Words { version: "CUDA_VERSION", callback: "CUDA_CB" };

pub(super) fn write(registry: &Registry, part: &Part) -> Result<String> {
    let mut text = prologue(registry, part);
    text += BEGIN_C;
    text += "\n";
    if part.header == "cuda.h" {
        text += &results(registry);
    }
    for item in in_order(&part.topics)? {
        write_item(&mut text, item, &DRIVER)?;
    }
    for group in &part.groups {
        if group.entry_points.is_empty() {
            continue;
        }
        writeln!(text, "/* {} */", group.title)?;
        for abi in group.entry_points.iter().flat_map(|entry_point| &entry_point.abis) {
            let params = parameters(&abi.params);
            for symbol in std::iter::once(abi.symbol.clone()).chain(abi.per_thread_symbol()) {
                writeln!(text, "CUresult CUDAAPI {symbol}({params});")?;
            }
        }
        text += "\n";
    }
    text += &mapping::write(part);
    text += END_C;
    Ok(guarded(part.header, &text))
}

/// Parameters as in a prototype.
pub(super) fn parameters(params: &[Param]) -> String {
    if params.is_empty() {
        return "void".to_owned();
    }
    let list: Vec<String> = params.iter().map(|param| declare(&param.variable.ty, &param.variable.name)).collect();
    list.join(", ")
}

fn prologue(registry: &Registry, part: &Part) -> String {
    if part.header != "cuda.h" {
        let foreign: Vec<&Item> = part.topics.iter().flat_map(|topic| &topic.items).collect();
        return format!("#include <cuda.h>\n\n{}", foreign_types(&foreign));
    }
    let version = version(registry);
    format!(
        "#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

{version}#define CUDA_VERSION WARPLOOM_CUDA_H

#ifdef _WIN32
#define CUDAAPI __stdcall
#define CUDA_CB __stdcall
#else
#define CUDAAPI
#define CUDA_CB
#endif

/* Functions whose default stream may be the calling thread's. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __CUDA_API_PTDS(api) api##_ptds
#define __CUDA_API_PTSZ(api) api##_ptsz
#else
#define __CUDA_API_PTDS(api) api
#define __CUDA_API_PTSZ(api) api
#endif

"
    )
}

/// The version that a program asks for.
pub(super) fn version(registry: &Registry) -> String {
    let newest = registry.newest_version();
    format!(
        "/* The version whose header this is: 1000 * major + 10 * minor. It decides what plain names stand for. */
#ifndef WARPLOOM_CUDA_H
#define WARPLOOM_CUDA_H {newest}
#endif
#if WARPLOOM_CUDA_H > {newest}
#error \"WARPLOOM_CUDA_H asks for a version of CUDA that this header does not know\"
#endif
"
    )
}

/// Types of other projects: from their headers, or declared here where those are not installed.
pub(super) fn foreign_types(items: &[&Item]) -> String {
    let mut headers: Vec<&str> = Vec::new();
    let mut own = String::new();
    for item in items {
        if let Kind::Foreign { of, defined_in, declaration } = &item.kind {
            headers
                .extend(defined_in.split_whitespace().filter(|header| !headers.contains(header)).collect::<Vec<_>>());
            let declaration = declaration.clone().unwrap_or_else(|| declare(of, &item.name));
            own += &format!("typedef {declaration};\n");
        }
    }
    let Some(last) = headers.last() else { return String::new() };
    let flag = format!("WARPLOOM_HAS_{}", last.to_uppercase().replace(['/', '.'], "_"));
    let includes: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    format!(
        "#ifdef __has_include\n#if __has_include(<{last}>)\n#define {flag}\n#endif\n#endif\n#ifdef {flag}\n{includes}#else\n{own}#endif\n\n"
    )
}

fn results(registry: &Registry) -> String {
    let enumerator = |code: &ErrorCode| Enumerator {
        name: code.name.clone(),
        value: i64::from(code.value),
        since: None,
        until: None,
    };
    let enumerators = registry.errors.iter().map(enumerator).collect();
    let results = Enumeration { tag: Some("cudaError_enum".to_owned()), enumerators };
    enum_text("CUresult", &results, &DRIVER)
}

/// The items of a header, each after those that it mentions.
pub(super) fn in_order<'r>(topics: &[&'r Topic]) -> Result<Vec<&'r Item>> {
    let items: Vec<&Item> = topics.iter().flat_map(|topic| &topic.items).collect();
    let by_name: HashMap<&str, &Item> = items.iter().map(|item| (item.name.as_str(), *item)).collect();
    let mut order = Order { by_name, done: HashSet::new(), open: Vec::new(), items: Vec::new() };
    for item in items {
        order.visit(item)?;
    }
    Ok(order.items)
}

struct Order<'r> {
    by_name: HashMap<&'r str, &'r Item>,
    done: HashSet<&'r str>,
    open: Vec<&'r str>,
    items: Vec<&'r Item>,
}

impl<'r> Order<'r> {
    fn visit(&mut self, item: &'r Item) -> Result<()> {
        if self.done.contains(item.name.as_str()) {
            return Ok(());
        }
        if self.open.contains(&item.name.as_str()) {
            bail!("{} is defined through itself", item.name);
        }
        self.open.push(&item.name);
        let mut mentioned = Vec::new();
        match &item.kind {
            Kind::Alias { of, before, .. } => {
                names(of, &mut mentioned);
                mentioned.extend(before.iter().map(|(_, name)| name.as_str()));
            }
            Kind::Aggregate { aggregate, before, .. } => {
                aggregate.fields.iter().for_each(|field| names(&field.ty, &mut mentioned));
                mentioned.extend(before.iter().map(|(_, name)| name.as_str()));
            }
            Kind::Callback { returns, params } => {
                names(returns, &mut mentioned);
                params.iter().for_each(|param| names(&param.ty, &mut mentioned));
            }
            Kind::Handle { .. } | Kind::Enum(_) | Kind::Constant(_) | Kind::Foreign { .. } => {}
        }
        for name in mentioned {
            if let Some(other) = self.by_name.get(name).copied() {
                self.visit(other)?;
            }
        }
        self.open.pop();
        self.done.insert(&item.name);
        self.items.push(item);
        Ok(())
    }
}

fn names<'t>(ty: &'t Type, into: &mut Vec<&'t str>) {
    match ty {
        Type::Name(name) => into.push(name),
        Type::Const(inner) | Type::Pointer(inner) | Type::Array(inner, _) => names(inner, into),
        Type::Function(result, params) => {
            names(result, into);
            params.iter().for_each(|param| names(&param.ty, into));
        }
        Type::Aggregate(aggregate) => aggregate.fields.iter().for_each(|field| names(&field.ty, into)),
        Type::Tag(_) | Type::Enum(_) => {}
    }
}

/// A type or constant.
pub(super) fn write_item(text: &mut String, item: &Item, words: &Words) -> Result<()> {
    let (name, version) = (&item.name, words.version);
    match &item.kind {
        Kind::Foreign { .. } => {}
        Kind::Handle { tag } => writeln!(text, "typedef struct {tag} *{name};\n")?,
        Kind::Constant(value) => writeln!(text, "#define {name} {value}\n")?,
        Kind::Alias { of, before: None, until: None, .. } => writeln!(text, "typedef {};\n", declare(of, name))?,
        Kind::Alias { of, until: Some(until), .. } => {
            writeln!(text, "#if {version} < {until}\ntypedef {};\n#endif\n", declare(of, name))?;
        }
        Kind::Alias { of, before: Some((since, older)), .. } => writeln!(
            text,
            "#if {version} >= {since}\ntypedef {};\n#else\ntypedef {older} {name};\n#endif\n",
            declare(of, name)
        )?,
        Kind::Enum(enumeration) => text.push_str(&enum_text(name, enumeration, words)),
        Kind::Callback { returns, params } => {
            let list: Vec<String> = params.iter().map(|param| declare(&param.ty, &param.name)).collect();
            writeln!(text, "typedef {} ({} *{name})({});\n", declare(returns, ""), words.callback, list.join(", "))?;
        }
        Kind::Aggregate { aggregate, guard, .. } => {
            let mut body = aggregate_text(aggregate);
            if let Some(align) = aggregate.align {
                let specifier = format!(
                    "{{\n#if defined(__cplusplus) && __cplusplus >= 201103L\n    alignas({align})\n#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L\n    _Alignas({align})\n#endif\n"
                );
                body = body.replacen("{\n", &specifier, 1);
            }
            match guard {
                None => writeln!(text, "typedef {body} {name};\n")?,
                Some(guard) => writeln!(text, "#ifndef {guard}\n#define {guard}\ntypedef {body} {name};\n#endif\n")?,
            }
        }
    }
    Ok(())
}

/// An enum with its typedef.
pub(super) fn enum_text(name: &str, enumeration: &Enumeration, words: &Words) -> String {
    let version = words.version;
    let tag = enumeration.tag.as_ref().map(|tag| format!("{tag} ")).unwrap_or_default();
    let value = |value: i64| match value {
        // The lowest `int` has no literal in C.
        value if value == i64::from(i32::MIN) => "(-2147483647 - 1)".to_owned(),
        value if value > 0xffff => format!("{value:#x}"),
        value => value.to_string(),
    };
    let line = |enumerator: &Enumerator| {
        let line = format!("    {} = {},\n", enumerator.name, value(enumerator.value));
        match (enumerator.since, enumerator.until) {
            (Some(since), _) => format!("#if {version} >= {since}\n{line}#endif\n"),
            (None, Some(until)) => format!("#if {version} < {until}\n{line}#endif\n"),
            (None, None) => line,
        }
    };
    let lines: String = enumeration.enumerators.iter().map(line).collect();
    format!("typedef enum {tag}{{\n{lines}}} {name};\n\n")
}
