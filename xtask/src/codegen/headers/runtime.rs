//! The headers of the runtime API, for host code in C and C++.

mod functions;
mod inline;
mod types;

use anyhow::Result;

use super::declarations::{Words, version};
use super::{BEGIN_C, END_C, file, guarded};
use crate::output::Output;
use crate::registry::{HEADER_MAJORS, Registry};

/// Each header with those that it includes.
const HEADERS: [(&str, &[&str]); 16] = [
    ("host_defines.h", &[]),
    ("vector_types.h", &["host_defines.h"]),
    ("device_types.h", &["host_defines.h"]),
    ("library_types.h", &[]),
    ("driver_types.h", &["limits.h", "stddef.h", "host_defines.h", "vector_types.h"]),
    ("surface_types.h", &["driver_types.h"]),
    ("texture_types.h", &["driver_types.h"]),
    ("builtin_types.h", &["device_types.h", "driver_types.h", "surface_types.h", "texture_types.h", "vector_types.h"]),
    ("cuda_runtime_api.h", &["host_defines.h", "builtin_types.h"]),
    ("cuda_profiler_api.h", &["driver_types.h"]),
    ("cuda_gl_interop.h", &["cuda_runtime_api.h"]),
    ("cuda_vdpau_interop.h", &["cuda_runtime_api.h"]),
    ("cuda_egl_interop.h", &["cuda_runtime_api.h", "cuda_runtime.h"]),
    ("driver_functions.h", &["builtin_types.h"]),
    ("vector_functions.h", &["cuda_runtime_api.h"]),
    ("channel_descriptor.h", &["cuda_runtime_api.h"]),
];

/// What C++ programs include: all of the above, and typed variants of functions.
const WHOLE: (&str, &[&str]) = (
    "cuda_runtime.h",
    &[
        "builtin_types.h",
        "library_types.h",
        "channel_descriptor.h",
        "cuda_runtime_api.h",
        "driver_functions.h",
        "vector_functions.h",
    ],
);

/// The macro that says whose header it is.
const VERSION: &str = "CUDART_VERSION";

const WORDS: Words = Words { version: VERSION, callback: "CUDART_CB" };

/// The version whose facts are those of most headers.
const NEWEST_MAJOR: u32 = HEADER_MAJORS[HEADER_MAJORS.len() - 1];

/// Whether a header belongs to the runtime API.
pub(super) fn declares(header: &str) -> bool {
    HEADERS.iter().chain([&WHOLE]).any(|(name, _)| *name == header)
}

pub(super) fn generate(registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    for (header, included) in HEADERS.iter().chain([&WHOLE]) {
        let mut text: String = included.iter().map(|name| format!("#include <{name}>\n")).collect();
        text += match included {
            [] => "",
            _ => "\n",
        };
        text += &match *header {
            "host_defines.h" => host_defines(registry),
            "builtin_types.h" => String::new(),
            "cuda_runtime_api.h" | "cuda_profiler_api.h" => functions::write(registry, header)?,
            "cuda_gl_interop.h" | "cuda_vdpau_interop.h" | "cuda_egl_interop.h" => {
                format!(
                    "{}{}\n{}",
                    types::of_others(registry, header),
                    types::write(registry, header)?,
                    functions::write(registry, header)?
                )
            }
            "driver_functions.h" => inline::makers_of_places(),
            "vector_functions.h" => inline::makers_of_vectors(registry)?,
            "channel_descriptor.h" => inline::channel_descriptors(registry)?,
            "cuda_runtime.h" => inline::overloads(registry)?,
            types => types::write(registry, types)?,
        };
        outputs.push(file(header, &guarded(header, &text)));
    }
    Ok(())
}

/// The version, and the words of CUDA C++ that code for both sides uses, which say nothing on the host.
fn host_defines(registry: &Registry) -> String {
    let version = version(registry);
    let empty = ["host", "device", "global", "shared", "constant", "managed", "grid_constant", "nv_pure"];
    let empty: String = empty.iter().map(|word| format!("#define __{word}__\n")).collect();
    format!(
        "#if defined(__CUDACC__) || defined(__CUDA__)
#error \"these headers are for host code: compilers of device code bring headers of their own\"
#endif

#if defined(__cplusplus) && __cplusplus < 201103L
#error \"these headers take C++ 2011 or newer\"
#endif

{version}#if WARPLOOM_CUDA_H < 12000
#error \"WARPLOOM_CUDA_H asks for a runtime older than 12.0, whose headers are not here\"
#endif
#define {VERSION} WARPLOOM_CUDA_H

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#define CUDART_DEVICE
{empty}#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __forceinline__ __inline__ __attribute__((always_inline))
"
    )
}

/// Lines that headers of one major version alone have.
fn when(only: Option<u32>, lines: &str) -> String {
    match only {
        None => lines.to_owned(),
        Some(NEWEST_MAJOR) => format!("#if {VERSION} >= {}\n{lines}#endif\n", 1000 * NEWEST_MAJOR),
        Some(older) => format!("#if {VERSION} < {}\n{lines}#endif\n", 1000 * (older + 1)),
    }
}
