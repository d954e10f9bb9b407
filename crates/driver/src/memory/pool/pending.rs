//! Memory that streams will free when they get there, and how it is divided meanwhile.
//!
//! A program may not free it again, nor name it in any other call. What comes later in the same stream may have it at once: a large allocation is divided for
//! that into blocks, which are joined again as they are freed. Work that the stream holds may use all of the allocation that was divided, so that stays one
//! for accesses until all its blocks are free.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use warploom_exec::memory::{ALIGNMENT, AllocationInfo, Memory, SharedMemory};
use warploom_exec::stream::Stream;

use crate::{DriverError, DriverResult};

/// See the head of the file.
#[derive(Default)]
pub(crate) struct Frees {
    /// Of pending frees and divided allocations together: with none of either, nobody needs the lock.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the address of the memory.
    pending: HashMap<u64, Pending>,
    /// The address of the pending memory that a free stands for, by the number of the free.
    addresses: HashMap<u64, u64>,
    /// What allocations may have, by size.
    reusable: HashMap<Owner, BTreeMap<u64, Vec<u64>>>,
    /// Divided allocations, by address.
    divided: BTreeMap<u64, Divided>,
    next: u64,
}

/// Memory that a stream has not got to free.
struct Pending {
    /// Of the last free that it takes: joined blocks are free when the stream has got to the last of them.
    number: u64,
    stream: Stream,
    owner: Owner,
    size: u64,
    divisible: bool,
}

/// Who may have memory that is to be freed: allocations of this pool in this stream; of any stream for what is free already.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Owner {
    stream: Option<usize>,
    tag: u64,
}

/// An allocation in blocks, which leave nothing out.
struct Divided {
    size: u64,
    tag: u64,
    /// What it is in, of a pool that is shared with other processes: such allocations are divided from the start.
    shared: Option<Arc<SharedMemory>>,
    /// By address.
    blocks: BTreeMap<u64, Block>,
}

struct Block {
    size: u64,
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// An allocation of so many bytes, with its number.
    Used { asked: u64, id: u64 },
    /// Memory in [`State::pending`].
    Pending,
    /// Free, while others are not.
    Free,
}

/// What the end of memory means for the allocation that it is in.
pub(super) enum Ended {
    /// It was not divided.
    Nothing,
    /// It had been freed before.
    Before,
    /// Other parts are still in use.
    Part,
    /// All of the allocation at this address is free, and the shared memory that it is in, if it is.
    Whole(u64, Option<Arc<SharedMemory>>),
}

impl Divided {
    fn at(&self, address: u64) -> Option<(u64, &Block)> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.size).then_some((*start, block))
    }
}

impl State {
    /// The divided allocation that `address` lies in.
    fn divided_at(&self, address: u64) -> Option<(u64, &Divided)> {
        let (base, divided) = self.divided.range(..=address).next_back()?;
        (address - base < divided.size).then_some((*base, divided))
    }

    fn base_of(&self, address: u64) -> Option<u64> {
        self.divided_at(address).map(|(base, _)| base)
    }

    fn blocks_of(&mut self, base: u64) -> Option<&mut BTreeMap<u64, Block>> {
        self.divided.get_mut(&base).map(|divided| &mut divided.blocks)
    }

    fn offer(&mut self, owner: Owner, size: u64, address: u64) {
        self.reusable.entry(owner).or_default().entry(size).or_default().push(address);
    }

    fn withdraw(&mut self, owner: Owner, size: u64, address: u64) {
        let Some(sizes) = self.reusable.get_mut(&owner) else { return };
        if let Some(places) = sizes.get_mut(&size) {
            places.retain(|place| *place != address);
            if places.is_empty() {
                sizes.remove(&size);
            }
        }
        if sizes.is_empty() {
            self.reusable.remove(&owner);
        }
    }

    fn put(&mut self, address: u64, pending: Pending) {
        self.addresses.insert(pending.number, address);
        self.offer(pending.owner, pending.size, address);
        self.pending.insert(address, pending);
    }

    /// Takes memory out of all tables but that of blocks.
    fn remove(&mut self, address: u64) -> Option<Pending> {
        let pending = self.pending.remove(&address)?;
        self.addresses.remove(&pending.number);
        self.withdraw(pending.owner, pending.size, address);
        Some(pending)
    }

    /// The smallest memory of an owner with `size` bytes.
    fn smallest(&self, owner: Owner, (size, divisible): (u64, bool)) -> Option<(u64, u64)> {
        // What cannot be divided is taken as a whole, if that is not much too large.
        let most = if divisible { u64::MAX } else { size.saturating_mul(2) };
        let mut fitting = self.reusable.get(&owner)?.range(size..=most);
        fitting.find_map(|(known, places)| Some((*known, *places.last()?)))
    }

    /// Joins the pending block at `address` with its neighbours that the same stream will free.
    fn join_pending(&mut self, base: u64, address: u64) {
        let Some(divided) = self.divided.get(&base) else { return };
        let Some(owner) = self.pending.get(&address).map(|pending| pending.owner) else { return };
        let its = |(start, _): (&u64, &Block)| {
            self.pending.get(start).is_some_and(|pending| pending.owner == owner).then_some(*start)
        };
        let before = divided.blocks.range(..address).next_back().and_then(its);
        let after = divided.blocks.range(address + 1..).next().and_then(its);
        if let Some(after) = after {
            self.join_two(base, address, after);
        }
        if let Some(before) = before {
            self.join_two(base, before, address);
        }
    }

    fn join_two(&mut self, base: u64, left: u64, right: u64) {
        let (Some(first), Some(second)) = (self.remove(left), self.remove(right)) else { return };
        let size = first.size + second.size;
        let last = if first.number > second.number { first } else { second };
        self.put(left, Pending { size, ..last });
        if let Some(blocks) = self.blocks_of(base) {
            blocks.remove(&right);
            if let Some(block) = blocks.get_mut(&left) {
                block.size = size;
            }
        }
    }

    /// Makes the block at `address` free, and joins it with free neighbours. Gives the allocation if all of it is free; it is not divided then.
    fn free_block(&mut self, base: u64, address: u64) -> Option<Divided> {
        let divided = self.divided.get_mut(&base)?;
        let owner = Owner { stream: None, tag: divided.tag };
        divided.blocks.get_mut(&address)?.content = Content::Free;
        let is_free = |(start, block): (&u64, &Block)| (block.content == Content::Free).then_some((*start, block.size));
        let before = divided.blocks.range(..address).next_back().and_then(is_free);
        let after = divided.blocks.range(address + 1..).next().and_then(is_free);
        let mut size = divided.blocks.get(&address)?.size;
        let mut start = address;
        if let Some((_, more)) = after {
            divided.blocks.remove(&(address + size));
            size += more;
        }
        if let Some((first, more)) = before {
            divided.blocks.remove(&address);
            (start, size) = (first, size + more);
        }
        divided.blocks.insert(start, Block { size, content: Content::Free });
        let whole = size == divided.size;
        for (neighbour, known) in before.into_iter().chain(after) {
            self.withdraw(owner, known, neighbour);
        }
        if whole {
            return self.divided.remove(&base);
        }
        self.offer(owner, size, start);
        None
    }
}

impl Frees {
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Call before the lock is released.
    fn count(&self, state: &State) {
        self.count.store(state.pending.len() + state.divided.len(), Ordering::Release);
    }

    /// Fails if a stream will free the memory that starts at `address`.
    #[inline]
    pub(in crate::memory) fn check(&self, address: u64) -> DriverResult {
        if !self.is_empty() && self.state.lock().pending.contains_key(&address) {
            return Err(freed_already(address));
        }
        Ok(())
    }

    /// Fails if a stream will free the memory that the `len` bytes at `address` lie in: no later call may name it, whatever its stream; and if they are not
    /// in one block.
    #[inline]
    pub(in crate::memory) fn check_inside(&self, memory: &Memory, address: u64, len: u64) -> DriverResult {
        if self.is_empty() { Ok(()) } else { self.check_blocks(memory, address, len) }
    }

    #[cold]
    fn check_blocks(&self, memory: &Memory, address: u64, len: u64) -> DriverResult {
        let Some(whole) = memory.lookup(address) else { return Ok(()) };
        match self.refine(whole, address) {
            Some(info) if self.state.lock().pending.contains_key(&info.base) => Err(freed_already(info.base)),
            Some(info) if info.base + info.size - address >= len || info == whole => Ok(()),
            Some(info) => {
                Err(DriverError::invalid_value(format!("{len} bytes at {address:#x} run over the end of {info}")))
            }
            None => Err(freed_already(address)),
        }
    }

    /// What is allocated at `address`, which lies in the allocation `whole` of the memory: that, or a block of it. None for a block that was freed.
    #[inline]
    pub(in crate::memory) fn refine(&self, whole: AllocationInfo, address: u64) -> Option<AllocationInfo> {
        if self.is_empty() { Some(whole) } else { self.block_in(whole, address) }
    }

    #[cold]
    fn block_in(&self, whole: AllocationInfo, address: u64) -> Option<AllocationInfo> {
        let state = self.state.lock();
        let Some(divided) = state.divided.get(&whole.base) else { return Some(whole) };
        let (base, block) = divided.at(address)?;
        match block.content {
            Content::Used { asked, id } if address - base < asked => {
                Some(AllocationInfo { base, size: asked, id, ..whole })
            }
            _ => None,
        }
    }

    /// Notes that `stream` will free an allocation; the number of the free.
    pub(super) fn enter(&self, memory: &Memory, info: &AllocationInfo, stream: &Stream) -> DriverResult<u64> {
        let mut state = self.state.lock();
        if state.pending.contains_key(&info.base) {
            return Err(freed_already(info.base));
        }
        let number = state.next;
        state.next += 1;
        let owner = Owner { stream: Some(stream.identity()), tag: info.tag };
        let stream = stream.clone();
        match state.base_of(info.base) {
            Some(base) => {
                let block = state.blocks_of(base).and_then(|blocks| blocks.get_mut(&info.base));
                // Another thread may have freed it since the caller looked.
                let used = |block: &&mut Block| matches!(block.content, Content::Used { id, .. } if id == info.id);
                let block = block.filter(used).ok_or_else(|| freed_already(info.base))?;
                block.content = Content::Pending;
                let size = block.size;
                state.put(info.base, Pending { number, stream, owner, size, divisible: true });
                state.join_pending(base, info.base);
            }
            None => {
                let divisible = memory.is_run(info.base);
                state.put(info.base, Pending { number, stream, owner, size: info.size, divisible });
            }
        }
        self.count(&state);
        Ok(number)
    }

    /// The memory to free now that its stream has got to a free: None if something took it since, or if a later free frees it too.
    pub(super) fn leave(&self, number: u64) -> Option<u64> {
        let mut state = self.state.lock();
        let address = *state.addresses.get(&number)?;
        let pending = state.remove(address);
        self.count(&state);
        drop(state);
        // A stream may go with it: not under the lock.
        drop(pending);
        Some(address)
    }

    /// Ends what is allocated or pending no more at `address`.
    pub(super) fn end(&self, address: u64) -> Ended {
        if self.is_empty() {
            return Ended::Nothing;
        }
        let mut state = self.state.lock();
        let Some((base, divided)) = state.divided_at(address) else { return Ended::Nothing };
        if divided.blocks.get(&address).is_none_or(|block| block.content == Content::Free) {
            return Ended::Before;
        }
        let ended = state.free_block(base, address);
        self.count(&state);
        ended.map_or(Ended::Part, |divided| Ended::Whole(base, divided.shared))
    }

    /// Address of memory of a pool that `stream` will free, or that is free beside memory in use, and the bytes that it counts as: the smallest, for an
    /// allocation of `size` bytes in that stream. Of what can be divided it takes a part.
    pub(super) fn take(
        &self,
        memory: &Memory,
        stream: &Stream,
        tag: u64,
        (size, divisible): (u64, bool),
    ) -> Option<(u64, u64)> {
        if self.is_empty() {
            return None;
        }
        let mut state = self.state.lock();
        let owners = [Some(stream.identity()), None].map(|stream| Owner { stream, tag });
        let fitting = owners.into_iter().filter_map(|owner| Some((state.smallest(owner, (size, divisible))?, owner)));
        let ((known, address), owner) = fitting.min_by_key(|((known, _), _)| *known)?;
        let pending = state.remove(address);
        if pending.is_none() {
            state.withdraw(owner, known, address);
        }
        let whole = known == size && state.base_of(address).is_none();
        let divides = !whole && pending.as_ref().is_none_or(|pending| pending.divisible);
        if divides {
            state.cut(address, (known, size), tag, memory.new_id(), pending.as_ref());
        }
        self.count(&state);
        drop(state);
        drop(pending);
        // What cannot be divided keeps its size.
        Some((address, if divides { size } else { known }))
    }

    /// Notes an allocation of `asked` bytes at `address`, with its number, in shared memory that was mapped for it; the rest of that is free.
    pub(super) fn divide(
        &self,
        whole: &AllocationInfo,
        (address, asked, id): (u64, u64, u64),
        shared: Arc<SharedMemory>,
    ) {
        let AllocationInfo { base, size, tag, .. } = *whole;
        let end = base + size;
        let used = asked.next_multiple_of(ALIGNMENT).min(end - address);
        let mut state = self.state.lock();
        let free = |start: u64, behind: u64| (start, Block { size: behind - start, content: Content::Free });
        let used = (address, Block { size: used, content: Content::Used { asked, id } });
        let behind = address + used.1.size;
        let rest = [(base, address), (behind, end)].into_iter().filter(|(start, behind)| start < behind);
        for (start, behind) in rest.clone() {
            state.offer(Owner { stream: None, tag }, behind - start, start);
        }
        let blocks = rest.map(|(start, behind)| free(start, behind)).chain([used]).collect();
        state.divided.insert(base, Divided { size, tag, shared: Some(shared), blocks });
        self.count(&state);
    }

    /// Whether anything of the pool with this tag is divided.
    pub(super) fn has_divided(&self, tag: u64) -> bool {
        !self.is_empty() && self.state.lock().divided.values().any(|divided| divided.tag == tag)
    }

    /// A stream that will free something.
    pub(super) fn stream(&self) -> Option<Stream> {
        if self.is_empty() {
            return None;
        }
        self.state.lock().pending.values().next().map(|pending| pending.stream.clone())
    }
}

impl State {
    /// Makes an allocation of the first `size` bytes of `known` bytes that are pending or free; the rest stays as it was.
    fn cut(&mut self, address: u64, (known, size): (u64, u64), tag: u64, id: u64, pending: Option<&Pending>) {
        let base = self.base_of(address).unwrap_or(address);
        let divided = self.divided.entry(base).or_insert_with(|| {
            let block = Block { size: known, content: Content::Pending };
            Divided { size: known, tag, shared: None, blocks: BTreeMap::from([(address, block)]) }
        });
        let taken = size.next_multiple_of(ALIGNMENT).min(known);
        divided.blocks.insert(address, Block { size: taken, content: Content::Used { asked: size, id } });
        let (rest, left) = (address + taken, known - taken);
        if left == 0 {
            return;
        }
        let content = if pending.is_some() { Content::Pending } else { Content::Free };
        divided.blocks.insert(rest, Block { size: left, content });
        match pending {
            Some(pending) => {
                let Pending { number, ref stream, owner, divisible, .. } = *pending;
                self.put(rest, Pending { number, stream: stream.clone(), owner, size: left, divisible });
            }
            None => self.offer(Owner { stream: None, tag }, left, rest),
        }
    }
}

fn freed_already(address: u64) -> DriverError {
    DriverError::invalid_value(format!("{address:#x} has already been freed, by cuMemFreeAsync"))
}
