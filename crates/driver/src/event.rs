//! Events: places in streams, with the time at which they were reached.
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, MutexGuard};
use warploom_exec::interprocess::{Name, SharedEvent};
use warploom_exec::stream::{Marker, Stream, Weight};

use crate::context::Context;
use crate::driver::Driver;
use crate::graph::{CapturedPlace, Work};
use crate::handle::Handle;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult, ErrorCode};

/// The flags of `cuEventCreate` (`CUevent_flags`).
#[expect(missing_docs, reason = "the names of CUevent_flags say it")]
pub mod event_flags {
    pub const BLOCKING_SYNC: u32 = 1;
    pub const DISABLE_TIMING: u32 = 2;
    pub const INTERPROCESS: u32 = 4;
}

/// One event.
pub struct Event {
    handle: Handle,
    flags: u32,
    context: Arc<Context>,
    record: Mutex<Record>,
    /// For events of several processes.
    shared: Option<Shared>,
}

/// What an event has with other processes.
struct Shared {
    event: Arc<SharedEvent>,
    /// The number of the record that [`Event::record`] is of.
    recorded: AtomicU32,
    /// Another process has created it.
    is_opened: bool,
}

/// Where an event was recorded last.
pub(crate) enum Record {
    /// Nowhere yet.
    Never,
    /// At this place in a stream.
    Marked(Marker),
    /// At this place in a capture.
    Captured(CapturedPlace),
}

impl Event {
    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Whether it was created for several processes.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Where it was recorded last, outside captures, by whatever process.
    pub(crate) fn marker(&self) -> Option<Marker> {
        match &*self.record.lock() {
            Record::Captured(_) => None,
            record => self.marker_of(record),
        }
    }

    fn marker_of(&self, record: &Record) -> Option<Marker> {
        match (record, &self.shared) {
            (Record::Marked(marker), Some(shared))
                if shared.event.last() == shared.recorded.load(Ordering::Relaxed) =>
            {
                Some(marker.clone())
            }
            (_, Some(shared)) => Marker::of_shared(&shared.event),
            (Record::Marked(marker), None) => Some(marker.clone()),
            (Record::Never | Record::Captured(_), None) => None,
        }
    }

    /// Records it at the present end of a stream.
    pub(crate) fn record_in(&self, stream: &Stream) {
        let mut record = self.record.lock();
        *record = Record::Marked(stream.record());
        if let Some(shared) = &self.shared {
            let (number, pending) = shared.event.record();
            shared.recorded.store(number, Ordering::Relaxed);
            // Dropped after a fault too.
            stream.run(Weight::Light, move || drop(pending));
        }
    }

    /// Where it was recorded last.
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock()
    }

    /// As [`Event::marker`], for calls that ask for the work before the event.
    fn asked(&self) -> DriverResult<Option<Marker>> {
        match &*self.record.lock() {
            Record::Captured(place) => Err(place.refuse()),
            record => Ok(self.marker_of(record)),
        }
    }

    /// The context that it was created in.
    pub(crate) fn context_id(&self) -> u64 {
        self.context.id()
    }
}

impl Driver {
    /// Creates an event in the calling thread's context.
    ///
    /// # Errors
    /// `InvalidValue` for unknown flags, and for sharing between processes with timing; those of [`Driver::current`].
    pub fn create_event(&self, flags: u32) -> DriverResult<Handle> {
        let context = self.current()?;
        if flags & !(event_flags::BLOCKING_SYNC | event_flags::DISABLE_TIMING | event_flags::INTERPROCESS) != 0 {
            return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
        }
        if flags & event_flags::INTERPROCESS != 0 && flags & event_flags::DISABLE_TIMING == 0 {
            return Err(DriverError::invalid_value("an event for several processes must disable timing"));
        }
        let shared = match flags & event_flags::INTERPROCESS {
            0 => None,
            _ => Some((SharedEvent::new(self.board()?).map_err(|error| not_offered(&error))?, false)),
        };
        self.enter_event(context, flags, shared)
    }

    fn enter_event(
        &self,
        context: Arc<Context>,
        flags: u32,
        shared: Option<(Arc<SharedEvent>, bool)>,
    ) -> DriverResult<Handle> {
        let shared = shared.map(|(event, is_opened)| Shared { event, recorded: AtomicU32::new(0), is_opened });
        let record = Mutex::new(Record::Never);
        Ok(self.events.insert(|handle| Event { handle, flags, context, record, shared })?.handle)
    }

    /// A name of an event for other processes (`cuIpcGetEventHandle`).
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles, events that were not created for that, and those of other processes; the sticky error.
    pub fn name_event(&self, event: Handle) -> DriverResult<Name> {
        match &self.event(event)?.shared {
            Some(shared) if !shared.is_opened => Ok(shared.event.name()),
            Some(_) => Err(DriverError::invalid_handle("the event is another process's")),
            None => Err(DriverError::invalid_handle("the event was not created with CU_EVENT_INTERPROCESS")),
        }
    }

    /// Opens an event of another process (`cuIpcOpenEventHandle`). `name` is None for what is no name of this driver's.
    ///
    /// # Errors
    /// As recorded: `InvalidContext` for an event of this process, `MapFailed` for what cannot be opened; those of [`Driver::current`].
    pub fn open_event(&self, name: Option<Name>) -> DriverResult<Handle> {
        let context = self.current()?;
        let cannot =
            |reason: String| DriverError::new(ErrorCode::MapFailed, format!("the event cannot be opened: {reason}"));
        let name = name.ok_or_else(|| cannot("the handle was not made by cuIpcGetEventHandle".to_owned()))?;
        if name.is_of_this_process() {
            return Err(DriverError::new(ErrorCode::InvalidContext, "the handle is of this process itself"));
        }
        let event = self.opened_events.event(&name).map_err(|error| cannot(error.to_string()))?;
        self.enter_event(context, event_flags::INTERPROCESS | event_flags::DISABLE_TIMING, Some((event, true)))
    }

    /// Destroys an event; what waits for it goes on as before.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; `ContextIsDestroyed`.
    pub fn destroy_event(&self, event: Handle) -> DriverResult {
        self.events.remove(event)?;
        Ok(())
    }

    /// An event by its handle.
    pub(crate) fn event(&self, event: Handle) -> DriverResult<Arc<Event>> {
        let event = self.events.lookup(event)?;
        event.context.check()?;
        Ok(event)
    }

    /// Records an event at the present end of a stream. `flags` is 0, or 1 for an event outside a graph: of a captured stream it
    /// becomes a node.
    ///
    /// # Errors
    /// `InvalidHandle` for a stale or foreign handle, and for event and stream of different contexts; `InvalidValue` for
    /// unknown flags; as recorded, `IllegalState` for an event outside the graph of a stream that is not captured; as [`Driver::stream`].
    pub fn record_event(&self, event: Handle, stream: StreamName, flags: u32) -> DriverResult {
        let stream = self.stream(stream)?;
        let place = self.captured_place(&stream)?;
        let event = self.event(event)?;
        check_flags(flags)?;
        if !Arc::ptr_eq(&event.context, &stream.context) {
            return Err(DriverError::invalid_handle("event and stream belong to different contexts"));
        }
        match place {
            None if flags == EXTERNAL => return Err(no_capture()),
            None => event.record_in(&stream.stream),
            // As recorded, the capture goes on.
            Some(_) if event.is_shared() && flags != EXTERNAL => {
                let reason = "an event of several processes cannot be captured";
                return Err(DriverError::new(ErrorCode::StreamCaptureUnsupported, reason));
            }
            Some(place) if flags == EXTERNAL => self.capture_at(&place, &stream, Work::RecordEvent(event))?,
            Some(place) => *event.record.lock() = Record::Captured(place),
        }
        Ok(())
    }

    /// Lets a stream wait for an event as recorded last; one that was never recorded holds nothing up. As recorded, a capture fails with a handle that is none.
    ///
    /// # Errors
    /// As [`Driver::record_event`], save that the contexts may differ.
    pub fn wait_event(&self, stream: StreamName, event: Handle, flags: u32) -> DriverResult {
        let stream = self.stream(stream)?;
        let place = self.captured_place(&stream)?;
        check_flags(flags)?;
        let event = self.event(event).inspect_err(|_| place.iter().for_each(CapturedPlace::invalidate))?;
        if flags == EXTERNAL {
            let place = place.ok_or_else(no_capture)?;
            return self.capture_wait(&place, &stream, event);
        }
        if !self.wait_captured(&stream, &event)?
            && let Some(marker) = event.marker()
        {
            stream.stream.wait_for(&marker);
        }
        Ok(())
    }

    /// Whether the work before an event has ended; true if it was never recorded.
    ///
    /// # Errors
    /// `NotReady` if not; `InvalidHandle`, `ContextIsDestroyed`, the sticky error.
    pub fn query_event(&self, event: Handle) -> DriverResult {
        let event = self.event(event)?;
        let marker = event.asked()?;
        self.refuse_unsafe_in_capture()?;
        match marker {
            Some(marker) if !marker.has_been_reached() => {
                Err(DriverError::new(ErrorCode::NotReady, "the work before the event has not ended"))
            }
            _ => Ok(()),
        }
    }

    /// Waits until the work before an event has ended.
    ///
    /// # Errors
    /// `InvalidHandle`, `ContextIsDestroyed`, the sticky error.
    pub fn synchronize_event(&self, event: Handle) -> DriverResult {
        let event = self.event(event)?;
        let marker = event.asked()?;
        self.refuse_unsafe_in_capture()?;
        if let Some(marker) = marker {
            marker.wait(|| event.context.check().is_err());
        }
        self.release_pools();
        self.flush_output();
        event.context.check()
    }

    /// Milliseconds from one event to another.
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles, and for events that were not recorded, or without timing, as
    /// recorded; `NotReady`.
    pub fn elapsed_time(&self, start: Handle, end: Handle) -> DriverResult<f32> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        let time = |event: &Event| {
            let marker = event.asked()?;
            if event.flags & event_flags::DISABLE_TIMING != 0 {
                return Err(DriverError::invalid_handle("the event was created without timing"));
            }
            let marker = marker.ok_or_else(|| DriverError::invalid_handle("the event was never recorded"))?;
            Ok(marker.time())
        };
        match (time(&start)?, time(&end)?) {
            (Some(start), Some(end)) => Ok(((end.as_nanos() as i128 - start.as_nanos() as i128) as f64 / 1e6) as f32),
            _ => Err(DriverError::new(ErrorCode::NotReady, "the work before the events has not ended")),
        }
    }
}

/// The flag of recording and waiting: `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL` are both 1.
const EXTERNAL: u32 = 1;

#[cold]
fn no_capture() -> DriverError {
    DriverError::new(ErrorCode::IllegalState, "an event outside a graph, and the stream is not captured")
}

fn check_flags(flags: u32) -> DriverResult {
    if flags > EXTERNAL {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    Ok(())
}

/// Why something cannot be offered to other processes.
pub(crate) fn not_offered(error: &std::io::Error) -> DriverError {
    DriverError::new(ErrorCode::OperatingSystem, format!("nothing can be offered to other processes: {error}"))
}
