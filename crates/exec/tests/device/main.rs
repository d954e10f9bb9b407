//! Tests of the device through its public interface.

mod brief;
mod ending;
mod fork;
mod grids;
mod memory;
mod scheduling;
mod seam;
mod streams;
mod toy;
mod virtual_memory;
mod warp_access;
