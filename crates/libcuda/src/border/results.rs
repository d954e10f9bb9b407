//! How a runtime library tells which of its calls have failed: an export table of our own, beside the one of [`identity`](super::identity). It is there where
//! calls are checked.
use super::HostAddress;
use crate::checks;

/// The name of the table; `warploom-cudart` knows it.
pub(crate) const RESULTS_TABLE: [u8; 16] = *b"warploom:results";

/// A name in UTF-8: where it is, and how long.
#[repr(C)]
#[derive(Clone, Copy)]
struct Name(*const u8, usize);

impl Name {
    /// # Safety
    /// The text is there.
    unsafe fn text(self) -> String {
        // SAFETY: the caller promises it.
        String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(self.0, self.1) }).into_owned()
    }
}

#[repr(C)]
struct ResultsTable {
    size: usize,
    failed: unsafe extern "C" fn(function: Name, error: Name),
    succeeded: unsafe extern "C" fn(function: Name),
    asked: extern "C" fn(),
}

static TABLE: ResultsTable = ResultsTable { size: size_of::<ResultsTable>(), failed, succeeded, asked };

/// The table, if calls are checked.
pub(crate) fn results_table() -> Option<HostAddress> {
    checks::want_calls().then(|| HostAddress((&raw const TABLE).expose_provenance()))
}

unsafe extern "C" fn failed(function: Name, error: Name) {
    // SAFETY: the runtime library gives names that are there.
    let (function, error) = unsafe { (function.text(), error.text()) };
    checks::runtime(|checker| checker.runtime_failed(&function, &error));
}

unsafe extern "C" fn succeeded(function: Name) {
    // SAFETY: as above.
    let function = unsafe { function.text() };
    checks::runtime(|checker| checker.runtime_succeeded(&function));
}

extern "C" fn asked() {
    checks::runtime(|checker| checker.runtime_asked());
}
