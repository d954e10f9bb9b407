//! The handlers: one safe function for each symbol, in the groups of the manual. They say what flags and values mean and leave
//! the work to the driver's objects.
//!
//! A handler is called like its ELF symbol, so that it is found by searching for what a caller calls.
#![allow(non_snake_case)]
#![forbid(unsafe_code)]

pub(crate) mod entry_point;
pub(crate) mod error;
pub(crate) mod init;
pub(crate) mod version;
