//! Green contexts: a device's primary context with some of its multiprocessors, and streams of its own for them (driver API manual, "Green
//! Contexts"). All else of a green context, memory and modules and events, is the primary context's.
//!
//! A green context is named by one handle, as a green context and as a context.
mod resource;

pub use resource::{Found, Group, HIDDEN, Part, group_flags, split_flags};

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warploom_exec::grid::WorkerSet;

use crate::context::{Context, ContextRef};
use crate::device::attribute;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::stream::{NON_BLOCKING, StreamName, Streams};
use crate::{DriverError, DriverResult, ErrorCode};

/// Flags that green contexts are created with: without a default stream, and with one. Ours has one anyway.
const FLAGS: u32 = 1;

/// A green context, from its creation to its destruction.
pub struct GreenContext {
    handle: Handle,
    id: u64,
    context: Arc<Context>,
    part: Part,
    workers: WorkerSet,
    streams: Arc<Streams>,
    destroyed: AtomicBool,
}

impl GreenContext {
    /// Its handle, which is that of a context too.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// A number that no other context of the process has or had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The multiprocessors that it has.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The primary context that it is of.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The workers that run its grids.
    pub(crate) fn workers(&self) -> &WorkerSet {
        &self.workers
    }

    /// Its streams.
    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Whether it has been destroyed, perhaps while it is current somewhere.
    #[inline]
    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }
}

/// What a green context is to have. It lives as long as the process.
pub(crate) struct Description {
    handle: Handle,
    part: Part,
}

impl Driver {
    /// All multiprocessors of a device.
    ///
    /// # Errors
    /// `InvalidDevice`.
    pub fn device_part(&self, ordinal: i32) -> DriverResult<Part> {
        let device = self.device(ordinal)?;
        Ok(Part::whole(device.ordinal(), device.limit(attribute::MULTIPROCESSOR_COUNT)))
    }

    /// The multiprocessors of a context, or of a green one.
    ///
    /// # Errors
    /// `InvalidDevice` if its device is gone.
    pub fn context_part(&self, context: &ContextRef) -> DriverResult<Part> {
        match &context.green {
            Some(green) => Ok(green.part),
            None => self.device_part(i32::try_from(context.context.ordinal()).unwrap_or(-1)),
        }
    }

    /// The multiprocessors that the kernels of a stream have.
    ///
    /// # Errors
    /// As [`Driver::stream`].
    pub fn stream_part(&self, name: StreamName) -> DriverResult<Part> {
        let stream = self.stream(name)?;
        self.context_part(&ContextRef { context: stream.context, green: stream.green })
    }

    /// A number that tells one split of resources from all others.
    pub fn next_split(&self) -> NonZeroU64 {
        NonZeroU64::new(self.next_id()).unwrap_or(NonZeroU64::MIN)
    }

    /// Describes what a green context is to have.
    ///
    /// # Errors
    /// `InvalidValue` for nothing; `InvalidResourceConfiguration` for parts that do not go together, and for what the device does not have.
    pub fn describe(&self, parts: &[Part]) -> DriverResult<Handle> {
        let part = Part::union(parts)?.ok_or_else(|| DriverError::invalid_value("there are no resources"))?;
        let device = i32::try_from(part.ordinal()).ok().and_then(|ordinal| self.device_part(ordinal).ok());
        if !device.is_some_and(|whole| part.is_in(&whole)) {
            let reason = "the device does not have the multiprocessors of the resource";
            return Err(DriverError::new(ErrorCode::InvalidResourceConfiguration, reason));
        }
        Ok(self.descriptions.insert(|handle| Description { handle, part })?.handle)
    }

    /// Creates a green context, which keeps its device's primary context. NULL for a description means the whole device, as recorded.
    ///
    /// # Errors
    /// `InvalidDevice`; `InvalidValue` for flags that do not exist, stale and foreign handles, and a description of another device; those of
    /// [`Driver::retain_primary`].
    pub fn create_green_context(&self, description: Handle, ordinal: i32, flags: u32) -> DriverResult<Handle> {
        let whole = self.device_part(ordinal)?;
        if flags & !FLAGS != 0 {
            return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
        }
        let part = if description.is_null() { whole } else { self.descriptions.lookup(description)?.part };
        if part.ordinal() != whole.ordinal() {
            return Err(DriverError::invalid_value("the description is of another device"));
        }
        let context = self.retain_primary(ordinal)?;
        let created = self.green_contexts.insert(|handle| {
            let id = self.next_id();
            GreenContext {
                handle,
                id,
                part: part.owned(),
                workers: part.workers(whole.count(), context.device().engine().pool().threads()),
                streams: Arc::new(Streams::new(self, context.device(), context.id(), Some(id))),
                context,
                destroyed: AtomicBool::new(false),
            }
        });
        let green = match created {
            Ok(green) => green,
            Err(error) => {
                self.release_primary(ordinal)?;
                return Err(error);
            }
        };
        green.context.add_green(&green.streams);
        Ok(green.handle)
    }

    /// A green context by its handle.
    ///
    /// # Errors
    /// `InvalidContext` for NULL and foreign handles; `ContextIsDestroyed`.
    pub fn green_context(&self, handle: Handle) -> DriverResult<Arc<GreenContext>> {
        self.green_contexts.lookup(handle)
    }

    /// As [`Driver::green_context`]; for NULL the one that is current.
    ///
    /// # Errors
    /// `InvalidContext` if the current context is no green one; those of [`Driver::green_context`] and [`Driver::current_ref`].
    pub fn green_context_or_current(&self, handle: Handle) -> DriverResult<Arc<GreenContext>> {
        if !handle.is_null() {
            return self.green_context(handle);
        }
        let reason = "the calling thread's context is no green one";
        self.current_ref()?.green.ok_or_else(|| DriverError::new(ErrorCode::InvalidContext, reason))
    }

    /// Destroys a green context. Its work ends before, but for what waits for somebody outside who does not come; its streams stay, detached.
    ///
    /// # Errors
    /// `InvalidContext` for NULL and foreign handles; `ContextIsDestroyed`.
    pub fn destroy_green_context(&self, handle: Handle) -> DriverResult {
        let green = self.green_contexts.suspend(handle).ok_or_else(|| self.green_contexts.unknown(handle))?;
        green.destroyed.store(true, Ordering::Release);
        // Only captures of its streams fail, and that is all that is wanted.
        let _ = self.refuse_captures_of_green(green.id);
        green.streams.end();
        green.context.remove_green(&green.streams);
        let ordinal = i32::try_from(green.context.ordinal()).unwrap_or(i32::MAX);
        self.release_primary(ordinal)
    }

    /// Creates a stream in a green context.
    ///
    /// # Errors
    /// `InvalidContext` for NULL and foreign handles, `ContextIsDestroyed`; `InvalidValue` for flags other than that the stream does not wait for the
    /// default one; the sticky error.
    pub fn create_green_stream(&self, green: Handle, flags: u32, priority: i32) -> DriverResult<Handle> {
        let green = self.green_context(green)?;
        green.context.check()?;
        if flags != NON_BLOCKING {
            return Err(DriverError::invalid_value(format!("flags {flags:#x} is not CU_STREAM_NON_BLOCKING")));
        }
        let place = ContextRef { context: Arc::clone(&green.context), green: Some(green) };
        self.create_stream_in(place, flags, priority)
    }
}
