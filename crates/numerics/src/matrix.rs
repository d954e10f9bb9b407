//! Sums of products as matrix units compute them (PTX ISA 9.7.14, 9.7.15): `d = a * b + c`, an element of the result at a time.
//!
//! PTX leaves the order and the precision of these sums open. Here they are what the recorded hardware (sm_90) does, bit for bit:
//! - `.f16`, `.bf16`, `.tf32` and 8-bit floats ([`real`]): products are exact, all summands of a group are cut off at a number of bits below the
//!   largest exponent among them, the sum of what is left is exact, and it is rounded once ([`Accumulation`]).
//! - with block scales ([`scales`]): what has been published of sm_120.
//! - `.f64` ([`double`]): fused multiply-adds in ascending order.
//! - integers and bits ([`integer`]): exact; the sum wraps or saturates once, at the end.
//!
//! Matrices are *panels*: plain arrays of numbers that lie where [`Sizes`] says. Where fragments keep them in registers is the executors'
//! business.

pub mod block;
pub mod bytes;
pub mod double;
pub mod integer;
pub mod real;
pub mod scales;
pub mod scheme;
mod special;
pub mod vector;

pub use real::{Accumulation, Rounded};
pub use scales::{Scale, Scales};
pub use scheme::{FactorFormat, Scheme};
pub use vector::Vectors;

/// Sizes of a product of panels: `a` has element (row, k) at `k * m + row`, `b` element (k, column) at `k * n + column`, `c` and `d`
/// element (row, column) at `column * m + row`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of `a` and `d`: a multiple of 8.
    pub m: usize,
    /// Columns of `b` and `d`.
    pub n: usize,
    /// Columns of `a`, rows of `b`.
    pub k: usize,
}
