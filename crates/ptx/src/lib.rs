//! PTX text to verified module, with diagnostics.
#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod image;
pub mod ir;
pub mod isa;
pub mod lower;
pub mod passes;
pub mod resources;
pub mod syntax;
pub mod verify;

pub use verify::{Failure, FailureClass, Input, Linker, Options, VerifiedModule, compile, load};
