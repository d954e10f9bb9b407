//! Creation and destruction of contexts.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::{Context, Limits, check_flags};
use crate::device::{Device, attribute};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

impl Driver {
    /// Creates a context and makes it the calling thread's.
    ///
    /// # Errors
    /// `InvalidDevice`, `InvalidValue` for flags, and the sticky error.
    pub fn create_context(&self, flags: u32, ordinal: i32) -> DriverResult<Arc<Context>> {
        let device = self.device(ordinal)?;
        let flags = check_flags(flags)?;
        self.sticky.check()?;
        let context = self.contexts.insert(|handle| self.new_context(handle, device, flags, false))?;
        self.enter(Arc::clone(&context))?;
        Ok(context)
    }

    pub(super) fn new_context(&self, handle: Handle, device: &Device, flags: u32, primary: bool) -> Context {
        Context {
            handle,
            id: self.next_id(),
            ordinal: device.ordinal(),
            primary,
            flags: AtomicU32::new(flags),
            usage: AtomicU32::new(1),
            destroyed: AtomicBool::new(false),
            limits: Mutex::new(Limits::new(u64::from(device.limit(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)))),
            cache_config: AtomicU32::new(0),
            shared_config: AtomicU32::new(0),
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

    /// Takes everything that belongs to a context. Its handle is no longer found.
    pub(super) fn end(&self, context: &Arc<Context>) {
        context.destroyed.store(true, Ordering::Release);
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
