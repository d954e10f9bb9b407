//! What the C borders of our libraries have in common: argument objects, which turn what a C caller gives into values, and how a library speaks of itself.
//!
//! Nothing here knows a CUDA function, or what a library answers: a library says that with its [`Border`].

mod arguments;
mod caller;
mod descriptor;
mod host;
mod refusal;
mod report;
pub mod settings;
mod text;

pub use arguments::{Destination, FromC, In, InArray, InOut, InOutArray, Kept, Out, OutArray, arg};
pub use caller::calling_object;
pub use descriptor::GivenDescriptor;
pub use host::{HostAddress, HostPtr, inherited};
pub use refusal::{Border, Refusal};
pub use report::{LogSettings, internal_error, say};
pub use text::{InStr, OutCStr, OutStr};
