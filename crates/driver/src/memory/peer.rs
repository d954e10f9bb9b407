//! Copies between contexts, and what they are ordered with besides their stream: a copy between the memory of two devices in a legacy
//! stream begins when all that either was given before has ended, and all that either is given later begins when it has ended (CUDA
//! programming guide, peer-to-peer memory copy; `cuMemcpyPeer`).
use std::sync::Arc;

use super::{CallersMemory, CopyPlace, PointerKind, SourceOrder, Transfer};
use crate::context::Context;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::stream::{StreamName, StreamRef};
use crate::{DriverError, DriverResult, ErrorCode};

impl Driver {
    /// Copies between two contexts, and comes back when it is done: after all work of both and of the calling thread's.
    ///
    /// # Errors
    /// `InvalidContext` for stale and foreign contexts; as [`Driver::copy`].
    pub fn copy_between(
        &self,
        transfer: &Transfer,
        contexts: [Handle; 2],
        stream: StreamName,
        callers: CallersMemory,
    ) -> DriverResult {
        let mut contexts = self.peers(contexts)?.to_vec();
        contexts.push(self.current()?);
        for context in contexts {
            self.finish_all_of(&context)?;
        }
        self.copy(transfer, stream, callers)
    }

    /// Puts a copy between two contexts into a stream. In a legacy stream it is ordered with all work of both.
    ///
    /// # Errors
    /// `InvalidContext` for stale and foreign contexts; as [`Driver::copy_async`].
    pub fn copy_between_async(
        &self,
        transfer: &Transfer,
        contexts: [Handle; 2],
        stream: StreamName,
        callers: CallersMemory,
    ) -> DriverResult {
        let contexts = self.peers(contexts)?;
        let stream = self.stream(stream)?;
        let put = || self.put_copy(transfer, &stream, SourceOrder::Stream, callers);
        if stream.is_legacy() { self.in_order_with(&contexts, &stream, put) } else { put() }
    }

    fn peers(&self, contexts: [Handle; 2]) -> DriverResult<[Arc<Context>; 2]> {
        let [dst, src] = contexts;
        let contexts = [self.context_or_current(dst)?, self.context_or_current(src)?];
        if let Some(context) = contexts.iter().find(|context| context.is_destroyed()) {
            let reason = format!("the context {:?} has been destroyed", context.handle());
            return Err(DriverError::new(ErrorCode::ContextIsDestroyed, reason));
        }
        Ok(contexts)
    }

    /// The contexts that own the two sides of a copy, if it is from one device to another.
    pub(super) fn contexts_between(&self, transfer: &Transfer) -> Vec<Arc<Context>> {
        if self.devices().len() < 2 {
            return Vec::new();
        }
        match (self.home(&transfer.dst.place), self.home(&transfer.src.place)) {
            (Some(dst), Some(src)) if dst.1 != src.1 => self.contexts.all_where(|context| {
                // Memory of pools belongs to a device, and to no context.
                [dst, src].iter().any(|(id, ordinal)| match id {
                    0 => context.ordinal() == *ordinal,
                    id => context.id() == *id,
                })
            }),
            _ => Vec::new(),
        }
    }

    /// The id of the context that device memory belongs to, 0 for none, and the ordinal of its device.
    fn home(&self, place: &CopyPlace) -> Option<(u64, u32)> {
        match place {
            CopyPlace::Host(_) => None,
            CopyPlace::Array(array) => Some((array.context().id(), array.context().ordinal())),
            CopyPlace::Device(address) | CopyPlace::Unified(address) => {
                let pointer = self.pointer(*address).filter(|pointer| pointer.kind == PointerKind::Device)?;
                Some((pointer.context_id, pointer.device))
            }
        }
    }

    /// Puts something into a stream behind all work of `contexts`, and before all that they are given later.
    pub(super) fn in_order_with(
        &self,
        contexts: &[Arc<Context>],
        stream: &StreamRef,
        put: impl FnOnce() -> DriverResult,
    ) -> DriverResult {
        for context in contexts {
            context.each_streams(|streams| stream.stream.follow_all(streams.group()));
        }
        put()?;
        // An observer is to know of the order even if nothing is left to wait for.
        if self.is_observed() || !stream.stream.is_idle() {
            let end = stream.stream.record();
            for context in contexts {
                context.each_streams(|streams| streams.hold_back(&end));
            }
        }
        Ok(())
    }
}
