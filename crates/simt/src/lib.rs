//! What a compiler must know of a kernel to run the threads of a warp as the lanes of vectors.
//!
//! A kernel is looked at for CTAs of one shape, whose threads run in *gangs*: `width` threads with consecutive numbers, x fastest, in
//! lockstep. [`analyze`] says for each value whether it is the same in all lanes, or differs in a known way, or why not; where
//! lanes part and meet again; how memory is accessed; what runs between barriers; how much is alive at once; and whether threads wait for each other.
//! Everything is computed from the IR of `warploom-ptx`, and nothing of it runs: this crate knows neither executors nor machines.
#![forbid(unsafe_code)]

mod access;
mod affine;
mod alignment;
mod barrier;
pub mod codegen;
mod control;
mod divergence;
mod gang;
mod info;
mod lanes;
mod lockstep;
mod pressure;
mod print;
mod range;
mod reason;
mod shape;
mod standalone;
mod threads;
mod transfer;
mod uniformity;
mod values;
mod wait;

pub use access::{Access, AccessKind, Pattern};
pub use affine::Affine;
pub use barrier::{BarrierControl, Barriers, Region, RegionStart};
pub use divergence::{Divergence, Split};
pub use gang::{Assumptions, Gangs};
pub use info::{KernelInfo, analyze, called_by};
pub use lanes::Lanes;
pub use lockstep::Lockstep;
pub use pressure::{Pressure, VectorUnits};
pub use range::Interval;
pub use reason::Reason;
pub use shape::{Extent, Shape};
pub use standalone::{Calls, stack_bottom, standalone};
pub use values::{Value, ValueId, Values};
pub use wait::{Wait, WaitKind};
