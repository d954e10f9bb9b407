//! Events in captures: places in a graph, which connect the streams that take part.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{CapturedPlace, Driver, DriverError, DriverResult, ErrorCode, Work, add_all, implicit};
use crate::event::{Event, Record};
use crate::stream::StreamRef;

impl CapturedPlace {
    /// What asking an event for its work answers while that is only captured; the capture fails. As recorded, the event is of
    /// no use any more when the capture has ended.
    #[cold]
    pub(crate) fn refuse(&self) -> DriverError {
        if self.capture.ended.load(Ordering::Acquire) {
            return DriverError::invalid_value("the event was last recorded in a capture that has ended");
        }
        self.capture.invalidate();
        DriverError::new(ErrorCode::CapturedEvent, "the event was last recorded in a stream that is captured")
    }

    /// Lets the capture fail.
    pub(crate) fn invalidate(&self) {
        self.capture.invalidate();
    }

    /// Whether the capture has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.capture.ended.load(Ordering::Acquire)
    }
}

impl Driver {
    /// The place that the next work of a stream has in its capture, if it is captured.
    ///
    /// # Errors
    /// As [`Driver::capture_of`].
    pub(crate) fn captured_place(&self, stream: &StreamRef) -> DriverResult<Option<CapturedPlace>> {
        let Some(capture) = self.capture_of(stream)? else { return Ok(None) };
        let member = stream.capture.member.lock();
        let dependencies = member.as_ref().map(|member| member.dependencies.clone()).unwrap_or_default();
        Ok(Some(CapturedPlace { capture, dependencies }))
    }

    /// Adds a node that waits for an event at a place in a capture.
    ///
    /// # Errors
    /// `InvalidValue` for an event whose capture has ended: this one fails then; as [`Driver::capture_at`].
    pub(crate) fn capture_wait(&self, place: &CapturedPlace, stream: &StreamRef, event: Arc<Event>) -> DriverResult {
        let refused = match &*event.record() {
            Record::Captured(past) if past.has_ended() => Some(past.refuse()),
            _ => None,
        };
        match refused {
            Some(error) => {
                place.capture.invalidate();
                Err(error)
            }
            None => self.capture_at(place, stream, Work::WaitEvent(event)),
        }
    }

    /// Adds a node at a place in a capture.
    ///
    /// # Errors
    /// `IllegalState` if the capture was ended meanwhile.
    pub(crate) fn capture_at(&self, place: &CapturedPlace, stream: &StreamRef, work: Work) -> DriverResult {
        self.capture(&place.capture, stream, work).map(|_| ())
    }

    /// Lets a stream wait for an event where one or both are captured: the stream takes part in the event's capture from then on.
    /// False if neither is.
    ///
    /// # Errors
    /// `StreamCaptureUnsupported` for an event of several processes; `StreamCaptureIsolation` for another that is not captured in a stream that is; `StreamCaptureMerge` for different captures;
    /// `StreamCaptureImplicit` for the legacy stream; `InvalidValue` if the event's capture has ended. All captures that are
    /// concerned fail. `IllegalState` if another thread ends the capture or the stream meanwhile.
    pub(crate) fn wait_captured(&self, stream: &StreamRef, event: &Event) -> DriverResult<bool> {
        let capture = self.capture_of(stream)?;
        if event.is_shared()
            && let Some(capture) = &capture
        {
            capture.invalidate();
            let reason = "a captured stream would wait for an event of several processes";
            return Err(DriverError::new(ErrorCode::StreamCaptureUnsupported, reason));
        }
        let record = event.record();
        let place = match (&*record, &capture) {
            // As recorded, an event that was never recorded holds nothing up here either.
            (Record::Never, _) | (Record::Marked(_), None) => return Ok(false),
            (Record::Marked(_), Some(capture)) => {
                capture.invalidate();
                let reason = "a captured stream would wait for work that is not captured";
                return Err(DriverError::new(ErrorCode::StreamCaptureIsolation, reason));
            }
            (Record::Captured(place), capture) => {
                if place.has_ended() {
                    capture.iter().for_each(|capture| capture.invalidate());
                    return Err(place.refuse());
                }
                place
            }
        };
        place.capture.check()?;
        match capture {
            None if stream.is_legacy() => {
                place.capture.invalidate();
                Err(implicit())
            }
            None => {
                stream.capture.join(&place.capture, place.dependencies.clone())?;
                Ok(true)
            }
            Some(capture) if Arc::ptr_eq(&capture, &place.capture) => {
                if let Some(member) = stream.capture.member.lock().as_mut() {
                    add_all(&mut member.dependencies, &place.dependencies);
                }
                Ok(true)
            }
            Some(capture) => {
                capture.invalidate();
                place.capture.invalidate();
                let reason = "the event belongs to another capture than the stream";
                Err(DriverError::new(ErrorCode::StreamCaptureMerge, reason))
            }
        }
    }
}
