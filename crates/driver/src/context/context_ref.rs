//! A context as a call names it: itself, or one of its green contexts.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::Context;
use crate::driver::Driver;
use crate::green::GreenContext;
use crate::handle::{Handle, Kind};
use crate::stream::Streams;
use crate::{DriverError, DriverResult, ErrorCode};

/// A context, and the green one of it that is meant, if one is. What belongs to a context belongs to its green ones too; they differ in their
/// streams, and in the multiprocessors that these have.
#[derive(Clone)]
pub struct ContextRef {
    pub(crate) context: Arc<Context>,
    pub(crate) green: Option<Arc<GreenContext>>,
}

impl ContextRef {
    /// The handle that names it.
    pub(crate) fn handle(&self) -> Handle {
        self.green.as_ref().map_or_else(|| self.context.handle(), |green| green.handle())
    }

    /// A number that no other context of the process has or had, green ones among them.
    pub fn id(&self) -> u64 {
        self.green.as_ref().map_or_else(|| self.context.id(), |green| green.id())
    }

    pub(super) fn is_destroyed(&self) -> bool {
        match &self.green {
            Some(green) => green.is_destroyed(),
            None => self.context.is_destroyed(),
        }
    }

    /// The green context.
    pub fn green(&self) -> Option<&Arc<GreenContext>> {
        self.green.as_ref()
    }

    /// Where its default streams are, and where streams are created.
    pub(crate) fn streams(&self) -> &Streams {
        self.green.as_ref().map_or_else(|| self.context.streams(), |green| green.streams())
    }

    /// Does something with its streams. Those of a context's green ones are a context's too.
    pub(super) fn each_streams(&self, mut does: impl FnMut(&Streams)) {
        match &self.green {
            Some(green) => does(green.streams()),
            None => self.context.each_streams(does),
        }
    }
}

/// The streams of a context's green contexts, while these live.
#[derive(Default)]
pub(super) struct GreenStreams {
    /// How many contexts these are; changed with the list. Most contexts have none, and all that waits for a context asks.
    count: AtomicUsize,
    list: Mutex<Vec<Arc<Streams>>>,
}

impl GreenStreams {
    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Streams>>)) {
        let mut list = self.list.lock();
        change(&mut list);
        self.count.store(list.len(), Ordering::SeqCst);
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    fn all(&self) -> Vec<Arc<Streams>> {
        if self.is_empty() { Vec::new() } else { self.list.lock().clone() }
    }
}

impl Context {
    /// Counts the streams of a new green context among its own.
    pub(crate) fn add_green(&self, streams: &Arc<Streams>) {
        self.green.change(|list| list.push(Arc::clone(streams)));
    }

    /// The green context of these streams has been destroyed.
    pub(crate) fn remove_green(&self, streams: &Arc<Streams>) {
        self.green.change(|list| list.retain(|other| !Arc::ptr_eq(other, streams)));
    }

    /// Whether it has green contexts.
    pub(super) fn has_green(&self) -> bool {
        !self.green.is_empty()
    }

    /// Whether nothing is left to wait for.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams.are_idle() && self.green.all().iter().all(|streams| streams.are_idle())
    }

    /// Does something with its own streams, and with those of each of its green contexts. No lock is held meanwhile.
    pub(crate) fn each_streams(&self, mut does: impl FnMut(&Streams)) {
        does(&self.streams);
        self.green.all().iter().for_each(|streams| does(streams));
    }
}

impl Driver {
    /// The context of `handle`, or for NULL the calling thread's.
    ///
    /// # Errors
    /// `InvalidContext` for a stale or foreign handle, or without a current context; `ContextIsDestroyed`.
    pub fn context_ref(&self, handle: Handle) -> DriverResult<ContextRef> {
        if handle.is_null() { self.current_ref() } else { self.named_context(handle) }
    }

    /// The context of a handle, which may be a green one's.
    ///
    /// # Errors
    /// `InvalidContext` for NULL, stale and foreign handles; `ContextIsDestroyed` for a green one that is no more.
    pub(super) fn named_context(&self, handle: Handle) -> DriverResult<ContextRef> {
        if handle.claims(Kind::GreenContext) {
            let green = self.green_contexts.lookup(handle)?;
            return Ok(ContextRef { context: Arc::clone(green.context()), green: Some(green) });
        }
        Ok(ContextRef { context: self.contexts.lookup(handle)?, green: None })
    }

    /// Fails if one of the streams is captured: the captures fail with it.
    pub(super) fn refuse_captures_in(&self, place: &ContextRef) -> DriverResult {
        match &place.green {
            Some(green) => self.refuse_captures_of_green(green.id()),
            None => self.refuse_captures_of(&place.context),
        }
    }
}

/// What a call answers in a green context that has been destroyed.
pub(super) fn green_is_destroyed() -> DriverError {
    DriverError::new(ErrorCode::ContextIsDestroyed, "the calling thread's green context has been destroyed")
}
