//! The warploom command.
#![forbid(unsafe_code)]
fn main() {}
