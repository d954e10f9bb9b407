//! Passes over the IR of a module that is whole: its inputs are linked, so every call is in it.
//!
//! Each is tested in the IR's own text: `tests/filetests/ir` has a folder of the pass, with modules before and after it.

mod constants;
mod promote;
mod yields;

pub use constants::fill_in_constants;
pub use promote::promote_parameters;
pub use yields::insert_yields;
