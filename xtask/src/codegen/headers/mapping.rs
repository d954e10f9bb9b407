//! What plain names stand for, by the version of the header and the per-thread macro.

use std::collections::BTreeMap;

use super::Part;
use crate::registry::{Abi, EntryPoint};

/// The entry point whose per-thread variant is a function in the header and not a symbol.
const INLINE: &str = "cuGetProcAddress";

/// Lines by the header version from which they hold.
type Blocks = BTreeMap<u32, Vec<String>>;

/// The three parts of the mapping, in their order.
#[derive(Default)]
struct Mapping {
    /// Per-thread variants of first ABI versions: under the per-thread macro only.
    first: Blocks,
    /// Later ABI versions, which replace those.
    later: Blocks,
    /// Symbols that are mapped under their own name: under the per-thread macro only.
    explicit: Blocks,
}

/// The macros of the header.
pub(super) fn write(part: &Part) -> String {
    let mut mapping = Mapping::default();
    for entry_point in part.groups.iter().flat_map(|group| &group.entry_points) {
        if entry_point.name != INLINE {
            map(entry_point, &mut mapping);
        }
    }
    let mut text = String::new();
    if mapping.first.is_empty() && mapping.later.is_empty() {
        return text;
    }
    text += "/* What plain names stand for. */\n#ifndef __CUDA_API_VERSION_INTERNAL\n\n";
    text += &per_thread(&mapping.first);
    text += &block_text(&mapping.later);
    text += &per_thread(&mapping.explicit);
    if part.header == "cuda.h" {
        text += LOOKUP;
    }
    text + "#endif\n"
}

fn per_thread(blocks: &Blocks) -> String {
    if blocks.is_empty() {
        return String::new();
    }
    format!("#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM\n\n{}#endif\n\n", block_text(blocks))
}

fn block_text(blocks: &Blocks) -> String {
    let block = |(version, lines): (&u32, &Vec<String>)| {
        format!("#if CUDA_VERSION >= {version}\n{}\n#endif\n\n", lines.join("\n"))
    };
    blocks.iter().map(block).collect()
}

fn map(entry_point: &EntryPoint, mapping: &mut Mapping) {
    let name = &entry_point.name;
    let mut defined = false;
    let mut replace = |since: u32, target: &str, defined: bool| {
        let lines = mapping.later.entry(since).or_default();
        if defined {
            lines.push(format!("#undef {name}"));
        }
        lines.push(define(name, target));
    };
    for (position, abi) in entry_point.abis.iter().enumerate() {
        if position == 0 {
            if let Some(variant) = &abi.per_thread {
                let since = variant.since.max(abi.since);
                mapping.first.entry(since).or_default().push(define(name, &target(abi)));
                defined = true;
            }
            continue;
        }
        if let Some(since) = abi.plain_since {
            replace(since, &target(abi), defined);
            defined = true;
        }
        explicit(abi, &mut mapping.explicit);
    }
    if let Some(plain) = &entry_point.plain {
        replace(plain.since, &plain.symbol, defined);
    }
}

/// A symbol that is newer than what the plain name stands for is mapped under its own name.
fn explicit(abi: &Abi, blocks: &mut Blocks) {
    let until = abi.explicit_until.or(abi.plain_since);
    if abi.per_thread.is_none() || until.is_some_and(|until| until <= abi.since) {
        return;
    }
    blocks.entry(abi.since).or_default().push(define(&abi.symbol, &target(abi)));
    if let Some(until) = until {
        blocks.entry(until).or_default().push(format!("#undef {}", abi.symbol));
    }
}

fn define(name: &str, target: &str) -> String {
    format!("#define {name} {target}")
}

/// The symbol, through the macro that appends the per-thread suffix if it has a variant.
fn target(abi: &Abi) -> String {
    match &abi.per_thread {
        Some(variant) => format!("__CUDA_API{}({})", variant.suffix.to_uppercase(), abi.symbol),
        None => abi.symbol.clone(),
    }
}

/// The lookup itself: under the per-thread macro the default flag asks for per-thread variants.
const LOOKUP: &str = "#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
static inline cuuint64_t warploomProcAddressFlags(cuuint64_t flags) {
    return flags == CU_GET_PROC_ADDRESS_DEFAULT ? (cuuint64_t)CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : flags;
}
static inline CUresult cuGetProcAddress_ptsz(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags) {
    return cuGetProcAddress(symbol, pfn, cudaVersion, warploomProcAddressFlags(flags));
}
static inline CUresult cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                                CUdriverProcAddressQueryResult *symbolStatus) {
    return cuGetProcAddress_v2(symbol, pfn, cudaVersion, warploomProcAddressFlags(flags), symbolStatus);
}
#define cuGetProcAddress_v2 cuGetProcAddress_v2_ptsz
#if CUDA_VERSION >= 12000
#define cuGetProcAddress cuGetProcAddress_v2
#else
#define cuGetProcAddress cuGetProcAddress_ptsz
#endif
#elif CUDA_VERSION >= 12000
#define cuGetProcAddress cuGetProcAddress_v2
#endif

";
