//! Tables of live objects by handle.
use std::collections::HashSet;
use std::collections::hash_map::{self, HashMap};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use warploom_exec::observe::{HostEvent, Observer};

use super::{Handle, INDEX_BITS, Kind, LAST_GENERATION};
use crate::{DriverError, DriverResult, ErrorCode};

/// Slots come in chunks that are never moved: chunk k has `FIRST_CHUNK << k` of them.
const FIRST_CHUNK: u32 = 64;
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK.ilog2()) as usize;

struct Slot<T> {
    entry: RwLock<Entry<T>>,
}

struct Entry<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

#[derive(Default)]
struct Unused {
    /// Slots that were used before, each with the generation that comes next.
    recycled: Vec<(u32, u32)>,
    /// The first index that was never used.
    fresh: u32,
}

/// Who is told of objects that are made and ended, and of which: those that the program is to end.
type Told<T> = (Arc<dyn Observer>, fn(&T) -> bool);

/// All live objects of one kind.
///
/// A lookup takes one read lock of the slot itself, nothing that other objects share.
pub struct HandleTable<T> {
    kind: Kind,
    chunks: [OnceLock<Box<[Slot<T>]>>; CHUNKS],
    unused: Mutex<Unused>,
    owners: Option<Owners<T>>,
    observer: OnceLock<Told<T>>,
}

/// Which objects end with whom.
struct Owners<T> {
    owner_of: fn(&T) -> u64,
    /// The handles of the live objects, by owner.
    owned: Mutex<HashMap<u64, HashSet<Handle>>>,
}

impl<T> Owners<T> {
    fn enter(&self, handle: Handle, value: &T) {
        self.owned.lock().entry((self.owner_of)(value)).or_default().insert(handle);
    }

    fn leave(&self, handle: Handle, value: &T) {
        if let hash_map::Entry::Occupied(mut handles) = self.owned.lock().entry((self.owner_of)(value)) {
            handles.get_mut().remove(&handle);
            if handles.get().is_empty() {
                handles.remove();
            }
        }
    }
}

impl<T> HandleTable<T> {
    /// An empty table.
    pub fn new(kind: Kind) -> Self {
        HandleTable {
            kind,
            chunks: [const { OnceLock::new() }; CHUNKS],
            unused: Mutex::new(Unused::default()),
            owners: None,
            observer: OnceLock::new(),
        }
    }

    /// An empty table whose objects end with their owners, in `HandleTable::suspend_all_of`. The owner of an object does not change.
    pub fn owned(kind: Kind, owner_of: fn(&T) -> u64) -> Self {
        HandleTable { owners: Some(Owners { owner_of, owned: Mutex::default() }), ..HandleTable::new(kind) }
    }

    /// Has an observer told of objects that are made and ended, as far as they are `of_program`. Only the first one is.
    pub(crate) fn tell(&self, observer: &Arc<dyn Observer>, of_program: fn(&T) -> bool) {
        let _ = self.observer.set((Arc::clone(observer), of_program));
    }

    #[cold]
    fn tell_made(&self, observer: &Arc<dyn Observer>, handle: Handle, value: &T) {
        let owner = self.owners.as_ref().map(|owners| (owners.owner_of)(value));
        observer.host(&HostEvent::Made { what: self.kind.noun(), handle: handle.raw() as u64, owner });
    }

    fn tell_ended(&self, handle: Handle) {
        if let Some((observer, _)) = self.observer.get() {
            observer.host(&HostEvent::Ended { what: self.kind.noun(), handle: handle.raw() as u64 });
        }
    }

    /// Makes an object that knows its handle, and keeps it.
    ///
    /// # Errors
    /// `OutOfMemory` with four million live objects.
    pub fn insert(&self, make: impl FnOnce(Handle) -> T) -> DriverResult<Arc<T>> {
        let handle = self.reserve()?;
        let value = Arc::new(make(handle));
        self.restore(handle, Arc::clone(&value));
        if let Some((observer, of_program)) = self.observer.get()
            && of_program(&value)
        {
            self.tell_made(observer, handle, &value);
        }
        Ok(value)
    }

    /// Takes a handle that stands for nothing yet: a primary context has one for life.
    ///
    /// # Errors
    /// `OutOfMemory` with four million live objects.
    pub fn reserve(&self) -> DriverResult<Handle> {
        let mut unused = self.unused.lock();
        let (index, generation) = match unused.recycled.pop() {
            Some(slot) => slot,
            None if unused.fresh < 1 << INDEX_BITS => {
                unused.fresh += 1;
                (unused.fresh - 1, 1)
            }
            None => {
                let what = format!("there are too many live objects of the kind {}", self.kind.noun());
                return Err(DriverError::new(ErrorCode::OutOfMemory, what));
            }
        };
        drop(unused);
        let (chunk, place) = Self::position(index);
        let Some(slot) = self.chunk(chunk, chunk_len(index)).and_then(|slots| slots.get(place)) else {
            self.unused.lock().recycled.push((index, generation));
            let what = format!("the host has no memory for another object of the kind {}", self.kind.noun());
            return Err(DriverError::new(ErrorCode::OutOfMemory, what));
        };
        slot.entry.write().generation = generation;
        Ok(Handle::new(self.kind, index, generation))
    }

    /// Gives a reserved handle an object.
    pub fn restore(&self, handle: Handle, value: Arc<T>) {
        if let Some((slot, generation)) = self.slot(handle) {
            let mut entry = slot.entry.write();
            if entry.generation == generation {
                if let Some(owners) = &self.owners {
                    owners.enter(handle, &value);
                }
                entry.value = Some(value);
            }
        }
    }

    /// Takes the object from its handle, which stays reserved.
    pub fn suspend(&self, handle: Handle) -> Option<Arc<T>> {
        let (slot, generation) = self.slot(handle)?;
        let mut entry = slot.entry.write();
        let value = if entry.generation == generation { entry.value.take() } else { None }?;
        drop(entry);
        self.tell_ended(handle);
        if let Some(owners) = &self.owners {
            owners.leave(handle, &value);
        }
        Some(value)
    }

    /// Takes all objects of an owner from their handles: their context is gone, which later lookups say.
    pub(crate) fn suspend_all_of(&self, owner: u64) {
        let handles = self.owners.as_ref().and_then(|owners| owners.owned.lock().remove(&owner));
        for handle in handles.into_iter().flatten() {
            // The object is dropped without a lock.
            drop(self.suspend(handle));
        }
    }

    /// The first live object for which `wanted` holds.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let entry = |slot: &Slot<T>| slot.entry.read().value.clone();
        self.chunks.iter().filter_map(OnceLock::get).flatten().filter_map(entry).find(|value| wanted(value))
    }

    /// All live objects for which `wanted` holds.
    pub(crate) fn all_where(&self, wanted: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let entry = |slot: &Slot<T>| slot.entry.read().value.clone();
        self.chunks.iter().filter_map(OnceLock::get).flatten().filter_map(entry).filter(|value| wanted(value)).collect()
    }

    /// The object of a handle, if it lives.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<Arc<T>> {
        let (slot, generation) = self.slot(handle)?;
        let entry = slot.entry.read();
        if entry.generation == generation { entry.value.clone() } else { None }
    }

    /// The object of a handle.
    ///
    /// # Errors
    /// [`Kind::error`] for NULL, stale and foreign handles.
    #[inline]
    pub fn lookup(&self, handle: Handle) -> DriverResult<Arc<T>> {
        self.get(handle).ok_or_else(|| self.unknown(handle))
    }

    /// Ends a handle for good, and gives its object.
    ///
    /// # Errors
    /// [`Kind::error`] for NULL, stale and foreign handles.
    pub fn remove(&self, handle: Handle) -> DriverResult<Arc<T>> {
        self.take(handle).ok_or_else(|| self.unknown(handle))
    }

    /// What an unknown handle answers.
    #[cold]
    pub fn unknown(&self, handle: Handle) -> DriverError {
        let noun = self.kind.noun();
        if self.kind != Kind::Context && self.is_suspended(handle) {
            let reason = match self.kind {
                Kind::GreenContext => format!("the {noun} {handle:?} has been destroyed"),
                _ => format!("the context of the {noun} {handle:?} has been destroyed"),
            };
            return DriverError::new(ErrorCode::ContextIsDestroyed, reason);
        }
        let reason = if handle.is_null() {
            format!("the {noun} is NULL")
        } else if handle.decode(self.kind).is_some() {
            format!("{handle:?} belonged to a {noun} that has been destroyed")
        } else {
            format!("{handle:?} is not a {noun}")
        };
        DriverError::new(self.kind.error(), reason)
    }

    fn is_suspended(&self, handle: Handle) -> bool {
        self.slot(handle).is_some_and(|(slot, generation)| slot.entry.read().generation == generation)
    }

    fn take(&self, handle: Handle) -> Option<Arc<T>> {
        let (slot, generation) = self.slot(handle)?;
        let mut entry = slot.entry.write();
        if entry.generation != generation {
            return None;
        }
        let value = entry.value.take()?;
        entry.generation = 0;
        drop(entry);
        self.tell_ended(handle);
        if let Some(owners) = &self.owners {
            owners.leave(handle, &value);
        }
        // A slot whose generations are used up is never used again: no handle value comes twice.
        if let Some((index, _)) = handle.decode(self.kind).filter(|_| generation < LAST_GENERATION) {
            self.unused.lock().recycled.push((index, generation + 1));
        }
        Some(value)
    }

    #[inline]
    fn slot(&self, handle: Handle) -> Option<(&Slot<T>, u32)> {
        let (index, generation) = handle.decode(self.kind)?;
        let (chunk, place) = Self::position(index);
        Some((self.chunks.get(chunk)?.get()?.get(place)?, generation))
    }

    /// Chunk and place in it: indices are shifted by the size of the first chunk, so the highest bit says which chunk.
    #[inline]
    fn position(index: u32) -> (usize, usize) {
        let shifted = index + FIRST_CHUNK;
        let top = shifted.ilog2();
        ((top - FIRST_CHUNK.ilog2()) as usize, (shifted - (1 << top)) as usize)
    }

    /// The chunk with this number, of `len` slots; None if the host has no memory for a new one.
    fn chunk(&self, number: usize, len: usize) -> Option<&[Slot<T>]> {
        let chunk = self.chunks.get(number)?;
        if chunk.get().is_none() {
            let mut slots = Vec::new();
            slots.try_reserve_exact(len).ok()?;
            slots.extend((0..len).map(|_| Slot { entry: RwLock::new(Entry { generation: 0, value: None }) }));
            // Another thread may have been faster.
            let _ = chunk.set(slots.into_boxed_slice());
        }
        chunk.get().map(|slots| &**slots)
    }
}

/// The number of slots in the chunk that holds `index`.
fn chunk_len(index: u32) -> usize {
    1 << (index + FIRST_CHUNK).ilog2()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::handle::GENERATION_SHIFT;

    #[test]
    fn handles_are_multiples_of_16_above_64_kib_and_never_come_twice() {
        let table = HandleTable::new(Kind::Event);
        let mut seen = HashSet::new();
        for round in 0..70_000 {
            let handle = table.insert(|handle| (handle, round)).unwrap().0;
            assert!(handle.raw() % 16 == 0 && handle.raw() > 0x10000 && handle.raw() < 1 << 47);
            assert!(seen.insert(handle));
            assert_eq!(table.remove(handle).unwrap().1, round);
        }
    }

    #[test]
    fn stale_foreign_and_null_handles_are_found_out() {
        let events = HandleTable::new(Kind::Event);
        let contexts = HandleTable::new(Kind::Context);
        let event = events.insert(|handle| handle).unwrap();
        let context = contexts.insert(|handle| handle).unwrap();
        assert_eq!(events.lookup(*event).unwrap(), event);
        let code = |result: DriverResult<Arc<Handle>>| result.unwrap_err();
        assert_eq!(code(events.lookup(*context)).code(), ErrorCode::InvalidHandle);
        assert_eq!(code(contexts.lookup(*event)).code(), ErrorCode::InvalidContext);
        assert_eq!(code(events.lookup(Handle::NULL)).reason(), "the event is NULL");
        for bit in 0..64 {
            assert!(events.get(Handle::from_raw(event.raw() ^ (1 << bit))).is_none());
        }
        events.remove(*event).unwrap();
        assert!(code(events.lookup(*event)).reason().ends_with("belonged to a event that has been destroyed"));
        assert_eq!(code(events.remove(*event)).code(), ErrorCode::InvalidHandle);
        // A number that decodes to the slot, which has no handle now.
        let empty = Handle::from_raw(event.raw() & ((1 << GENERATION_SHIFT) - 1));
        assert_eq!(code(events.lookup(empty)).code(), ErrorCode::InvalidHandle);
    }

    #[test]
    fn many_objects_live_at_once() {
        let table = HandleTable::new(Kind::Stream);
        let handles: Vec<Handle> = (0..5000).map(|_| *table.insert(|handle| handle).unwrap()).collect();
        assert!(handles.iter().all(|handle| *table.get(*handle).unwrap() == *handle));
    }

    #[test]
    fn objects_end_with_their_owner() {
        let table = HandleTable::owned(Kind::Event, |owner: &u64| *owner);
        let handles: Vec<Handle> = (0..30)
            .map(|n| {
                let handle = table.reserve().unwrap();
                table.restore(handle, Arc::new(n % 3));
                handle
            })
            .collect();
        table.remove(handles[1]).unwrap();
        table.suspend(handles[4]).unwrap();
        table.suspend_all_of(1);
        for (n, handle) in handles.iter().enumerate() {
            assert_eq!(table.get(*handle).is_some(), n % 3 != 1, "{n}");
        }
        let code = |handle| table.lookup(handle).unwrap_err().code();
        assert_eq!((code(handles[7]), code(handles[1])), (ErrorCode::ContextIsDestroyed, ErrorCode::InvalidHandle));
        table.suspend_all_of(1);
        table.restore(handles[7], Arc::new(1));
        table.suspend_all_of(1);
        assert!(table.get(handles[7]).is_none());
        assert_eq!(table.owners.as_ref().map(|owners| owners.owned.lock().len()), Some(2));
    }

    #[test]
    fn a_reserved_handle_comes_back() {
        let table = HandleTable::new(Kind::Context);
        let handle = table.reserve().unwrap();
        assert!(table.get(handle).is_none());
        table.restore(handle, Arc::new(1));
        assert_eq!(table.suspend(handle), Some(Arc::new(1)));
        assert!(table.get(handle).is_none());
        table.restore(handle, Arc::new(2));
        assert_eq!(table.get(handle), Some(Arc::new(2)));
    }
}
