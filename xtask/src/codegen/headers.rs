//! The C headers in include/: declarations, the macros that map plain names to ABI versions, and typedefs of function pointers.

mod declarations;
mod mapping;
mod runtime;
mod typedefs;

use std::path::PathBuf;

use anyhow::Result;

use crate::output::Output;
use crate::registry::{Group, Registry, Topic};

/// The headers that declare functions, and what each includes before the types of others.
const HEADERS: [&str; 5] = ["cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h"];

pub(super) fn generate(registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    for header in HEADERS {
        let part = Part::of(registry, header);
        outputs.push(file(header, &declarations::write(registry, &part)?));
        outputs.push(file(&super::abi::typedef_header(header), &typedefs::write(&part)));
    }
    runtime::generate(registry, outputs)
}

fn file(name: &str, body: &str) -> Output {
    Output::c(PathBuf::from("include").join(name), body)
}

/// What belongs to one header.
struct Part<'r> {
    header: &'static str,
    groups: Vec<&'r Group>,
    topics: Vec<&'r Topic>,
}

impl<'r> Part<'r> {
    fn of(registry: &'r Registry, header: &'static str) -> Part<'r> {
        Part {
            header,
            groups: registry.groups.iter().filter(|group| group.header == header).collect(),
            topics: registry.topics.iter().filter(|topic| topic.header == header).collect(),
        }
    }
}

/// The macro that says that a header was included: NVIDIA's, because programs ask for it.
fn guard(header: &str) -> String {
    match header {
        "cuda.h" => "__cuda_cuda_h__".to_owned(),
        "cudaProfiler.h" => "cuda_profiler_H".to_owned(),
        name if runtime::declares(name) => format!("__{}__", name.to_uppercase().replace('.', "_")),
        other => other.trim_end_matches(".h").to_uppercase() + "_H",
    }
}

/// The body between the include guard.
fn guarded(header: &str, body: &str) -> String {
    let guard = guard(header);
    format!("#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n")
}

const BEGIN_C: &str = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
const END_C: &str = "\n#ifdef __cplusplus\n}\n#endif\n";
