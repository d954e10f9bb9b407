//! What can be wrong with an argument as such.

use std::collections::TryReserveError;
use std::fmt;
use std::io;

/// What a library answers to arguments that cannot be used.
pub trait Border {
    /// Why a call fails.
    type Error;

    /// The answer.
    fn refuse(refusal: Refusal) -> Self::Error;
}

/// Why an argument cannot be used, by its name in the manual.
#[derive(Debug)]
pub enum Refusal {
    /// It is NULL.
    Null(&'static str),
    /// It is a buffer of no bytes.
    NoRoom(&'static str),
    /// It is an input of so many bytes, for a copy of which there is no memory.
    TooLarge(&'static str, usize, TryReserveError),
    /// It is this number, and no file descriptor.
    NoDescriptor(&'static str, usize),
    /// It is a descriptor of which the host gives no copy.
    Host(&'static str, io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Null(name) => write!(f, "{name} is NULL"),
            Refusal::NoRoom(name) => write!(f, "{name} has no room"),
            Refusal::TooLarge(name, len, error) => write!(f, "no room for the {len} bytes of {name}: {error}"),
            Refusal::NoDescriptor(name, number) => write!(f, "{name} is {number:#x}, which is no file descriptor"),
            Refusal::Host(name, error) => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}
