//! CUDA objects: devices, contexts, modules, memory, streams, events. No C types, no unsafe code.
#![forbid(unsafe_code)]

mod generated;

pub use generated::ErrorCode;
