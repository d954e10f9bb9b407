//! What the library and the command agree on about the `WARPLOOM_*` environment.

/// The compute capabilities that a device can have, `10 * major + minor`.
pub const COMPUTE_CAPABILITIES: [u32; 12] = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

/// The most threads that kernels run on.
pub const MOST_THREADS: u32 = 1024;

/// The most multiprocessors that a device can show.
pub const MOST_MULTIPROCESSORS: u32 = 1024;

/// The CUDA version of the oldest driver that can be emulated: the one that brought `cuGetProcAddress`.
pub const OLDEST_CUDA_VERSION: i32 = 11_030;
