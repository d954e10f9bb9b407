//! What PTX arithmetic means, bit for bit: the definition that every executor shares.
//!
//! Each module is one family of PTX ISA 9.7, and each function one operation of one lane. Values are host types (`u32`, `i32`, `f32`,
//! `f64`); the types that the host lacks are raw bits: `.f16` and `.bf16` are `u16`, the packed pairs `u32`, 8-bit floats `u8`.
//! Modifiers are plain arguments. They fold away where they are constants, since everything that runs in lane loops is inlined; and it is
//! written without branches, so that a loop of 32 lanes becomes vector code.
//!
//! Only IEEE-exact host operations and `mul_add` are used, so that results do not depend on the host or the compiler. NaN results
//! are the hardware's: `0x7fffffff` in `.f32`, `0x7fff` in the halves, the quieted first NaN operand in `.f64`.
//!
//! Here lives what a value is. Registers, lanes, masks and the choice of instruction are the executors' business.
#![forbid(unsafe_code)]

pub mod approx;
pub mod atomic;
pub mod compare;
pub mod convert;
pub mod double;
pub mod exact;
pub mod exchange;
pub mod extended;
pub mod float;
pub mod format;
pub mod half;
pub mod integer;
pub mod logic;
pub mod matrix;
pub mod random;
pub mod rounding;
pub mod scaled;
pub mod texture;
pub mod vector;
pub mod video;

pub use rounding::Rounding;
