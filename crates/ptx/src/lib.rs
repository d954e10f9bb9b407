//! PTX text to verified module, with diagnostics.
#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod ir;
pub mod isa;
pub mod syntax;
