//! The sticky error: after a kernel faulted, every context of its device in the process, and every new one, fails with its code.
use std::fmt::Display;
use std::sync::OnceLock;

use warploom_exec::fault::Fault;

use crate::{DriverError, DriverResult, ErrorCode};

/// The first fault of a device.
#[derive(Default)]
pub(crate) struct Sticky {
    error: OnceLock<DriverError>,
}

impl Sticky {
    /// Fails once a kernel has faulted.
    #[inline]
    pub(crate) fn check(&self) -> DriverResult {
        match self.error.get() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Keeps `fault` if it is the first.
    pub(crate) fn set(&self, fault: &Fault) {
        let named = |value| ErrorCode::from_value(value).filter(|code| code.name() == fault.code_name());
        let code = (1..1000).find_map(named).unwrap_or(ErrorCode::LaunchFailed);
        // A later fault loses.
        let _ = self.error.set(DriverError::new(code, sentence(fault)));
    }

    /// Keeps a fault of work that the driver itself did in a stream: memory was freed after the work had been put there.
    pub(crate) fn set_late(&self, what: &str, fault: &dyn Display) {
        self.set_late_as(ErrorCode::IllegalAddress, what, fault);
    }

    /// As [`Sticky::set_late`], with another code.
    pub(crate) fn set_late_as(&self, code: ErrorCode, what: &str, fault: &dyn Display) {
        let reason = format!("{what} that was put into a stream failed later: {fault}");
        // A later fault loses.
        let _ = self.error.set(DriverError::new(code, reason));
    }
}

/// One line for the log; the whole report is the fault's own.
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
