//! The runtime API, on top of the public driver API of any CUDA driver.
//!
//! `border` takes a call in, `api` says what it means, one file for each section of the manual. `driver` calls the driver,
//! whose functions are all found with `cuGetProcAddress`; `context` says which device and context a call is for, and `binaries`
//! holds what compiled host code registered. Nothing here knows which driver it is.
#![allow(non_snake_case)]

pub mod api;
mod binaries;
pub mod border;
mod context;
mod driver;
pub mod failure;
