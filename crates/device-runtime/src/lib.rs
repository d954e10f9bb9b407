//! What NVIDIA's `libcudadevrt.a` has for device code that is linked: synchronization of grids is PTX, launches and what belongs to them are
//! functions that executors provide.
use warploom_ptx::ir::{Builtin, Module, RuntimeCall, RuntimeFunction};

/// The functions of cooperative groups: the name of the input, and its PTX.
pub const COOPERATIVE: (&str, &str) = ("device runtime", include_str!("cooperative.ptx"));

/// How their names begin.
const PREFIX: &str = "cudaCG";

/// How names of the rest of that library begin.
const OTHERS: [&str; 2] = ["cuda", "__cudaCDP2"];

/// Whether an input is the archive that nvcc links relocatable device code with.
pub fn is_archive(bytes: &[u8]) -> bool {
    const MAGIC: &[u8] = b"!<arch>\n";
    const MEMBER: &[u8] = b"cuda_device_runtime.o/";
    bytes.starts_with(MAGIC) && bytes.windows(MEMBER.len()).take(MAX_NAMES).any(|window| window == MEMBER)
}

/// Whether a text is the PTX that the library has for the newest devices, which programs hold whose relocatable device code nvcc has linked. Its
/// functions are built in, and what it calls itself only NVIDIA's driver has.
pub fn is_library(text: &str) -> bool {
    text.contains("__CNPRT_VERSION_NUMBER__")
}

/// How far into an archive its first members' names are looked for: behind a table of symbols.
const MAX_NAMES: usize = 1 << 16;

/// Whether inputs use functions that are built in, and none defines them.
pub fn is_wanted(linker: &warploom_ptx::Linker) -> bool {
    linker.undefined_functions().any(|name| name.starts_with(PREFIX))
}

/// What to say of a link that fails for the rest of that library: that it is missing here, not in what was linked.
pub fn missing(linker: &warploom_ptx::Linker) -> Option<String> {
    let other = |name: &&str| OTHERS.iter().any(|start| name.starts_with(start));
    linker.undefined_functions().find(other).map(|name| {
        format!("'{name}' has the name of a function of the device's runtime library, which has no such function here")
    })
}

/// The first compute capability that has no `cudaDeviceSynchronize` in kernels (CUDA programming guide, dynamic parallelism).
const WITHOUT_SYNCHRONIZE: u32 = 90;

/// What to say of a module whose kernels wait for their children where devices of this compute capability have no function for it.
pub fn without_device(module: &Module, sm: u32) -> Option<String> {
    let waits = |builtin: Option<Builtin>| {
        matches!(builtin, Some(Builtin::Runtime(RuntimeFunction { call: RuntimeCall::DeviceSynchronize, .. })))
    };
    let used = |id: usize| {
        let mut bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
        bodies.any(|body| body.callees.iter().any(|callee| callee.0 as usize == id))
    };
    let mut functions = module.functions.iter().enumerate().filter(|_| sm >= WITHOUT_SYNCHRONIZE);
    let found = functions.find(|(id, function)| waits(function.builtin) && used(*id));
    found.map(|(_, function)| {
        format!("'{}' in kernels is not there on devices of compute capability 9.0 and later", function.name)
    })
}
