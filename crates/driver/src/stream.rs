//! Streams of contexts: those a program creates, the legacy default stream, and the default stream of each thread.
//!
//! Work goes into the device's [`Stream`]. A call says with a [`StreamName`] which one it means, which [`Driver::stream`] looks up: a [`StreamRef`] is that
//! stream with its context, whatever it is called. [`CreatedStream`] and `ThreadStream` are what is kept of those that have a handle or belong to a thread.
mod attributes;
mod external_semaphore;
mod memory_operation;

pub use attributes::{AttributeValue, check_launch_attribute};
pub(crate) use attributes::{wide_of, word_of};
pub use external_semaphore::{SemaphoreAction, SemaphoreKind, SemaphoreWork, ValuedSemaphore};
pub use memory_operation::{ValueAction, ValueOperation, WaitCondition};

pub(crate) use attributes::{CLUSTER_DIMENSION, DEFAULT_DOMAINS, DEVICE_UPDATABLE, DOMAIN_MAP, check_value, kept};
pub(crate) use external_semaphore::ImportedSemaphore;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use warploom_exec::stream::{Group, Marker, Outcome, Stream, StreamKind};

use crate::context::{Context, ContextRef};
use crate::device::DeviceState;
use crate::driver::Driver;
use crate::graph::{CaptureSlot, HostWork, Work};
use crate::green::GreenContext;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};
use attributes::Attributes;

/// Which stream a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamName {
    /// The legacy default stream of the calling thread's context.
    Legacy,
    /// The calling thread's own default stream in its context.
    PerThread,
    /// One that was created.
    Created(Handle),
}

/// The priorities that mean something, as recorded: from the least urgent to the most urgent.
pub const PRIORITIES: (i32, i32) = (0, -5);

/// The only flag that a stream can be created with (`CU_STREAM_NON_BLOCKING`).
pub const NON_BLOCKING: u32 = 1;

/// A stream that a program created.
pub struct CreatedStream {
    handle: Handle,
    id: u64,
    flags: u32,
    priority: i32,
    context: ContextRef,
    stream: Stream,
    capture: Arc<CaptureSlot>,
    attributes: Attributes,
}

/// A stream to put work into, whatever it is called.
#[derive(Clone)]
pub struct StreamRef {
    /// Its context.
    pub context: Arc<Context>,
    /// The green context that it is of, if it is.
    pub(crate) green: Option<Arc<GreenContext>>,
    pub(crate) stream: Stream,
    pub(crate) capture: Arc<CaptureSlot>,
}

impl StreamRef {
    /// Whether it is the legacy default stream.
    pub(crate) fn is_legacy(&self) -> bool {
        self.stream.kind() == StreamKind::Legacy
    }
}

/// What a program can ask of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFacts {
    /// The handle of the context, or of the green one that it is of.
    pub context: Handle,
    /// The handle of the context that the green one is of, or again of the context.
    pub whole: Handle,
    /// The ordinal of the device.
    pub ordinal: u32,
    /// Unique in the process.
    pub id: u64,
    /// Flags that it was created with.
    pub flags: u32,
    /// Priority, as far as it means something.
    pub priority: i32,
}

/// The streams of one context.
pub(crate) struct Streams {
    device: Arc<DeviceState>,
    group: Arc<Group>,
    legacy: Stream,
    /// The legacy stream cannot be captured: its slot stays empty.
    legacy_capture: Arc<CaptureSlot>,
    legacy_id: u64,
    context: u64,
    green: Option<u64>,
    per_thread: Mutex<Vec<ThreadStream>>,
    /// Those that the program has created and not destroyed.
    created: Mutex<BTreeMap<Handle, Stream>>,
    /// What all work of the context waits for, streams to come included.
    held_back_by: Mutex<Vec<Marker>>,
    attributes: Attributes,
}

/// A thread's default stream, for as long as the thread lives.
#[derive(Clone)]
struct ThreadStream {
    thread: Weak<()>,
    id: u64,
    stream: Stream,
    capture: Arc<CaptureSlot>,
    attributes: Arc<Attributes>,
}

thread_local! {
    /// Lives as long as the thread, and tells it from all others.
    static THREAD: Arc<()> = Arc::new(());
}

impl Streams {
    /// Those of the context with this id, or of a green one of it.
    pub(crate) fn new(driver: &Driver, device: &Arc<DeviceState>, context: u64, green: Option<u64>) -> Streams {
        let group = Arc::new(Group::default());
        Streams {
            context,
            green,
            legacy_capture: CaptureSlot::new(context, green, false),
            legacy: Stream::new(device.engine(), &group, StreamKind::Legacy, false),
            legacy_id: driver.next_id(),
            device: Arc::clone(device),
            group,
            per_thread: Mutex::default(),
            created: Mutex::default(),
            held_back_by: Mutex::default(),
            attributes: Attributes::default(),
        }
    }

    fn of_this_thread(&self, driver: &Driver) -> DriverResult<ThreadStream> {
        let thread = THREAD.try_with(Arc::downgrade);
        let thread = thread.map_err(|_| DriverError::new(ErrorCode::InvalidContext, "the thread is ending"))?;
        let mut streams = self.per_thread.lock();
        if let Some(known) = streams.iter().find(|known| known.thread.ptr_eq(&thread)) {
            return Ok(known.clone());
        }
        let of_ended = |known: &mut ThreadStream| known.thread.strong_count() == 0 && known.stream.is_idle();
        let ended: Vec<ThreadStream> = streams.extract_if(.., of_ended).collect();
        let new = ThreadStream {
            thread,
            id: driver.next_id(),
            stream: self.new_stream(StreamKind::Blocking, false),
            capture: self.new_slot(StreamKind::Blocking),
            attributes: Arc::default(),
        };
        streams.push(new.clone());
        drop(streams);
        // Nobody can end what their threads began to capture.
        for known in ended {
            driver.abandon_capture(&known.capture);
        }
        Ok(new)
    }

    /// Orders its streams.
    pub(crate) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// All streams that work can be put into.
    fn all(&self) -> Vec<Stream> {
        let mut all = vec![self.legacy.clone()];
        all.extend(self.per_thread.lock().iter().map(|known| known.stream.clone()));
        all.extend(self.created.lock().values().cloned());
        all
    }

    /// Lets all streams, also those to come, wait for a place in another one.
    pub(crate) fn hold_back(&self, marker: &Marker) {
        marker.tell_held_back(&self.group);
        let mut held_back_by = self.held_back_by.lock();
        for stream in self.all() {
            stream.wait_for(marker);
        }
        held_back_by.retain(|marker| !marker.is_done());
        if !marker.is_done() {
            held_back_by.push(marker.clone());
        }
    }

    fn new_stream(&self, kind: StreamKind, urgent: bool) -> Stream {
        let stream = Stream::new(self.device.engine(), &self.group, kind, urgent);
        let mut held_back_by = self.held_back_by.lock();
        held_back_by.retain(|marker| !marker.is_done());
        for marker in held_back_by.iter() {
            stream.wait_for(marker);
        }
        stream
    }

    fn new_slot(&self, kind: StreamKind) -> Arc<CaptureSlot> {
        CaptureSlot::new(self.context, self.green, kind == StreamKind::Blocking)
    }

    /// Waits for all streams, and gives up what waits for somebody outside who does not come. No lock is held meanwhile.
    pub(crate) fn end(&self) {
        self.group.end();
    }

    /// Whether nothing is left to wait for.
    pub(crate) fn are_idle(&self) -> bool {
        self.group.has_ended()
    }

    /// Waits until all that they hold has ended, destroyed ones too.
    pub(crate) fn synchronize(&self) {
        self.legacy.synchronize_group();
    }
}

impl CreatedStream {
    /// The context that it was created in.
    pub(crate) fn context_id(&self) -> u64 {
        self.context.context.id()
    }

    /// The stream itself, if it has not lost its green context.
    fn check(&self) -> DriverResult {
        if self.context.green.as_ref().is_some_and(|green| green.is_destroyed()) {
            let reason = "the green context of the stream has been destroyed";
            return Err(DriverError::new(ErrorCode::StreamDetached, reason));
        }
        self.context.context.check()
    }
}

fn check_flags(flags: u32) -> DriverResult {
    if flags & !NON_BLOCKING != 0 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    Ok(())
}

impl Driver {
    /// Creates a stream in the calling thread's context. Priorities out of range are brought into it.
    ///
    /// # Errors
    /// `InvalidValue` for unknown flags, and those of [`Driver::current`].
    pub fn create_stream(&self, flags: u32, priority: i32) -> DriverResult<Handle> {
        check_flags(flags)?;
        let context = self.current_place()?;
        self.create_stream_in(context, flags, priority)
    }

    /// As [`Driver::create_stream`], in a context that need not be current.
    pub(crate) fn create_stream_in(&self, context: ContextRef, flags: u32, priority: i32) -> DriverResult<Handle> {
        check_flags(flags)?;
        let kind = if flags & NON_BLOCKING != 0 { StreamKind::NonBlocking } else { StreamKind::Blocking };
        let priority = priority.clamp(PRIORITIES.1, PRIORITIES.0);
        let stream = context.streams().new_stream(kind, priority < 0);
        let id = self.next_id();
        let created = self.streams.insert(|handle| CreatedStream {
            handle,
            id,
            flags,
            priority,
            context: context.clone(),
            stream: stream.clone(),
            capture: context.streams().new_slot(kind),
            attributes: Attributes::default(),
        })?;
        context.streams().created.lock().insert(created.handle, stream);
        Ok(created.handle)
    }

    /// Destroys a stream; what is in it goes on.
    ///
    /// # Errors
    /// `InvalidHandle` for default streams, NULL, stale and foreign handles; the sticky error.
    pub fn destroy_stream(&self, name: StreamName) -> DriverResult {
        let StreamName::Created(handle) = name else {
            return Err(DriverError::invalid_handle("a default stream cannot be destroyed"));
        };
        self.streams.lookup(handle)?.context.context.check()?;
        let stream = self.streams.remove(handle)?;
        self.abandon_capture(&stream.capture);
        stream.context.streams().created.lock().remove(&handle);
        Ok(())
    }

    /// The stream that a call means.
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles; for the default streams those of [`Driver::current`]; the sticky
    /// error.
    #[inline]
    pub fn stream(&self, name: StreamName) -> DriverResult<StreamRef> {
        match name {
            StreamName::Created(handle) => {
                let created = self.streams.lookup(handle)?;
                created.check()?;
                Ok(StreamRef {
                    context: Arc::clone(&created.context.context),
                    green: created.context.green.clone(),
                    stream: created.stream.clone(),
                    capture: Arc::clone(&created.capture),
                })
            }
            StreamName::Legacy => {
                let place = self.current_place()?;
                let stream = place.streams().legacy.clone();
                let capture = Arc::clone(&place.streams().legacy_capture);
                Ok(StreamRef { context: place.context, green: place.green, stream, capture })
            }
            StreamName::PerThread => {
                let place = self.place_with_threads()?;
                let ThreadStream { stream, capture, .. } = place.streams().of_this_thread(self)?;
                Ok(StreamRef { context: place.context, green: place.green, stream, capture })
            }
        }
    }

    /// The current context, in which threads have default streams of their own: as recorded, they have none in green contexts.
    fn place_with_threads(&self) -> DriverResult<ContextRef> {
        let place = self.current_place()?;
        if place.green.is_some() {
            return Err(DriverError::invalid_handle("a green context has no default streams of threads"));
        }
        Ok(place)
    }

    /// What a program can ask of a stream.
    ///
    /// # Errors
    /// As [`Driver::stream`].
    pub fn stream_facts(&self, name: StreamName) -> DriverResult<StreamFacts> {
        let facts = |place: &ContextRef, id, flags, priority| StreamFacts {
            context: place.handle(),
            whole: place.context.handle(),
            ordinal: place.context.ordinal(),
            id,
            flags,
            priority,
        };
        match name {
            StreamName::Created(handle) => {
                let created = self.streams.lookup(handle)?;
                created.check()?;
                let set = created.attributes.lock().get(&attributes::PRIORITY).map(|value| word_of(value, 0) as i32);
                Ok(facts(&created.context, created.id, created.flags, set.unwrap_or(created.priority)))
            }
            StreamName::Legacy => {
                let place = self.current_place()?;
                Ok(facts(&place, place.streams().legacy_id, 0, 0))
            }
            StreamName::PerThread => {
                let place = self.place_with_threads()?;
                let own = place.streams().of_this_thread(self)?;
                Ok(facts(&place, own.id, 0, 0))
            }
        }
    }

    /// Waits until all that was put into a stream has ended.
    ///
    /// # Errors
    /// As [`Driver::stream`]; the error of a kernel that faulted.
    pub fn synchronize_stream(&self, name: StreamName) -> DriverResult {
        let stream = self.stream(name)?;
        self.refuse_capture(&stream)?;
        self.refuse_unsafe_in_capture()?;
        self.finish(&stream)?;
        self.release_pools();
        self.flush_output();
        Ok(())
    }

    /// Whether all that was put into a stream has ended.
    ///
    /// # Errors
    /// `NotReady` if not; as [`Driver::stream`].
    pub fn query_stream(&self, name: StreamName) -> DriverResult {
        let stream = self.stream(name)?;
        self.refuse_capture(&stream)?;
        self.refuse_unsafe_in_capture()?;
        if !stream.stream.has_ended() {
            return Err(DriverError::new(ErrorCode::NotReady, "work of the stream has not ended"));
        }
        stream.context.check()
    }

    /// Calls a function of the program when all that is in the stream has ended. It is called in any case, and gets the code of the sticky
    /// error if there is one, or that of a destroyed context if work before it was dropped with the context.
    ///
    /// # Errors
    /// As [`Driver::stream`].
    pub fn call_back(&self, name: StreamName, callback: Box<dyn FnOnce(Option<ErrorCode>) + Send>) -> DriverResult {
        let stream = self.stream(name)?;
        self.refuse_capture(&stream)?;
        let sticky = Arc::clone(stream.context.device().sticky());
        stream.stream.callback(Box::new(move |outcome| {
            let given_up = matches!(outcome, Outcome::GivenUp).then_some(ErrorCode::ContextIsDestroyed);
            callback(sticky.check().err().map(|error| error.code()).or(given_up));
        }));
        Ok(())
    }

    /// Calls a function of the program when all that is in the stream has ended without an error.
    ///
    /// # Errors
    /// As [`Driver::stream`].
    pub fn run_on_host(&self, name: StreamName, function: HostWork) -> DriverResult {
        let stream = self.stream(name)?;
        if let Some(capture) = self.capture_of(&stream)? {
            return self.capture(&capture, &stream, Work::Host(function)).map(|_| ());
        }
        self.put_function(&function, &stream.stream);
        Ok(())
    }

    /// Calls a function of the program when a stream gets there, unless a kernel has faulted or the context has ended before.
    pub(crate) fn put_function(&self, function: &HostWork, stream: &Stream) {
        let (sticky, call) = (Arc::clone(self.state_of(stream).sticky()), Arc::clone(&function.call));
        stream.callback(Box::new(move |outcome| {
            if sticky.check().is_ok() && !matches!(outcome, Outcome::GivenUp) {
                call();
            }
        }));
    }
}
