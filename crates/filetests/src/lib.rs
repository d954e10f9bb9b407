//! Filetests: PTX files whose leading comments say how to launch them, on what, and what must come out. The same file runs
//! on any `libcuda.so.1`, ours or NVIDIA's; `tests/filetests/README.md` describes the format.

mod blessed;
mod device;
mod format;
mod run;
mod values;

pub use blessed::Blessed;
pub use format::{Buffer, Direction, Expectation, FileTest, FormatError, Parameter};
pub use run::{Outcome, run};
pub use values::{Element, ElementType};
