//! The C border: libcuda.so.1.
