//! Checkers: observers of what kernels and the host do, which report what is wrong with it.
//!
//! - Each check is a module that implements [`Observer`](warploom_exec::observe::Observer); `registry` makes the ones that were asked for one observer.
//! - A finding is a [`report::Report`], plain data. The [`sink::Sink`] takes them: it counts equal ones, leaves out what is suppressed (`suppression`), prints
//!   the first of each (`render`), and writes files for other programs (`files`).
//! - `grid` knows the names and places of a grid's threads.
//!
//! No check changes what a program computes, and none knows an executor: they see events only.
#![forbid(unsafe_code)]

mod files;
mod grid;
pub mod host;
pub mod init;
pub mod leak;
pub mod memory;
mod origin;
pub mod race;
mod registry;
mod render;
pub mod report;
mod selection;
pub mod sink;
mod span;
mod suppression;
pub mod sync;

pub use registry::{Check, Checker, Settings};
