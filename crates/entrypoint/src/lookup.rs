//! What a lookup gives.
use std::ffi::CStr;

/// Which default stream the looked up function uses as stream 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultStream {
    /// What the caller's code was compiled for: legacy, unless the driver was opened for the per-thread default stream.
    #[default]
    AsCompiled,
    /// The legacy default stream.
    Legacy,
    /// The calling thread's default stream, where the function has such a variant.
    PerThread,
}

impl DefaultStream {
    /// The flags of `cuGetProcAddress`.
    pub(crate) fn flags(self) -> u64 {
        match self {
            DefaultStream::AsCompiled => 0,
            DefaultStream::Legacy => 1,
            DefaultStream::PerThread => 2,
        }
    }
}

/// Why there is no function to call: the query results of the driver, and what it refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
    #[error("the driver has no entry point {name}: the name is misspelt, or newer than the driver")]
    SymbolNotFound {
        /// The base name asked for.
        name: String,
    },
    /// `CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT`.
    #[error("the driver has {name}, but only for callers that ask for a CUDA version later than {}", dotted(*version))]
    VersionNotSufficient {
        /// The base name asked for.
        name: String,
        /// The version asked for.
        version: i32,
    },
    /// The version asked for is above the driver's, which refuses it for every name.
    #[error("{name} was asked for with CUDA {}, but the driver is one of CUDA {}", dotted(*version), dotted(*driver))]
    NewerThanDriver {
        /// The base name asked for.
        name: String,
        /// The version asked for.
        version: i32,
        /// The driver's version.
        driver: i32,
    },
    /// Anything else.
    #[error("the lookup of {name} failed with CUresult {code}")]
    Failed {
        /// The base name asked for.
        name: String,
        /// The result code.
        code: u32,
    },
}

/// 12040 is `12.4`.
fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// A function of the driver whose signature nobody vouches for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    address: *const (),
}

// SAFETY: the address of a function of a library that stays loaded.
unsafe impl Send for Symbol {}
// SAFETY: as above.
unsafe impl Sync for Symbol {}

impl Symbol {
    /// The function at `address`, wherever it comes from.
    pub fn from_address(address: *const ()) -> Symbol {
        Symbol { address }
    }

    /// Where its code is.
    pub fn address(&self) -> *const () {
        self.address
    }

    /// Its ELF name, for instance `cuMemAlloc_v2`, if the dynamic symbol table has one for the address.
    pub fn name(&self) -> Option<String> {
        let info = crate::identity::address_info(self.address)?;
        if info.dli_sname.is_null() || !std::ptr::eq(info.dli_saddr, self.address.cast()) {
            return None;
        }
        // SAFETY: a name of the dynamic symbol table ends in NUL and lives as long as the library.
        Some(unsafe { CStr::from_ptr(info.dli_sname) }.to_string_lossy().into_owned())
    }
}
