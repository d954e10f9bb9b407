//! How clients recognise this driver: an export table of our own.
//!
//! `cuGetExportTable` is the one documented function whose answers are each driver's own affair, so no further symbol is needed.
use std::ffi::c_char;

use super::HostAddress;

/// The name of the table; `warploom-entrypoint` knows it.
pub(crate) const IDENTITY_TABLE: [u8; 16] = *b"warploom:identit";

#[repr(C)]
struct IdentityTable {
    size: usize,
    version: *const c_char,
}

// SAFETY: the table is immutable and points to a string literal.
unsafe impl Sync for IdentityTable {}

static TABLE: IdentityTable = IdentityTable {
    size: size_of::<IdentityTable>(),
    version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
};

/// The table, for the caller to read.
pub(crate) fn identity_table() -> HostAddress {
    HostAddress((&raw const TABLE).expose_provenance())
}
