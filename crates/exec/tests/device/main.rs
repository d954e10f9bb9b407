//! Tests of the device through its public interface.

mod grids;
mod memory;
mod streams;
mod toy;
