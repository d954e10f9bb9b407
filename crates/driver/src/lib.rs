//! CUDA objects: devices, contexts, modules, memory, streams, events. No C types, no unsafe code.
#![forbid(unsafe_code)]

mod error;
mod generated;

pub use error::{DriverError, DriverResult};
pub use generated::ErrorCode;
