//! Types and constants. Those that are the driver API's under another name are said once more, so that no header includes `cuda.h`.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::{Context, Result};

use super::super::declarations::{enum_text, foreign_types, in_order, write_item};
use super::{BEGIN_C, END_C, VERSION, WORDS};
use crate::c::{Aggregate, Type, aggregate_text, declare};
use crate::registry::{Enumeration, Enumerator, Item, Kind, Registry, RuntimeError, Topic, by_name};

fn topics<'r>(registry: &'r Registry, header: &str) -> Vec<&'r Topic> {
    registry.runtime.topics.iter().filter(|topic| topic.header == header).collect()
}

/// The types of other interfaces that a header mentions.
pub(super) fn of_others(registry: &Registry, header: &str) -> String {
    let topics = topics(registry, header);
    let items: Vec<&Item> = topics.iter().flat_map(|topic| &topic.items).collect();
    foreign_types(&items)
}

pub(super) fn write(registry: &Registry, header: &str) -> Result<String> {
    let topics = topics(registry, header);
    let older = older(&registry.runtime.topics);
    let (items, driver) = (by_name(&registry.runtime.topics), by_name(&registry.topics));
    let mut text = format!("{BEGIN_C}\n");
    if header == "driver_types.h" {
        text += &results(&registry.runtime.errors);
    }
    for item in in_order(&topics)? {
        match &item.kind {
            _ if older.contains_key(item.name.as_str()) => {}
            Kind::Alias { in_c: Some(of), .. } => writeln!(text, "typedef {of}{};\n", item.name)?,
            Kind::Alias { of: Type::Name(of), .. } if driver.contains_key(of.as_str()) => {
                text += &of_the_driver(driver[of.as_str()], &item.name)?;
            }
            Kind::Aggregate { aggregate, before, members, .. } => {
                let newest = aggregate_declaration(&item.name, aggregate, members.as_deref());
                text += &match before {
                    None => newest,
                    Some((version, name)) => {
                        let Kind::Aggregate { aggregate, .. } = &items.get(name.as_str()).context(name.clone())?.kind
                        else {
                            anyhow::bail!("{name} is no struct");
                        };
                        let before = aggregate_declaration(&item.name, &plain_fields(aggregate, &older), None);
                        format!("#if {VERSION} >= {version}\n{newest}#else\n{before}#endif\n")
                    }
                };
                text += "\n";
            }
            _ => write_item(&mut text, item, &WORDS)?,
        }
    }
    Ok(text + END_C.trim_start_matches('\n'))
}

/// Names of structs as older headers have them, each with its plain name.
pub(super) fn older(topics: &[Topic]) -> HashMap<&str, &str> {
    let mut names = HashMap::new();
    for item in topics.iter().flat_map(|topic| &topic.items) {
        if let Kind::Aggregate { before: Some((_, older)), .. } = &item.kind {
            names.insert(older.as_str(), item.name.as_str());
        }
    }
    names
}

/// The type with the plain names of those that it is made of.
pub(super) fn plain(ty: &Type, older: &HashMap<&str, &str>) -> Type {
    match ty {
        Type::Name(name) => {
            Type::Name(older.get(name.as_str()).map_or_else(|| name.clone(), |&plain| plain.to_owned()))
        }
        Type::Const(inner) => Type::Const(Box::new(plain(inner, older))),
        Type::Pointer(to) => Type::Pointer(Box::new(plain(to, older))),
        Type::Array(of, length) => Type::Array(Box::new(plain(of, older)), *length),
        Type::Aggregate(aggregate) => Type::Aggregate(plain_fields(aggregate, older)),
        Type::Tag(_) | Type::Function(..) | Type::Enum(_) => ty.clone(),
    }
}

fn plain_fields(aggregate: &Aggregate, older: &HashMap<&str, &str>) -> Aggregate {
    let mut aggregate = aggregate.clone();
    for field in &mut aggregate.fields {
        field.ty = plain(&field.ty, older);
    }
    aggregate
}

fn aggregate_declaration(name: &str, aggregate: &Aggregate, members: Option<&str>) -> String {
    let mut body = aggregate_text(aggregate);
    if let Some(align) = aggregate.align {
        body = body.replacen(' ', &format!(" __align__({align}) "), 1);
    }
    if let Some(members) = members {
        let lines: String = members.lines().map(indented).collect();
        body = body.replace('}', &format!("#ifdef __cplusplus\n{lines}#endif\n}}"));
    }
    format!("typedef {body} {name};\n")
}

/// A line of C++ in a struct; the preprocessor's begin where the line does.
fn indented(line: &str) -> String {
    if line.starts_with('#') { format!("{line}\n") } else { format!("    {line}\n") }
}

/// A type of the driver API under the runtime's name.
fn of_the_driver(item: &Item, name: &str) -> Result<String> {
    let mut text = String::new();
    match &item.kind {
        Kind::Handle { tag } => writeln!(text, "typedef struct {tag} *{name};\n")?,
        _ => {
            write_item(&mut text, item, &WORDS)?;
            writeln!(text, "typedef {};\n", declare(&Type::Name(item.name.clone()), name))?;
        }
    }
    Ok(text)
}

fn results(errors: &[RuntimeError]) -> String {
    let next = |major: u32| 1000 * (major + 1);
    let enumerator = |code: &RuntimeError| Enumerator {
        name: code.name.clone(),
        value: i64::from(code.value),
        since: code.only.filter(|only| *only == super::NEWEST_MAJOR).map(|only| 1000 * only),
        until: code.only.filter(|only| *only != super::NEWEST_MAJOR).map(next),
    };
    let results =
        Enumeration { tag: Some("cudaError".to_owned()), enumerators: errors.iter().map(enumerator).collect() };
    enum_text("cudaError", &results, &WORDS)
}
