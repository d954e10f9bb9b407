//! The handlers, one file for each section of the manual. Each takes what the border makes of the arguments of its function,
//! and is bound to it by its name.
#![allow(missing_docs)]

pub mod array;
pub mod array_copy;
pub mod device;
pub mod device_deprecated;
pub mod device_properties;
pub mod driver_entry_point;
pub mod driver_interaction;
pub mod error;
pub mod event;
pub mod execution;
pub mod execution_context;
pub mod execution_deprecated;
pub mod external_resource;
pub mod graph;
pub mod graph_any_node;
pub mod graph_exec;
pub mod graph_external_node;
pub mod graph_node;
pub mod graph_plain_node;
pub mod graphics;
pub mod library;
pub mod logs;
pub mod managed_memory;
pub mod memory;
pub mod memory_copy;
pub mod memory_copy_3d;
pub mod memory_copy_batch;
pub mod memory_deprecated;
pub mod memory_pool;
pub mod memory_set;
pub mod occupancy;
pub mod peer_access;
pub mod profiler;
pub mod registration;
pub mod stream;
pub mod stream_recapture;
pub mod surface_object;
pub mod symbol;
pub mod texture_object;
pub mod thread_deprecated;
pub mod unified_addressing;
pub mod version;
