//! What ties the name, the version and the signature of an entry point together.

use core::ffi::CStr;

/// One ABI version of an entry point: what to ask the lookup for, and the type of the function that it answers with.
///
/// The types in [`entry`](crate::entry) implement it, one for each typedef of NVIDIA's typedef headers, and carry its name:
/// [`cuMemAlloc_v3020`](crate::entry::cuMemAlloc_v3020) stands for `PFN_cuMemAlloc_v3020`.
pub trait EntryPoint {
    /// The name to look up.
    const NAME: &'static CStr;
    /// The CUDA version to ask for, 1000 * major + 10 * minor.
    const VERSION: i32;
    /// Whether to ask for the variant whose default stream is the calling thread's.
    const PER_THREAD: bool;
    /// The ELF symbol behind it.
    const SYMBOL: &'static str;
    /// The name of the typedef in C.
    const TYPEDEF: &'static str;
    /// The header with that typedef.
    const HEADER: &'static str;
    /// The type of the function.
    type Fn: Copy;
}

/// The facts of an entry point, for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPointFacts {
    /// The name to look up.
    pub name: &'static str,
    /// The title of its group in the manual.
    pub group: &'static str,
    /// Its symbols, oldest ABI version first, each followed by its per-thread variant.
    pub versions: &'static [AbiVersion],
}

/// One symbol of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbiVersion {
    /// The CUDA version that it came with.
    pub since: i32,
    /// The name of the ELF symbol.
    pub symbol: &'static str,
    /// The name of its typedef in C.
    pub typedef: &'static str,
    /// The header with that typedef.
    pub header: &'static str,
    /// Whether its default stream is the calling thread's.
    pub per_thread: bool,
}
