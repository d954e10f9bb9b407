//! Argument objects of this library: those that all borders have, with the driver's errors.
use warploom_border::{Border, Refusal};
use warploom_driver::{DriverError, DriverResult, ErrorCode};

pub(crate) use warploom_border::{HostAddress, arg};

/// The border of this library, by what it answers to arguments that cannot be used.
#[derive(Debug)]
pub(crate) enum Libcuda {}

impl Border for Libcuda {
    type Error = DriverError;

    #[cold]
    #[inline(never)]
    fn refuse(refusal: Refusal) -> DriverError {
        let code = match refusal {
            Refusal::Null(_) | Refusal::NoRoom(_) | Refusal::NoDescriptor(..) => ErrorCode::InvalidValue,
            Refusal::TooLarge(..) => ErrorCode::OutOfMemory,
            Refusal::Host(..) => ErrorCode::OperatingSystem,
        };
        DriverError::new(code, refusal.to_string())
    }
}

pub(crate) type Out<'a, T> = warploom_border::Out<'a, T, Libcuda>;
pub(crate) type InOut<'a, T> = warploom_border::InOut<'a, T, Libcuda>;
pub(crate) type InOutArray<'a, T> = warploom_border::InOutArray<'a, T, Libcuda>;
pub(crate) type OutArray<'a, T> = warploom_border::OutArray<'a, T, Libcuda>;
pub(crate) type In<'a, T> = warploom_border::In<'a, T, Libcuda>;
pub(crate) type InArray<'a, T> = warploom_border::InArray<'a, T, Libcuda>;
pub(crate) type Kept<T> = warploom_border::Kept<T, Libcuda>;
pub(crate) type InStr<'a> = warploom_border::InStr<'a, Libcuda>;
pub(crate) type OutStr<'a> = warploom_border::OutStr<'a, Libcuda>;
pub(crate) type OutCStr<'a> = warploom_border::OutCStr<'a, Libcuda>;
pub(crate) type GivenDescriptor = warploom_border::GivenDescriptor<Libcuda>;
pub(crate) type HostPtr = warploom_border::HostPtr<Libcuda>;

/// Refuses flags of a function that has none.
pub(crate) fn no_flags(flags: u64) -> DriverResult {
    if flags == 0 { Ok(()) } else { Err(DriverError::invalid_value(format!("flags is {flags:#x}, must be 0"))) }
}

/// The number of a descriptor that becomes the program's, and that of programs that it becomes.
pub(crate) fn inherited(descriptor: std::os::fd::OwnedFd) -> DriverResult<i32> {
    warploom_border::inherited(descriptor).map_err(|error| Libcuda::refuse(Refusal::Host("the descriptor", error)))
}

/// Whether a function with per-thread variants was called as one: which stream its stream 0 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultStream {
    /// The stream of the context that synchronises with all blocking streams.
    Legacy,
    /// The calling thread's own.
    PerThread,
}
