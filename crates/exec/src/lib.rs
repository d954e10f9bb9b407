//! Device memory, worker pool, grids and traps.
