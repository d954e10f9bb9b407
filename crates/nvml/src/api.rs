//! The handlers, one file for each topic. A function of the C API is a function of the same name here; `cargo xtask codegen` finds it.
#![allow(non_snake_case)]

pub(crate) mod clocks;
pub(crate) mod error;
pub(crate) mod features;
pub(crate) mod field;
pub(crate) mod find;
pub(crate) mod identity;
pub(crate) mod init;
pub(crate) mod memory;
pub(crate) mod mode;
pub(crate) mod pci;
pub(crate) mod process;
pub(crate) mod system;
pub(crate) mod topology;
pub(crate) mod utilization;

use warploom_abi::nvml::nvmlReturn_t;

use crate::border::{ApiResult, Failure, InOut, OutArray};

/// Writes a list whose room the caller says in `count`, where the number of values is written; more than there is room for are refused with that number.
fn write_list<T: Copy>(count: &InOut<'_, u32>, list: &OutArray<'_, T>, values: &[T]) -> ApiResult {
    let room = count.get("count")? as usize;
    if room > 0 && list.is_null() {
        return Err(Failure::invalid_argument("the list is NULL, and its room is not 0"));
    }
    count.set(values.len() as u32);
    if room < values.len() {
        let reason = format!("there are {} values, and room for {room}", values.len());
        return Err(Failure::new(nvmlReturn_t::NVML_ERROR_INSUFFICIENT_SIZE, reason));
    }
    list.write("the list", room, values)
}

/// The word with which a structure says which version of it it is: its size and a number.
const fn version_of<T>(number: u32) -> u32 {
    size_of::<T>() as u32 | number << 24
}

/// Fails if a structure is another version than this function knows.
fn check_version(version: u32, known: u32) -> ApiResult {
    if version == known {
        return Ok(());
    }
    let reason = format!("the structure says version {version:#x}; {known:#x} is known");
    Err(Failure::new(nvmlReturn_t::NVML_ERROR_ARGUMENT_VERSION_MISMATCH, reason))
}
