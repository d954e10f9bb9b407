//! libcudart.so.13: the exports of the runtime library of CUDA 13. What they do stands in `warploom-cudart`.

mod generated;

/// The runtime's version: that of the newest minor version, whose names it exports.
const VERSION: i32 = 13_050;
