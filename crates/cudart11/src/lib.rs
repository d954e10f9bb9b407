//! libcudart.so.11.0: the exports of the runtime library of CUDA 11. What they do stands in `warploom-cudart`.

mod generated;

/// The runtime's version: that of the newest minor version, whose names it exports.
const VERSION: i32 = 11_080;
