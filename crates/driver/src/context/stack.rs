//! The stack of contexts that each thread has. Its top is the thread's current context.
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Context;
use super::context_ref::{ContextRef, green_is_destroyed};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack(Vec::new())) };
    /// Tells threads apart that have no stack of their own any more; 0 for all others. It needs no destructor, so it outlives `STACK`.
    static ENDING: Cell<u64> = const { Cell::new(0) };
}

/// The stacks of threads whose thread-local storage is gone: a process runs its exit handlers and the destructors of its static
/// objects on the main thread after that, and they free what they hold.
static ENDING_STACKS: Mutex<Option<HashMap<u64, Vec<ContextRef>>>> = Mutex::new(None);

/// A thread's stack. That of the main thread outlives the thread's storage.
struct Stack(Vec<ContextRef>);

impl Drop for Stack {
    fn drop(&mut self) {
        if !self.0.is_empty() && is_main() {
            let contexts = std::mem::take(&mut self.0);
            with_ending_stack(|stack| *stack = contexts);
        }
    }
}

/// Whether the process began with this thread.
fn is_main() -> bool {
    let thread = std::fs::read_link("/proc/thread-self");
    thread.is_ok_and(|thread| thread.file_name() == Some(std::process::id().to_string().as_ref()))
}

fn with_ending_stack<T>(use_stack: impl FnOnce(&mut Vec<ContextRef>) -> T) -> T {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    if ENDING.get() == 0 {
        ENDING.set(THREADS.fetch_add(1, Ordering::Relaxed));
    }
    use_stack(ENDING_STACKS.lock().get_or_insert_default().entry(ENDING.get()).or_default())
}

/// Uses the thread's stack.
#[inline]
fn with_stack<T>(use_stack: impl FnOnce(&mut Vec<ContextRef>) -> T) -> T {
    if STACK.try_with(|_| ()).is_err() {
        return with_ending_stack(use_stack);
    }
    STACK.with(|stack| use_stack(&mut stack.borrow_mut().0))
}

/// What the thread's top of stack is in for.
enum Top {
    None,
    Live(ContextRef),
    Destroyed(ContextRef),
}

impl Driver {
    /// The calling thread's context, for a call that works in it.
    ///
    /// # Errors
    /// `InvalidContext` without one, `ContextIsDestroyed` if another thread destroyed it, and the sticky error.
    #[inline]
    pub fn current(&self) -> DriverResult<Arc<Context>> {
        let context = self.current_unless_destroyed()?;
        context.check()?;
        Ok(context)
    }

    /// As [`Driver::current`], and which green context of it is meant.
    ///
    /// # Errors
    /// As [`Driver::current`].
    #[inline]
    pub fn current_place(&self) -> DriverResult<ContextRef> {
        let current = self.current_ref()?;
        current.context.check()?;
        Ok(current)
    }

    /// As [`Driver::current`], for the few calls that work after a kernel has faulted.
    ///
    /// # Errors
    /// `InvalidContext` without one, `ContextIsDestroyed` if another thread destroyed it.
    #[inline]
    pub fn current_unless_destroyed(&self) -> DriverResult<Arc<Context>> {
        Ok(self.current_ref()?.context)
    }

    /// As [`Driver::current_unless_destroyed`], and which green context of it is meant.
    ///
    /// # Errors
    /// As [`Driver::current_unless_destroyed`].
    #[inline]
    pub fn current_ref(&self) -> DriverResult<ContextRef> {
        let top = with_stack(|stack| match stack.last() {
            None => Top::None,
            Some(top) if !top.is_destroyed() => Top::Live(top.clone()),
            Some(top) => Top::Destroyed(top.clone()),
        });
        match top {
            Top::Live(context) => Ok(context),
            Top::None => Err(no_context()),
            Top::Destroyed(top) => self.revived(&top),
        }
    }

    /// A primary context that was destroyed while current is current again once it lives again.
    #[cold]
    fn revived(&self, destroyed: &ContextRef) -> DriverResult<ContextRef> {
        if destroyed.green.is_some() {
            return Err(green_is_destroyed());
        }
        let context = &destroyed.context;
        let Some(context) = self.contexts.get(context.handle()).filter(|_| context.is_primary()) else {
            let reason = "the calling thread's context has been destroyed";
            return Err(DriverError::new(ErrorCode::ContextIsDestroyed, reason));
        };
        let context = ContextRef { context, green: None };
        with_stack(|stack| {
            if let Some(top) = stack.last_mut() {
                *top = context.clone();
            }
        });
        Ok(context)
    }

    /// The handle of the calling thread's context, destroyed or not; NULL without one.
    pub fn current_handle(&self) -> Handle {
        with_stack(|stack| stack.last().map(|top| top.handle())).unwrap_or(Handle::NULL)
    }

    /// The context of `handle`, or for NULL the calling thread's.
    ///
    /// # Errors
    /// `InvalidContext` for a stale or foreign handle, or without a current context.
    pub fn context_or_current(&self, handle: Handle) -> DriverResult<Arc<Context>> {
        Ok(self.context_ref(handle)?.context)
    }

    /// Makes a context the calling thread's, above those it had.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, as recorded; `InvalidContext` for stale and foreign handles.
    pub fn push_current(&self, handle: Handle) -> DriverResult {
        if handle.is_null() {
            return Err(DriverError::invalid_value("the context is NULL"));
        }
        let context = self.named_context(handle)?;
        with_stack(|stack| stack.push(context));
        Ok(())
    }

    /// Takes the calling thread's context from its stack.
    ///
    /// # Errors
    /// `InvalidContext` without one.
    pub fn pop_current(&self) -> DriverResult<Handle> {
        with_stack(|stack| stack.pop()).map(|context| context.handle()).ok_or_else(no_context)
    }

    /// Replaces the calling thread's context; NULL takes it away.
    ///
    /// # Errors
    /// `InvalidContext` for stale and foreign handles.
    pub fn set_current(&self, handle: Handle) -> DriverResult {
        let context = if handle.is_null() { None } else { Some(self.named_context(handle)?) };
        with_stack(|stack| {
            stack.pop();
            stack.extend(context);
        });
        Ok(())
    }

    /// Takes a context that is being destroyed from the top of the calling thread's stack.
    pub(super) fn leave(&self, context: &Arc<Context>) {
        with_stack(|stack| stack.pop_if(|top| top.green.is_none() && Arc::ptr_eq(&top.context, context)));
    }

    pub(super) fn enter(&self, context: Arc<Context>) {
        with_stack(|stack| stack.push(ContextRef { context, green: None }));
    }
}

fn no_context() -> DriverError {
    DriverError::new(ErrorCode::InvalidContext, "no context is current to the calling thread")
}
