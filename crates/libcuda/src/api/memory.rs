//! Memory management.
pub(crate) mod array;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod first_abi;
pub(crate) mod host;
pub(crate) mod set;
