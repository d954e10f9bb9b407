//! What is ordered with whole contexts: all work of all streams of one, up to now or from now on.
use std::sync::Arc;

use warploom_exec::stream::{Stream, StreamKind, Weight};

use super::Context;
use crate::driver::Driver;
use crate::event::Event;
use crate::handle::Handle;
use crate::{DriverError, DriverResult};

impl Driver {
    /// Does something when all that a context's streams hold now has ended; at once if they hold nothing. Nothing waits for it.
    pub(crate) fn after_work_of(&self, context: &Context, task: impl FnOnce() + Send + 'static) {
        if context.is_idle() {
            return task();
        }
        let last = self.internal_stream();
        context.each_streams(|streams| last.follow_all(streams.group()));
        last.run(Weight::Light, task);
    }

    /// Records an event behind all work that has been put into a context's streams.
    ///
    /// # Errors
    /// `InvalidContext` and `InvalidHandle` for stale and foreign handles, and for an event of another context; as recorded,
    /// `InvalidContext` for NULL too; the sticky error.
    pub fn record_context(&self, context: Handle, event: Handle) -> DriverResult {
        let place = self.named_context(context)?;
        let event: Arc<Event> = self.event(event)?;
        self.refuse_captures_in(&place)?;
        let context = &place.context;
        if event.context_id() != context.id() {
            return Err(DriverError::invalid_handle("the event belongs to another context"));
        }
        // A stream of its own comes after all others.
        let group = place.streams().group();
        let last = Stream::new(context.device().engine(), group, StreamKind::NonBlocking, false);
        place.each_streams(|streams| last.follow_all(streams.group()));
        event.record_in(&last);
        Ok(())
    }

    /// Lets all work that is put into a context's streams from now on wait for an event as recorded last.
    ///
    /// # Errors
    /// `InvalidContext` and `InvalidHandle` for stale and foreign handles; as recorded, `InvalidContext` for NULL too; the
    /// sticky error.
    pub fn wait_context(&self, context: Handle, event: Handle) -> DriverResult {
        let place = self.named_context(context)?;
        self.refuse_captures_in(&place)?;
        if let Some(marker) = self.event(event)?.marker() {
            place.each_streams(|streams| streams.hold_back(&marker));
        }
        Ok(())
    }
}
