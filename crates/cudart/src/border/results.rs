//! Who looks at results: a driver with a checker of calls gives a table of functions that are told of failed ones, through `cuGetExportTable`, whose answers
//! are each driver's own affair. No other driver has the table, and nothing is told.
//!
//! What the driver is told comes on the calling thread, from within the call, so that it sees where the program goes on behind it.
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use warploom_abi::CUuuid;

use crate::driver::driver;
use crate::failure::Failure;

/// The name of the table.
const RESULTS_TABLE: [u8; 16] = *b"warploom:results";

/// A name in UTF-8: where it is, and how long.
#[repr(C)]
#[derive(Clone, Copy)]
struct Name(*const u8, usize);

impl From<&'static str> for Name {
    fn from(name: &'static str) -> Name {
        Name(name.as_ptr(), name.len())
    }
}

/// The table as the driver lays it out.
#[repr(C)]
struct ResultsTable {
    size: usize,
    /// A function has failed, with an error.
    failed: unsafe extern "C" fn(function: Name, error: Name),
    /// A function has succeeded.
    succeeded: unsafe extern "C" fn(function: Name),
    /// The program asks for the thread's last error.
    asked: unsafe extern "C" fn(),
}

/// Whether somebody is told of calls: known from the first failure on.
static TOLD: AtomicBool = AtomicBool::new(false);

fn table() -> Option<&'static ResultsTable> {
    static TABLE: OnceLock<Option<&'static ResultsTable>> = OnceLock::new();
    *TABLE.get_or_init(|| {
        let id = CUuuid { bytes: RESULTS_TABLE.map(|byte| byte as _) };
        let mut found: *const c_void = std::ptr::null();
        driver!(cuGetExportTable_v3000(&mut found, &id)).ok()?;
        // SAFETY: who has a table of this name has it in this form, for as long as the process lives.
        let table = unsafe { found.cast::<ResultsTable>().as_ref() }?;
        (table.size >= size_of::<ResultsTable>()).then_some(table)
    })
}

/// A call fails.
pub(super) fn failed(function: &'static str, failure: &Failure) {
    // That something is not ready is no failure, and what is only told of again is no new one.
    if let Some(table) = table().filter(|_| failure.remembered) {
        TOLD.store(true, Ordering::Relaxed);
        let name = failure.code.name_and_text(13).and_then(|(name, _)| name.to_str().ok());
        // SAFETY: the names are there for as long as the process lives.
        unsafe { (table.failed)(function.into(), name.unwrap_or("an unknown error").into()) };
    }
}

/// A call succeeds.
#[inline(always)]
pub(super) fn succeeded(function: &'static str) {
    if TOLD.load(Ordering::Relaxed) {
        tell_success(function);
    }
}

#[cold]
fn tell_success(function: &'static str) {
    if let Some(table) = table() {
        // SAFETY: as above.
        unsafe { (table.succeeded)(function.into()) };
    }
}

/// The program asks for the thread's last error.
pub(crate) fn asked() {
    if TOLD.load(Ordering::Relaxed)
        && let Some(table) = table()
    {
        // SAFETY: it takes nothing.
        unsafe { (table.asked)() };
    }
}
