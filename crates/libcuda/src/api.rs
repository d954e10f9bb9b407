//! The handlers: one safe function for each symbol, in the groups of the manual. They say what flags and values mean and leave
//! the work to the driver's objects.
//!
//! A handler and its parameters are called as in the manual, so that it is found by searching for what a caller calls; there are as
//! many parameters as the manual has.
#![allow(non_snake_case, clippy::too_many_arguments)]
#![forbid(unsafe_code)]

pub(crate) mod checkpoint;
pub(crate) mod context;
pub(crate) mod context_deprecated;
pub(crate) mod coredump;
pub(crate) mod device;
pub(crate) mod egl;
pub(crate) mod entry_point;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod execution;
pub(crate) mod execution_deprecated;
pub(crate) mod external_resource;
pub(crate) mod gl;
pub(crate) mod graph;
pub(crate) mod graphics;
pub(crate) mod green_context;
pub(crate) mod init;
mod jit;
pub(crate) mod library;
pub(crate) mod linker;
pub(crate) mod logs;
pub(crate) mod memory;
pub(crate) mod memory_pool;
pub(crate) mod module;
pub(crate) mod module_deprecated;
pub(crate) mod occupancy;
pub(crate) mod peer_access;
pub(crate) mod primary_context;
pub(crate) mod profiler;
pub(crate) mod stream;
pub(crate) mod stream_capture;
pub(crate) mod stream_memory_operation;
pub(crate) mod surface_object;
pub(crate) mod surface_reference;
pub(crate) mod tensor_map;
pub(crate) mod texture_object;
pub(crate) mod texture_reference;
pub(crate) mod unified_addressing;
pub(crate) mod vdpau;
pub(crate) mod version;
pub(crate) mod virtual_memory;
