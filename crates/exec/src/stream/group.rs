//! The streams of a context as one: which of them has work, without a look at those that have none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::ending::Ending;
use super::{Shared, Stream, StreamKind};

/// The streams of one context.
#[derive(Default)]
pub struct Group {
    legacy: OnceLock<Weak<Shared>>,
    /// All but the legacy one that may have work: a stream enters itself with the first operation, and leaves when somebody finds it idle.
    /// So a look costs as much as there are streams that were used since the last one, however many there are.
    active: Mutex<Vec<Weak<Shared>>>,
    /// How many these are; changed with them. A program that uses no stream but the default one takes no lock.
    count: AtomicUsize,
    pub(super) ending: Arc<Ending>,
}

impl Group {
    /// A group that ends with another one.
    pub(super) fn beside(other: &Group) -> Arc<Group> {
        let ending = Arc::clone(&other.ending);
        let group = Arc::new(Group { ending, ..Group::default() });
        group.ending.enter_beside(&group);
        group
    }

    /// What observers know it by: no other group has it while this one is there.
    pub fn id(&self) -> u64 {
        std::ptr::from_ref(self).addr() as u64
    }

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
        self.busy_and(self.legacy().filter(|legacy| !legacy.is_idle()))
    }

    /// The same, asked by one of them: by the legacy one mostly, which then need not be looked for.
    pub(super) fn busy_as(&self, asker: &Arc<Shared>) -> Vec<Stream> {
        match asker.kind {
            StreamKind::Legacy => self.busy_and((!asker.is_idle()).then(|| Arc::clone(asker))),
            _ => self.busy(),
        }
    }

    fn busy_and(&self, legacy: Option<Arc<Shared>>) -> Vec<Stream> {
        legacy.into_iter().chain(self.busy_where(|_| true)).map(|shared| Stream { shared }).collect()
    }

    /// Whether everything put into its streams so far has ended.
    pub fn has_ended(&self) -> bool {
        let legacy_has = self.legacy().is_none_or(|legacy| {
            legacy.engine.pool.stand_in();
            legacy.is_idle()
        });
        legacy_has && self.busy_where(|_| true).is_empty()
    }

    /// Blocking streams in which something has not ended.
    pub(super) fn busy_blocking(&self) -> Vec<Arc<Shared>> {
        self.busy_where(|stream| stream.kind == StreamKind::Blocking)
    }

    /// Those of the streams but the legacy one.
    fn busy_where(&self, wanted: impl Fn(&Shared) -> bool) -> Vec<Arc<Shared>> {
        let mut busy = Vec::new();
        if self.count.load(Ordering::SeqCst) == 0 {
            return busy;
        }
        let mut active = self.active();
        active.retain(|stream| {
            // What has work keeps its stream.
            let Some(stream) = stream.upgrade() else { return false };
            if stream.is_idle() {
                // A stream that gets work now either sees that it has left and enters itself again, or is seen here.
                stream.listed.store(false, Ordering::SeqCst);
                if stream.is_idle() {
                    return false;
                }
                stream.listed.store(true, Ordering::SeqCst);
            }
            if wanted(&stream) {
                busy.push(stream);
            }
            true
        });
        self.count.store(active.len(), Ordering::SeqCst);
        busy
    }

    /// Called by a stream behind the count of each operation that it is given.
    #[inline]
    pub(super) fn enter(&self, stream: &Arc<Shared>) {
        if stream.kind == StreamKind::Legacy {
            return;
        }
        if stream.listed.load(Ordering::SeqCst) {
            return;
        }
        let mut active = self.active();
        if !stream.listed.load(Ordering::SeqCst) {
            active.push(Arc::downgrade(stream));
            self.count.store(active.len(), Ordering::SeqCst);
            // Last: who finds it listed finds it in the list.
            stream.listed.store(true, Ordering::SeqCst);
        }
    }

    fn active(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Shared>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
