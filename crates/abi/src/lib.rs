//! C types, constants and function-pointer types of the CUDA driver API, generated from the registry.
//!
//! Names are those of C. Enums are newtypes over their integer, because a caller may pass any value; handles and pointers to the
//! application's functions are newtypes over an address, because nothing may be read through them here.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

mod define;
mod entry_point;
mod generated;
pub mod settings;

pub use define::Callback;
pub use entry_point::{AbiVersion, EntryPoint, EntryPointFacts};
pub use facts::CUDA_VERSION;
pub use generated::{entry, facts, nvml, pfn, runtime, types};
pub use types::*;
