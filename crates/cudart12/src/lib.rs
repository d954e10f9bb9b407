//! libcudart.so.12: the exports of the runtime library of CUDA 12. What they do stands in `warploom-cudart`.

mod generated;

/// The runtime's version: that of the newest minor version, whose names it exports.
const VERSION: i32 = 12_090;
