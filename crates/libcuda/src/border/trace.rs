//! The call trace (`WARPLOOM_LOG=calls`): one line a call on standard error, with arguments, outputs, result and reason.
use std::ffi::{CStr, c_char};
use std::fmt::{self, Debug, Write as _};
use std::time::Duration;

use warploom_abi::CUresult;
use warploom_driver::ErrorCode;

use crate::settings::Settings;

/// A value that the trace can print. The generated types implement it through `Debug`.
pub(crate) trait TraceArg {
    /// Prints the value as a person wants to read it.
    fn print(&self, line: &mut String) -> fmt::Result;
}

macro_rules! trace_through_debug {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::border::TraceArg for $type {
            fn print(&self, line: &mut String) -> std::fmt::Result {
                std::fmt::Write::write_fmt(line, format_args!("{self:?}"))
            }
        }
    )*};
}
pub(crate) use trace_through_debug;

trace_through_debug!(u8, i8, u16, i16, u32, i32, i64, usize, isize, f32, f64);

/// Sizes are `usize`. What else is 64 bits wide and that large is an address, a texture object or the like, and reads as in the
/// reports of faults.
impl TraceArg for u64 {
    fn print(&self, line: &mut String) -> fmt::Result {
        if *self > u64::from(u32::MAX) { write!(line, "{self:#x}") } else { write!(line, "{self}") }
    }
}

impl<T> TraceArg for *mut T {
    fn print(&self, line: &mut String) -> fmt::Result {
        self.cast_const().print(line)
    }
}

impl<T> TraceArg for *const T {
    fn print(&self, line: &mut String) -> fmt::Result {
        if self.is_null() { line.write_str("NULL") } else { write!(line, "{:p}", *self) }
    }
}

/// One line under construction: the arguments of one call.
pub(crate) struct Trace<'a> {
    line: &'a mut String,
    succeeded: bool,
    first: bool,
}

impl Trace<'_> {
    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.first) {
            self.line.push_str(", ");
        }
        self.line.push_str(name);
        self.line.push('=');
    }

    /// A value, a handle, or a pointer whose target is not looked at.
    pub(crate) fn arg(&mut self, name: &str, value: &dyn TraceArg) {
        self.name(name);
        // Writing to a String does not fail.
        let _ = value.print(self.line);
    }

    /// An output of one `T`, printed with its value if the call succeeded.
    ///
    /// # Safety
    /// After a successful call, `target` is NULL or points to a `T`.
    pub(crate) unsafe fn out<T: TraceArg + Copy>(&mut self, name: &str, target: *const T) {
        self.arg(name, &target);
        if self.succeeded && !target.is_null() {
            self.line.push_str(" -> ");
            // SAFETY: not NULL, and the caller vouches for the rest; C callers need not align it.
            let value = unsafe { target.read_unaligned() };
            let _ = value.print(self.line);
        }
    }

    /// A C string that goes in.
    ///
    /// # Safety
    /// `text` is NULL or points to a string that ends in NUL.
    pub(crate) unsafe fn text(&mut self, name: &str, text: *const c_char) {
        const LONGEST: usize = 60;
        self.name(name);
        if text.is_null() {
            self.line.push_str("NULL");
            return;
        }
        // SAFETY: not NULL, and the caller vouches for the rest.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let mut short: String = text.chars().take(LONGEST).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        let _ = write!(self.line, "{short:?}");
    }

    /// Prints one finished call, if the settings ask for calls like it.
    pub(super) fn write(
        symbol: &str,
        arguments: &dyn Fn(&mut Trace<'_>),
        result: CUresult,
        reason: Option<&str>,
        took: Duration,
    ) {
        let succeeded = result == CUresult::CUDA_SUCCESS;
        let log = &Settings::get().log;
        if !log.calls && (succeeded || !log.errors) {
            return;
        }
        let mut line = format!("warploom: {symbol}(");
        arguments(&mut Trace { line: &mut line, succeeded, first: true });
        let name = ErrorCode::from_value(result.0).map_or("CUDA_SUCCESS", ErrorCode::name);
        let _ = write!(line, ") = {name}");
        if let Some(reason) = reason {
            let _ = write!(line, ": {reason}");
        }
        let _ = writeln!(line, "  [{:.1} us]", took.as_secs_f64() * 1e6);
        write_to_standard_error(&line);
    }
}

/// One `write`, so that the lines of several threads do not mix. A closed standard error is no reason to fail a call.
fn write_to_standard_error(line: &str) {
    use std::io::Write as _;
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

impl Debug for Trace<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.line)
    }
}
