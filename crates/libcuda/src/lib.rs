//! libcuda.so.1: the C border of the driver.
//!
//! `generated` holds one export a symbol, `border` takes the call in, `api` says what it means, `lookup` finds entry
//! points by name and version.

mod api;
mod border;
mod checks;
mod generated;
mod kernels;
mod lookup;
mod process;
mod settings;
mod visible_devices;
