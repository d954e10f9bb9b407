//! The C border: how a call comes in and how it ends. The only place that turns a caller's pointers into values.

mod args;
mod call;
mod results;

pub use args::{DefaultStream, Destination, FromC, In, InArray, InOut, InStr, Out, Passed, Runtime, arg};
pub use call::{Answer, Call, answer, enter, not_supported};
pub(crate) use call::{last_error, remember, version};
pub(crate) use results::asked;
