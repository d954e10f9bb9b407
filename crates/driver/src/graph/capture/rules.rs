//! Which calls are possible while streams are captured. One that is not fails, and so does the capture.
use std::cell::Cell;
use std::sync::Arc;

use super::{Capture, CaptureMode, CaptureSlot, Driver, DriverError, DriverResult, ErrorCode, implicit};
use crate::context::Context;
use crate::stream::{StreamName, StreamRef};

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(CaptureMode::Global as u32) };
}

/// Changes the calling thread's mode, and gives the one before: whether the captures of other threads forbid this one
/// unsafe calls (only with [`CaptureMode::Global`]), or not even its own do ([`CaptureMode::Relaxed`]). As recorded, any number
/// is taken; one that is no mode forbids what the first one does.
pub fn exchange_capture_mode(mode: u32) -> u32 {
    MODE.replace(mode)
}

#[cold]
fn unsupported(reason: &str) -> DriverError {
    DriverError::new(ErrorCode::StreamCaptureUnsupported, reason.to_owned())
}

impl Driver {
    /// The capture that what is put into a stream becomes part of, if there is one.
    ///
    /// # Errors
    /// `StreamCaptureInvalidated` if the capture has failed; `StreamCaptureImplicit` for the legacy stream while one that it waits
    /// for is captured, which then fails.
    #[inline]
    pub(crate) fn capture_of(&self, stream: &StreamRef) -> DriverResult<Option<Arc<Capture>>> {
        if self.captures.is_empty() { Ok(None) } else { self.find_capture(stream) }
    }

    #[cold]
    fn find_capture(&self, stream: &StreamRef) -> DriverResult<Option<Arc<Capture>>> {
        if let Some(capture) = stream.capture.capture() {
            capture.check()?;
            return Ok(Some(capture));
        }
        if stream.is_legacy() {
            self.check_legacy(&stream.capture)?;
        }
        Ok(None)
    }

    fn check_legacy(&self, legacy: &CaptureSlot) -> DriverResult {
        let involved = self.captures_of_blocking(legacy);
        for capture in &involved {
            capture.invalidate();
        }
        if involved.is_empty() { Ok(()) } else { Err(implicit()) }
    }

    /// As `Driver::capture_of`, for calls that ask something of a stream or are about to put something into it, before they look at what else they were given.
    ///
    /// # Errors
    /// As `Driver::capture_of`, and [`Driver::stream`] while there are captures.
    #[inline]
    pub fn refuse_failed_capture(&self, name: StreamName) -> DriverResult {
        if self.captures.is_empty() {
            return Ok(());
        }
        self.stream(name).and_then(|stream| self.capture_of(&stream)).map(|_| ())
    }

    /// Fails if a stream is captured, for calls that cannot be; a capture that has failed is one as well.
    ///
    /// # Errors
    /// `StreamCaptureUnsupported`; `StreamCaptureImplicit` for the legacy stream as [`Driver::capture_of`].
    #[inline]
    pub(crate) fn refuse_capture(&self, stream: &StreamRef) -> DriverResult {
        if self.captures.is_empty() { Ok(()) } else { self.refuse_any_capture(stream) }
    }

    #[cold]
    fn refuse_any_capture(&self, stream: &StreamRef) -> DriverResult {
        if let Some(capture) = stream.capture.capture() {
            capture.invalidate();
            return Err(unsupported("the call is not possible for a stream that is captured"));
        }
        if stream.is_legacy() { self.check_legacy(&stream.capture) } else { Ok(()) }
    }

    /// As `Driver::refuse_capture`, for calls that fail a capture before they look at what else they were given.
    ///
    /// # Errors
    /// As `Driver::refuse_capture`; none for a stream that does not exist.
    #[inline]
    pub fn refuse_capture_of(&self, name: StreamName) -> DriverResult {
        if self.captures.is_empty() {
            return Ok(());
        }
        self.stream(name).map_or(Ok(()), |stream| self.refuse_capture(&stream))
    }

    /// Fails if any stream of a context is captured, for calls that wait for all of them.
    ///
    /// # Errors
    /// `StreamCaptureUnsupported`.
    #[inline]
    pub(crate) fn refuse_captures_of(&self, context: &Context) -> DriverResult {
        if self.captures.is_empty() {
            return Ok(());
        }
        let takes_part = |capture: &&Arc<Capture>| capture.slots().iter().any(|slot| slot.context == context.id());
        self.fail_all(takes_part, "a stream of the context is captured")
    }

    /// As [`Driver::refuse_captures_of`], for the streams of the green context with this id.
    ///
    /// # Errors
    /// `StreamCaptureUnsupported`.
    pub(crate) fn refuse_captures_of_green(&self, green: u64) -> DriverResult {
        if self.captures.is_empty() {
            return Ok(());
        }
        let takes_part = |capture: &&Arc<Capture>| capture.slots().iter().any(|slot| slot.green == Some(green));
        self.fail_all(takes_part, "a stream of the green context is captured")
    }

    /// Fails if a capture forbids the calling thread calls that may wait for other work, such as allocations.
    ///
    /// # Errors
    /// `StreamCaptureUnsupported`.
    #[inline]
    pub fn refuse_unsafe_in_capture(&self) -> DriverResult {
        if self.captures.is_empty() {
            return Ok(());
        }
        let thread = std::thread::current().id();
        let mode = CaptureMode::from_number(MODE.get()).unwrap_or(CaptureMode::Global);
        let forbids = |capture: &&Arc<Capture>| match mode {
            CaptureMode::Relaxed => false,
            _ if capture.mode == CaptureMode::Relaxed => false,
            CaptureMode::Global => capture.thread == thread || capture.mode == CaptureMode::Global,
            CaptureMode::ThreadLocal => capture.thread == thread,
        };
        self.fail_all(forbids, "a capture forbids calls that may wait for other work")
    }

    #[cold]
    fn fail_all(&self, wanted: impl Fn(&&Arc<Capture>) -> bool, reason: &str) -> DriverResult {
        let all = self.captures.all.lock();
        // As recorded, a capture that has failed forbids as much until it is ended.
        let involved: Vec<_> = all.iter().filter(|capture| capture.is_endable()).filter(wanted).collect();
        for capture in &involved {
            capture.invalidate();
        }
        if involved.is_empty() { Ok(()) } else { Err(unsupported(reason)) }
    }
}
