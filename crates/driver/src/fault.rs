//! The sticky error: after a kernel faulted, every context of the process, and every new one, fails with its code.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use warploom_exec::fault::Fault;

use crate::{DriverError, DriverResult, ErrorCode};

/// The first fault of the process.
#[derive(Default)]
pub(crate) struct Sticky {
    faulted: AtomicBool,
    error: OnceLock<DriverError>,
}

impl Sticky {
    /// Fails once a kernel has faulted.
    #[inline]
    pub(crate) fn check(&self) -> DriverResult {
        if self.faulted.load(Ordering::Acquire) { self.fail() } else { Ok(()) }
    }

    #[cold]
    fn fail(&self) -> DriverResult {
        self.error.get().cloned().map_or(Ok(()), Err)
    }

    /// Keeps `fault` if it is the first, and says whether it was.
    pub(crate) fn set(&self, fault: &Fault) -> bool {
        let named = |value| ErrorCode::from_value(value).filter(|code| code.name() == fault.code_name());
        let code = (1..1000).find_map(named).unwrap_or(ErrorCode::LaunchFailed);
        let first = self.error.set(DriverError::new(code, sentence(fault))).is_ok();
        self.faulted.store(true, Ordering::Release);
        first
    }
}

/// One line for the log; the whole report goes to standard error.
fn sentence(fault: &Fault) -> String {
    let mut text = format!("kernel {} faulted: {}", fault.kernel, fault.kind);
    if let Some([x, y, z]) = fault.cta {
        text.push_str(&format!(", in CTA ({x}, {y}, {z})"));
    }
    if let Some([x, y, z]) = fault.thread {
        text.push_str(&format!(", thread ({x}, {y}, {z})"));
    }
    if let Some(line) = fault.place.ptx_line {
        text.push_str(&format!(", at PTX line {line}"));
    }
    text
}
