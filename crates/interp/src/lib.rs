//! The warp interpreter: the reference for what PTX means, and the executor that runs everything with no compile time.
//!
//! - [`load`] decodes a kernel (`decode`) into dense instructions (`program`) and gives it to `exec` as a `LoadedKernel`. Before that the
//!   typed form is simplified (`decode::simplify`), and registers get the rows that they live in (`decode::slots`).
//! - A warp of 32 lanes executes one instruction at a time (`machine`, `warp`); what instructions do is in `ops`, one family
//!   per file in the order of the PTX manual. Every access to memory goes through `memory`.
//! - What stays the same for a whole launch is computed ahead of it (`decode::hoist`), unrolled sums of products become one instruction
//!   (`decode::sums`). Both are choices of the decoder: the plain instructions mean the same.
//! - The lane loops exist for several host instruction sets (`isa`); `dispatch` runs them.
//!
//! - Other executors have single instructions from here that they have no code for (`step`), what lanes tell each other (`exchange`), and barriers (`barriers`).
//!
//! Nothing here knows PTX text or CUDA's API.
#![forbid(unsafe_code)]

mod barriers;
mod cluster;
mod cta;
mod decode;
mod dispatch;
mod error;
pub mod exchange;
mod frame;
mod half;
mod isa;
mod kernel;
mod lane;
mod machine;
mod mbarrier;
mod memory;
mod ops;
mod printf;
mod program;
mod report;
mod stack;
mod step;
mod waiting;
mod warp;

pub use barriers::{Arrival, BARRIERS, Barriers};
pub use cluster::Cluster;
pub use error::LoadError;
pub use isa::Processor;
pub use kernel::{load, load_observed};
pub use ops::plane::direct::{FetchPlaces, PreparedFetch};
pub use program::function_address;
pub use step::{Gang, Local, StepState, Steps};
