//! What decoded instructions do, one family per file in the order of PTX ISA 9.7.

pub(crate) mod atomic;
pub(crate) mod barrier;
mod bilinear;
pub(crate) mod builtin;
pub(crate) mod call;
pub(crate) mod compare;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod extended;
pub(crate) mod float;
pub(crate) mod global;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod load_store;
pub(crate) mod logic;
pub(crate) mod modes;
pub(crate) mod moves;
pub(crate) mod narrow;
mod sampling;
pub(crate) mod shared;
pub(crate) mod special;
pub(crate) mod spreads;
pub(crate) mod sums;
pub(crate) mod surface;
pub(crate) mod texture;
pub(crate) mod video;
pub(crate) mod warp;
