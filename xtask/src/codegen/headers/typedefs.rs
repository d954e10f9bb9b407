//! Typedefs of pointers to functions.

use std::collections::BTreeMap;

use super::declarations::parameters;
use super::{BEGIN_C, END_C, Part, guarded};
use crate::codegen::abi::{symbols, typedef_header, typedef_name};
use crate::registry::{Abi, EntryPoint};

/// The first header version without typedefs that bear no version.
const VERSIONED_ONLY: u32 = 13000;

pub(super) fn write(part: &Part) -> String {
    let mut text = format!("#include <{}>\n\n{BEGIN_C}\n", part.header);
    for group in &part.groups {
        if group.entry_points.is_empty() {
            continue;
        }
        text += &format!("/* {} */\n", group.title);
        for entry_point in &group.entry_points {
            for abi in &entry_point.abis {
                for (_, _, per_thread) in symbols(abi) {
                    let name = typedef_name(entry_point, abi, per_thread);
                    text += &format!("typedef CUresult (CUDAAPI *PFN_{name})({});\n", parameters(&abi.params));
                }
            }
        }
        text += "\n";
    }
    text += &plain(part);
    text += END_C;
    guarded(&typedef_header(part.header), &text)
}

/// `PFN_cuMemAlloc`: the type of what the plain name stands for in headers before version 13.0, which have such names.
fn plain(part: &Part) -> String {
    let entry_points = || part.groups.iter().flat_map(|group| &group.entry_points);
    let mut blocks: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for entry_point in entry_points() {
        let mut defined = false;
        for (position, abi) in entry_point.abis.iter().enumerate() {
            let since = if position == 0 { Some(abi.since) } else { abi.plain_since };
            let Some(since) = since.filter(|since| *since < VERSIONED_ONLY) else { continue };
            push(&mut blocks, since, &mut defined, &entry_point.name, entry_point, abi);
        }
        if let Some(alias) = &entry_point.plain
            && let Some((other, abi)) = find(entry_points(), &alias.symbol)
        {
            push(&mut blocks, alias.since, &mut defined, &entry_point.name, other, abi);
        }
    }
    let block = |(version, lines): (u32, Vec<String>)| {
        format!("#if CUDA_VERSION >= {version}\n{}\n#endif\n\n", lines.join("\n"))
    };
    let blocks: String = blocks.into_iter().map(block).collect();
    format!(
        "/* Without a version: what the plain name stands for. Headers from 13.0 on have no such names. */\n#if CUDA_VERSION < {VERSIONED_ONLY}\n\n{blocks}#endif\n"
    )
}

fn push(
    blocks: &mut BTreeMap<u32, Vec<String>>,
    since: u32,
    defined: &mut bool,
    name: &str,
    entry_point: &EntryPoint,
    abi: &Abi,
) {
    let lines = blocks.entry(since).or_default();
    if std::mem::replace(defined, true) {
        lines.push(format!("#undef PFN_{name}"));
    }
    let legacy = format!("PFN_{}", typedef_name(entry_point, abi, false));
    match &abi.per_thread {
        None => lines.push(format!("#define PFN_{name} {legacy}")),
        Some(_) => lines.push(format!(
            "#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM\n#define PFN_{name} PFN_{}\n#else\n#define PFN_{name} {legacy}\n#endif",
            typedef_name(entry_point, abi, true)
        )),
    }
}

fn find<'r>(entry_points: impl Iterator<Item = &'r EntryPoint>, symbol: &str) -> Option<(&'r EntryPoint, &'r Abi)> {
    entry_points
        .flat_map(|entry_point| entry_point.abis.iter().map(move |abi| (entry_point, abi)))
        .find(|(_, abi)| abi.symbol == symbol)
}
