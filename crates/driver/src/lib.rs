//! CUDA objects: devices, contexts, modules, memory, streams, events. No C types, no unsafe code.
#![forbid(unsafe_code)]

pub mod array;
pub mod context;
pub mod coredump;
pub mod device;
mod driver;
mod error;
pub mod event;
pub mod executor;
mod fault;
mod generated;
pub mod graph;
pub mod green;
pub mod handle;
pub mod launch;
pub mod library;
pub mod linker;
pub mod memory;
pub mod module;
mod stack;
pub mod stream;
pub mod tensor_map;
pub mod texture;

pub use driver::{Driver, DriverOptions};
pub use error::{DriverError, DriverResult};
pub use generated::ErrorCode;
pub use handle::{Handle, HandleTable, Kind};
