//! Programs under the auditing library, as the dynamic linker loads it.
#![allow(missing_docs, reason = "a test")]

mod front;
mod lead;
mod python;
mod redirect;
mod support;
