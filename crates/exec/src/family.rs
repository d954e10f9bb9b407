//! What a grid has put into streams itself (CUDA programming guide, dynamic parallelism): its streams, events and launches, and when it has
//! ended with all of these.
//!
//! A grid with a family ends for its stream when its CTAs have ended, then all that they have put into streams, and then, one after the other,
//! what is to come behind it ("tail launch"). What it launches has families of its own, so ends only with all of theirs.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::observe::StreamPlace;
use crate::stream::{Marker, Stream, Weight};

/// A stream as a thread of a grid names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChildStream {
    /// The default stream of the thread's CTA, by the CTA's number in the grid.
    OfCta(u64),
    /// The default stream of a thread, by the numbers of its CTA and of itself.
    OfThread(u64, u32),
    /// One that the grid has made.
    Named(u64),
    /// None: what is put there waits for nothing, and nothing for it.
    FireAndForget,
    /// Behind the grid and all else that it has put into streams.
    Tail,
}

/// Work of a grid for a stream. What comes behind a grid is told whose that is, so that it leaves there what is to come behind itself.
pub type ChildWork = Box<dyn FnOnce(&Stream, Option<Arc<Family>>) + Send>;

/// A parameter buffer that a thread has been given, with what the launch is to be where that is known already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Address of the kernel, and the shape of the launch.
    pub launch: Option<ChildLaunch>,
    /// Bytes of the buffer.
    pub bytes: u64,
}

/// A launch as a thread asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildLaunch {
    /// The kernel's address.
    pub function: u64,
    /// `%nctaid`.
    pub grid: [u32; 3],
    /// `%ntid`.
    pub cta: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

/// The streams, events and launches of one grid.
pub struct Family {
    /// The stream that the grid is in: the grid's own are of the same device, and end with the same context.
    stream: Stream,
    /// Where in it, which is where the grid's own streams do their work for observers.
    place: StreamPlace,
    /// What came before, if the grid came behind something: what is to come behind it comes first there.
    behind: Option<Arc<Family>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What has not ended: the grid's own CTAs count as one, and each work that was put into a stream.
    open: u64,
    /// The same of what threads of a CTA have put there.
    of_cta: HashMap<u64, u64>,
    tail: VecDeque<ChildWork>,
    /// A thread takes work from `tail`.
    draining: bool,
    then: Option<Box<dyn FnOnce() + Send>>,
    streams: HashMap<ChildStream, Stream>,
    /// Where they were recorded last.
    events: HashMap<u64, Option<Marker>>,
    /// By CTA and thread.
    errors: HashMap<(u64, u32), u32>,
    buffers: HashMap<u64, Prepared>,
}

/// A handle that no other stream or event of a grid in this process has or had.
fn next_handle() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0x1_0000);
    NEXT.fetch_add(16, Ordering::Relaxed)
}

/// Something of a family that has not ended, until it is dropped: run or not.
struct Member {
    family: Arc<Family>,
    cta: Option<u64>,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.family.leave(self.cta);
    }
}

impl Family {
    /// That of a launch of a graph, which is put into a stream next.
    pub fn of(stream: &Stream, behind: Option<Arc<Family>>) -> Arc<Family> {
        Family::at(stream.next(), stream, behind)
    }

    /// That of a grid which is about to start at a place in a stream.
    pub(crate) fn at(place: StreamPlace, stream: &Stream, behind: Option<Arc<Family>>) -> Arc<Family> {
        let state = Mutex::new(State { open: 1, ..State::default() });
        Arc::new(Family { stream: stream.clone(), place, behind, state })
    }

    fn new_stream(&self) -> Stream {
        self.stream.new_at(self.place)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The grid's CTAs have ended; `then` is called when all else has.
    pub(crate) fn end(self: &Arc<Family>, then: Box<dyn FnOnce() + Send>) {
        self.state().then = Some(then);
        self.leave(None);
    }

    /// Puts work of a thread of CTA number `cta` into a stream. False if there is no such stream.
    pub fn put(self: &Arc<Family>, cta: u64, stream: ChildStream, work: ChildWork) -> bool {
        let stream = {
            let mut state = self.state();
            let found = match stream {
                ChildStream::Tail => {
                    state.tail.push_back(work);
                    return true;
                }
                ChildStream::FireAndForget => self.new_stream(),
                ChildStream::Named(_) => match state.streams.get(&stream) {
                    Some(stream) => stream.clone(),
                    None => return false,
                },
                ChildStream::OfCta(_) | ChildStream::OfThread(..) => {
                    state.streams.entry(stream).or_insert_with(|| self.new_stream()).clone()
                }
            };
            state.open += 1;
            *state.of_cta.entry(cta).or_default() += 1;
            found
        };
        self.put_member(&stream, work, Some(cta), None);
        true
    }

    /// Puts work into a stream that was counted already.
    fn put_member(self: &Arc<Family>, stream: &Stream, work: ChildWork, cta: Option<u64>, behind: Option<Arc<Family>>) {
        let member = Member { family: Arc::clone(self), cta };
        work(stream, behind);
        stream.run(Weight::Light, move || drop(member));
    }

    /// Something has ended: the last one lets go on what comes behind.
    fn leave(self: &Arc<Family>, cta: Option<u64>) {
        let mut state = self.state();
        state.open -= 1;
        if let Some(cta) = cta
            && let Some(count) = state.of_cta.get_mut(&cta)
        {
            *count -= 1;
            if *count == 0 {
                state.of_cta.remove(&cta);
            }
        }
        if state.open != 0 || std::mem::replace(&mut state.draining, true) {
            return;
        }
        if let Some(behind) = &self.behind {
            // A chain of grids, each of which launches the next behind itself, leaves nothing of them.
            let mut own = std::mem::take(&mut state.tail);
            let mut other = behind.state();
            own.append(&mut other.tail);
            other.tail = own;
        }
        // In a loop, and by one thread: what ends at once does not end inside of what was put before it.
        while let Some(work) = state.tail.pop_front() {
            state.open += 1;
            drop(state);
            self.put_member(&self.new_stream(), work, None, Some(Arc::clone(self)));
            state = self.state();
            if state.open != 0 {
                state.draining = false;
                return;
            }
        }
        let then = state.then.take();
        drop(state);
        if let Some(then) = then {
            then();
        }
    }

    /// Whether something that threads of a CTA have put into streams has not ended.
    pub fn is_busy(&self, cta: u64) -> bool {
        self.state().of_cta.contains_key(&cta)
    }

    /// Makes a stream; its handle.
    pub fn create_stream(&self) -> u64 {
        let handle = next_handle();
        self.state().streams.insert(ChildStream::Named(handle), self.new_stream());
        handle
    }

    /// Forgets a stream: what it holds goes on. False if there is none of that handle.
    pub fn destroy_stream(&self, handle: u64) -> bool {
        self.state().streams.remove(&ChildStream::Named(handle)).is_some()
    }

    /// Makes an event; its handle.
    pub fn create_event(&self) -> u64 {
        let handle = next_handle();
        self.state().events.insert(handle, None);
        handle
    }

    /// Forgets an event. False if there is none of that handle.
    pub fn destroy_event(&self, handle: u64) -> bool {
        self.state().events.remove(&handle).is_some()
    }

    /// Records an event in a stream; what waits for a recorded event waits for what is before it there. False if there is no such event or stream.
    pub fn record_event(self: &Arc<Family>, cta: u64, handle: u64, stream: ChildStream) -> bool {
        if !self.state().events.contains_key(&handle) {
            return false;
        }
        let family = Arc::clone(self);
        let note = move |stream: &Stream, _: Option<Arc<Family>>| {
            let marker = stream.record();
            if let Some(event) = family.state().events.get_mut(&handle) {
                *event = Some(marker);
            }
        };
        self.put(cta, stream, Box::new(note))
    }

    /// Lets a stream wait for an event, which is over if it was never recorded. False if there is no such event or stream.
    pub fn wait_event(self: &Arc<Family>, cta: u64, stream: ChildStream, handle: u64) -> bool {
        let Some(marker) = self.state().events.get(&handle).cloned() else { return false };
        let wait = move |stream: &Stream, _: Option<Arc<Family>>| {
            if let Some(marker) = &marker {
                stream.wait_for(marker);
            }
        };
        self.put(cta, stream, Box::new(wait))
    }

    /// Keeps the error of a thread.
    pub fn set_error(&self, cta: u64, thread: u32, code: u32) {
        self.state().errors.insert((cta, thread), code);
    }

    /// The last error of a thread, 0 for none; it is forgotten if `take` says so.
    pub fn error(&self, cta: u64, thread: u32, take: bool) -> u32 {
        let mut state = self.state();
        let found = if take { state.errors.remove(&(cta, thread)) } else { state.errors.get(&(cta, thread)).copied() };
        found.unwrap_or(0)
    }

    /// Notes the parameter buffer at an address.
    pub fn note_buffer(&self, address: u64, prepared: Prepared) {
        self.state().buffers.insert(address, prepared);
    }

    /// The parameter buffer at an address, which is the grid's no more.
    pub fn take_buffer(&self, address: u64) -> Option<Prepared> {
        self.state().buffers.remove(&address)
    }
}
