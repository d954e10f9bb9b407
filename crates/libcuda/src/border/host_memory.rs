//! Host memory that a C caller vouches for.
use warploom_driver::memory::HostRange;

/// `len` bytes of host memory at `address`, which the program passed to a function whose documentation says that it reads or
/// writes them. The driver crate asks for exactly those ranges that the arguments of the call name.
pub(crate) fn host_range(address: u64, len: u64) -> HostRange {
    // SAFETY: the contract of the C function: the range is accessible for the duration of the call or, for work that the call
    // puts into a stream and for registered pages, for as long as the documentation of the call says.
    unsafe { HostRange::new(address, len) }
}
