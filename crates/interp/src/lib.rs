//! The warp interpreter.
#![forbid(unsafe_code)]
