//! Host memory that a C caller vouches for.
use warploom_driver::memory::CallersMemory;

/// The host memory that the arguments of the running call name: its documentation says that the function reads or writes it. Handlers give it to the driver crate
/// together with these arguments, and that asks for exactly what they name.
pub(crate) fn callers_memory() -> CallersMemory {
    // SAFETY: the contract of the C function: the ranges are accessible for the duration of the call or, for work that the call
    // puts into a stream and for registered pages, for as long as the documentation of the call says.
    unsafe { CallersMemory::vouched_for() }
}
