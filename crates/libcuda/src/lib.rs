//! The C border: libcuda.so.1.

mod api;
mod border;
mod generated;
mod lookup;
mod settings;
