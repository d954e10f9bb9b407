//! The C border: how a call comes in and an answer goes out. Raw C pointers are looked at here and nowhere else.
//!
//! The generated exports call [`enter`] with a handler of [`crate::api`], whose parameters are the argument objects of this
//! module. What flags and values mean is the handlers' business; objects are the driver crate's.

mod args;
mod call;
pub(crate) mod callback;
mod foreign;
mod given;
pub(crate) mod graph;
mod host_memory;
mod identity;
mod image;
mod launch;
pub(crate) mod log;
pub(crate) mod members;
mod results;
pub(crate) mod state;
mod trace;

pub(crate) use args::{
    DefaultStream, GivenDescriptor, HostAddress, HostPtr, In, InArray, InOut, InOutArray, InStr, Kept, Out, OutArray,
    OutCStr, OutStr, arg, inherited, no_flags,
};
pub(crate) use call::{ApiResult, Call, enter, not_supported};
pub(crate) use host_memory::callers_memory;
pub(crate) use identity::{IDENTITY_TABLE, identity_table};
pub(crate) use image::{read_image, read_input, write_log};
pub(crate) use launch::{answer_launch_attribute, launch_attributes};
pub(crate) use results::{RESULTS_TABLE, results_table};
pub(crate) use trace::{TraceArg, trace_through_debug};
