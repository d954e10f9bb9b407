//! The table that codegen writes from the registry.

mod functions;

pub(crate) use functions::FUNCTIONS;
