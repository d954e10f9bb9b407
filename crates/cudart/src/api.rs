//! The handlers, one file for each section of the manual. Each takes what the border makes of the arguments of its function,
//! and is bound to it by its name.
#![allow(missing_docs)]

pub mod array;
pub mod device;
pub mod device_properties;
pub mod driver_entry_point;
pub mod error;
pub mod memory;
pub mod version;
