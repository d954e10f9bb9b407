//! The streams of a context as one: which of them has work, without a look at those that have none.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::{Shared, Stream, StreamKind};

/// The streams of one context.
#[derive(Default)]
pub struct Group {
    legacy: OnceLock<Weak<Shared>>,
    /// All that may have work: a stream enters itself with the first operation, and leaves when somebody finds it idle. So a look costs as
    /// much as there are streams that were used since the last one, however many there are.
    active: Mutex<Vec<Weak<Shared>>>,
}

impl Group {
    /// Enters the legacy stream, of which there is one.
    pub(super) fn set_legacy(&self, stream: &Arc<Shared>) {
        let first = self.legacy.set(Arc::downgrade(stream)).is_ok();
        assert!(first, "a group has one legacy stream");
    }

    pub(super) fn legacy(&self) -> Option<Arc<Shared>> {
        self.legacy.get().and_then(Weak::upgrade)
    }

    /// Streams in which something has not ended.
    pub fn busy(&self) -> Vec<Stream> {
        self.busy_where(|_| true).into_iter().map(|shared| Stream { shared }).collect()
    }

    /// Whether everything put into its streams so far has ended.
    pub fn has_ended(&self) -> bool {
        if let Some(legacy) = self.legacy() {
            legacy.engine.pool.stand_in();
        }
        self.busy_where(|_| true).is_empty()
    }

    /// Blocking streams in which something has not ended.
    pub(super) fn busy_blocking(&self) -> Vec<Arc<Shared>> {
        self.busy_where(|stream| stream.kind == StreamKind::Blocking)
    }

    fn busy_where(&self, wanted: impl Fn(&Shared) -> bool) -> Vec<Arc<Shared>> {
        let mut busy = Vec::new();
        self.active().retain(|stream| {
            // What has work keeps its stream.
            let Some(stream) = stream.upgrade() else { return false };
            if stream.is_idle() {
                // A stream that gets work now either sees that it has left and enters itself again, or is seen here.
                stream.listed.store(false, Ordering::SeqCst);
                if stream.is_idle() || stream.listed.swap(true, Ordering::SeqCst) {
                    return false;
                }
            }
            if wanted(&stream) {
                busy.push(stream);
            }
            true
        });
        busy
    }

    /// Called by a stream behind the count of each operation that it is given.
    #[inline]
    pub(super) fn enter(&self, stream: &Arc<Shared>) {
        if !stream.listed.load(Ordering::SeqCst) && !stream.listed.swap(true, Ordering::SeqCst) {
            self.active().push(Arc::downgrade(stream));
        }
    }

    fn active(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Shared>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
