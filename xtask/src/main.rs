//! Development tasks: code generation from the registry and its checks.
#![forbid(unsafe_code)]
fn main() {}
