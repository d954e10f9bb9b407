//! The device: memory, worker pool, grids and faults.
//!
//! - [`address`]: the generic address space.
//! - [`memory`]: the memory window, its allocator, and checked access.
//! - [`fault`]: what ends a kernel early, and the report of it.
//! - [`kernel`]: the seam between executors and grids.
//! - [`grid`]: launches, as executors see them.
//! - [`family`], [`device_runtime`]: what grids launch themselves, and whom they ask.
//! - [`pool`]: worker threads.
//! - [`stream`]: work in order.
//! - [`copy`]: copies and fills.
//! - [`interprocess`]: how other processes find memory, and events that they share.
//! - [`masks`]: which signals threads of the device take.
//! - [`heap`], [`output`]: `malloc` and `printf` of kernels.
//! - [`tensor_map`]: what the bytes of a tensor map say.
//! - [`texture`]: what textures and surfaces are to a kernel.
//! - [`workspace`]: where the CTAs of a cooperative grid wait for each other.
//!
//! Nothing here knows PTX or CUDA's objects; result codes, and the calls that a report advises, are known by name.

pub mod address;
mod attention;
mod bulk;
mod callback;
pub mod copy;
pub mod device_runtime;
pub mod family;
pub mod fault;
mod float;
pub mod grid;
pub mod heap;
pub mod interprocess;
pub mod kernel;
pub mod masks;
pub mod memory;
pub mod observe;
pub mod output;
mod overdue;
mod pause;
pub mod pool;
mod queue;
mod run;
mod signal;
mod stack;
pub mod stream;
pub mod tensor_map;
pub mod texture;
pub mod workspace;
