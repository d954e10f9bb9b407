//! Creation and destruction of contexts.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};
use warploom_exec::grid::Environment;
use warploom_exec::heap::DeviceHeap;
use warploom_exec::memory::AllocationInfo;
use warploom_exec::observe::HostEvent;

use super::{Context, ContextRef, GreenStreams, Limits, check_flags, context_flags};
use crate::device::{Device, attribute};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::stream::Streams;
use crate::{DriverError, DriverResult, ErrorCode};

/// The flags of a context that is made with these. As recorded, core dumps that users ask for are core dumps.
fn as_made(flags: u32) -> u32 {
    use context_flags::{COREDUMP_ENABLE, USER_COREDUMP_ENABLE};
    if flags & USER_COREDUMP_ENABLE == 0 { flags } else { flags & !USER_COREDUMP_ENABLE | COREDUMP_ENABLE }
}

impl Driver {
    /// Creates a context and makes it the calling thread's.
    ///
    /// # Errors
    /// `InvalidDevice`, `InvalidValue` for flags, and the sticky error.
    pub fn create_context(&self, flags: u32, ordinal: i32) -> DriverResult<Arc<Context>> {
        let device = self.device(ordinal)?;
        let flags = as_made(check_flags(flags)?);
        device.state().check()?;
        let context = self.contexts.insert(|handle| self.new_context(handle, device, flags, false))?;
        self.enter(Arc::clone(&context));
        Ok(context)
    }

    pub(super) fn new_context(&self, handle: Handle, device: &Device, flags: u32, primary: bool) -> Context {
        let id = self.next_id();
        device.state().begin_context();
        let shared_size = u64::from(device.limit(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
        Context {
            handle,
            id,
            ordinal: device.ordinal(),
            primary,
            flags: AtomicU32::new(flags),
            usage: AtomicU32::new(1),
            destroyed: AtomicBool::new(false),
            additions: RwLock::default(),
            limits: Limits::new(shared_size),
            limiting: Mutex::default(),
            streams: Streams::new(self, device.state(), id, None),
            green: GreenStreams::default(),
            device: Arc::clone(device.state()),
            environment: Arc::new(Environment {
                memory: Arc::clone(self.memory()),
                heap: DeviceHeap::new(Arc::clone(self.memory()), device.ordinal(), id),
                output: Arc::clone(self.output()),
                clock_khz: device.limit(attribute::CLOCK_RATE),
                pending: Arc::default(),
            }),
            local_memory: Mutex::default(),
            cache_config: AtomicU32::new(0),
            coredump: device.state().coredumps().for_context(),
            peers: Mutex::default(),
        }
    }

    /// Destroys a context at once, however often it is attached and wherever it is current.
    ///
    /// # Errors
    /// `InvalidContext` for NULL, stale and foreign handles, and for primary contexts.
    pub fn destroy_context(&self, handle: Handle) -> DriverResult {
        if self.contexts.lookup(handle)?.is_primary() {
            let reason = "a primary context is released, not destroyed";
            return Err(DriverError::new(ErrorCode::InvalidContext, reason));
        }
        let context = self.contexts.remove(handle)?;
        self.leave(&context);
        self.end(&context);
        Ok(())
    }

    /// Takes everything that belongs to a context. Its handle is no longer found. Its work ends before, but for what waits for somebody
    /// outside who does not come: a value that nobody writes does not keep a context from its end.
    pub(super) fn end(&self, context: &Arc<Context>) {
        context.begin_end();
        context.device().end_context();
        self.tell(|| HostEvent::ContextEnds(context.id()));
        self.abandon_captures_of(context);
        context.streams().end();
        self.flush_output();
        self.streams.suspend_all_of(context.id());
        self.events.suspend_all_of(context.id());
        self.arrays.suspend_all_of(context.id());
        self.mipmapped_arrays.suspend_all_of(context.id());
        self.functions.suspend_all_of(context.id());
        self.modules.suspend_all_of(context.id());
        self.objects.end_all_of(context.id());
        self.free_memory_of(context);
    }

    /// Waits until all work of a context has ended, that of its green contexts too; of a green one its own.
    ///
    /// # Errors
    /// The sticky error; `StreamCaptureUnsupported` if one of its streams is captured, as the capture cannot wait.
    pub fn synchronize(&self, place: &ContextRef) -> DriverResult {
        self.refuse_captures_in(place)?;
        place.each_streams(Streams::synchronize);
        place.context.check()?;
        self.release_pools();
        self.flush_output();
        Ok(())
    }

    /// Waits until all work of a context has ended, without passing on what kernels have printed.
    pub(crate) fn finish_all_of(&self, context: &Context) -> DriverResult {
        context.each_streams(Streams::synchronize);
        context.check()
    }

    /// Waits until nobody can use an allocation any more: the context that it belongs to and the calling thread's, which need not have one, as recorded.
    pub(crate) fn finish_users_of(&self, info: &AllocationInfo) -> DriverResult {
        let current = match self.current() {
            Ok(context) => Some(context),
            Err(error) if error.code() == ErrorCode::InvalidContext => None,
            Err(error) => return Err(error),
        };
        if let Some(current) = &current {
            self.finish_all_of(current)?;
        }
        if current.is_none_or(|current| info.owner != current.id())
            && let Some(owner) = self.contexts.find(|context| context.id() == info.owner)
        {
            self.finish_all_of(&owner)?;
        }
        Ok(())
    }

    /// Counts one more user of the calling thread's context (`cuCtxAttach`).
    ///
    /// # Errors
    /// Those of [`Driver::current`].
    pub fn attach(&self) -> DriverResult<Arc<Context>> {
        let context = self.current()?;
        context.usage.fetch_add(1, Ordering::Relaxed);
        Ok(context)
    }

    /// Counts one user less of a context, which must be current; without users it is destroyed (`cuCtxDetach`).
    ///
    /// # Errors
    /// `InvalidContext` for NULL, stale and foreign handles, a context that is not current, and a primary context.
    pub fn detach(&self, handle: Handle) -> DriverResult {
        let context = self.contexts.lookup(handle)?;
        if self.current_handle() != handle || context.is_primary() {
            let reason = "the context to detach from is not the calling thread's, or is a primary context";
            return Err(DriverError::new(ErrorCode::InvalidContext, reason));
        }
        if context.usage.fetch_sub(1, Ordering::AcqRel) == 1 { self.destroy_context(handle) } else { Ok(()) }
    }
}
