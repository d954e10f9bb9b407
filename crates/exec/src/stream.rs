//! Work in order: streams, markers in them, and what waits for what.
//!
//! A stream is a queue of operations. At most one of them is in flight; when it ends, whoever ended it (a worker, a host
//! thread, a callback thread) starts the next: there is no thread for each stream, and an operation on an idle stream
//! starts on the calling thread at once. A stream never blocks another one: waits are entries in the other stream's list.
//!
//! Streams of a [`Group`] keep the order of CUDA's legacy default stream: what is put into the legacy stream comes after
//! all that its blocking streams hold, and what is put into a blocking stream comes after all that the legacy stream holds.
//!
//! No lock of a stream is held while a kernel, a task or a callback runs, and never the locks of two streams at once.

mod brief;
mod drive;
mod ending;
mod engine;
mod group;
mod marker;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::family::Family;
use crate::fault::Fault;
use crate::grid::Launch;
use crate::memory::Reservation;
use crate::observe::{HostEvent, Observer, StreamPlace};
use crate::pool::{Origin, RunningGrid, is_worker};
use crate::signal::{Signal, spin_until};

pub use engine::Engine;
pub use group::Group;
pub use marker::Marker;

use drive::{Starter, drive, finish_of_family};
use ending::{Held, Looks};
use marker::{Mark, Where};

/// How long a synchronising thread looks for the end before it sleeps.
const SPIN: Duration = Duration::from_micros(30);

/// How often it looks whether a pool has started that needs its help.
const NEW_POOLS: Duration = Duration::from_millis(10);

/// How a stream orders itself against the legacy stream of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// The legacy default stream; one for each group.
    Legacy,
    /// Ordered against the legacy stream.
    Blocking,
    /// Not ordered against any other.
    NonBlocking,
}

/// How long a task takes, which decides where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Microseconds: on the calling thread if the stream is idle.
    Light,
    /// Longer: on a worker.
    Heavy,
}

/// What a callback is told of the work before it.
#[derive(Clone, Copy)]
pub enum Outcome<'a> {
    /// It has been done.
    Done,
    /// It has failed.
    Failed(&'a Arc<Fault>),
    /// Some of it was dropped at the end of its context ([`Group::end`]).
    GivenUp,
}

/// Called when a stream gets there.
pub type Callback = Box<dyn FnOnce(Outcome<'_>) + Send>;

/// Waits for somebody outside, and asks after each look in vain whether to give up.
pub type OutsideWait = Box<dyn FnOnce(&dyn Fn() -> bool) + Send>;

/// An ordered queue of operations. Clones are the same stream; operations go on when the last clone is dropped.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Arc<Engine>,
    group: Arc<Group>,
    kind: StreamKind,
    urgent: bool,
    /// Whether the group has it among those that may have work.
    listed: AtomicBool,
    /// No other stream of the process has it.
    id: u64,
    /// The place in another stream that it does the work of: observers know that only.
    within: Option<StreamPlace>,
    submitted: AtomicU64,
    completed: AtomicU64,
    state: Mutex<State>,
    looks: Looks,
    changed: Signal,
}

#[derive(Default)]
struct State {
    /// An operation is in flight, or a thread is about to start one.
    busy: bool,
    queue: VecDeque<Operation>,
    grid: Option<RunningGrid>,
    held: Held,
    /// Streams that wait for an operation of this one, by its number.
    waiters: Vec<(u64, Arc<Shared>)>,
}

enum Operation {
    Launch(Box<Launch>),
    Task(Weight, Box<dyn FnOnce(StreamPlace) + Send>),
    Join(Arc<Family>),
    Callback(Callback),
    Mark(Arc<Mark>),
    Wait(Arc<Shared>, u64),
    Outside(OutsideWait),
    /// The address of the value that it is true of, if it is for somebody outside.
    Condition(Option<u64>, Box<dyn FnMut() -> bool + Send>),
}

impl From<Box<Launch>> for Operation {
    fn from(launch: Box<Launch>) -> Operation {
        Operation::Launch(launch)
    }
}

enum Step {
    Start(Arc<Shared>, Operation),
    Finish(Arc<Shared>),
}

impl Stream {
    /// A new, idle stream. `urgent` ones get workers before others.
    pub fn new(engine: &Arc<Engine>, group: &Arc<Group>, kind: StreamKind, urgent: bool) -> Stream {
        Stream::with_place(engine, group, kind, urgent, None)
    }

    fn with_place(
        engine: &Arc<Engine>,
        group: &Arc<Group>,
        kind: StreamKind,
        urgent: bool,
        within: Option<StreamPlace>,
    ) -> Stream {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let shared = Arc::new(Shared {
            engine: engine.clone(),
            group: group.clone(),
            kind,
            urgent,
            listed: AtomicBool::new(false),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            within,
            submitted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            state: Mutex::default(),
            looks: Looks::default(),
            changed: Signal::default(),
        });
        if kind == StreamKind::Legacy {
            group.set_legacy(&shared);
        }
        shared.tell(|| HostEvent::Stream { stream: shared.id, group: group.id(), kind });
        Stream { shared }
    }

    /// A new stream of the same device, ordered with no other, which ends with the same context.
    pub fn new_beside(&self) -> Stream {
        let group = Group::beside(&self.shared.group);
        Stream::new(&self.shared.engine, &group, StreamKind::NonBlocking, false)
    }

    /// As [`Stream::new_beside`], for the work of what is put into this one next, which lasts until that has ended.
    pub fn new_within(&self) -> Stream {
        self.new_at(self.next())
    }

    /// As [`Stream::new_beside`], for the work of what is at a place in this one, which lasts until that has ended.
    pub(crate) fn new_at(&self, place: StreamPlace) -> Stream {
        let group = Group::beside(&self.shared.group);
        let place = self.shared.within.unwrap_or(place);
        Stream::with_place(&self.shared.engine, &group, StreamKind::NonBlocking, false, Some(place))
    }

    /// The place of what is put into it next.
    pub(crate) fn next(&self) -> StreamPlace {
        let last = self.last();
        StreamPlace { number: last.number + 1, ..last }
    }

    /// Whether both are of the same device and end with the same context.
    pub fn is_beside(&self, other: &Stream) -> bool {
        self.shared.is_beside(&other.shared)
    }

    /// A number that no other stream has while this one is there.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// A number that no other stream of the process has or had: what observers know it by.
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// The place of what was put into it last.
    pub fn last(&self) -> StreamPlace {
        self.shared.last()
    }

    /// The device that it is a stream of, if it is one's.
    pub fn device(&self) -> Option<u32> {
        self.shared.engine.device
    }

    /// How it orders itself.
    pub fn kind(&self) -> StreamKind {
        self.shared.kind
    }

    /// Whether all that must come before a new operation has ended.
    pub fn is_idle(&self) -> bool {
        self.shared.is_idle() && !self.shared.peers().any(|peer| !peer.is_idle())
    }

    /// Whether everything put into the stream so far has ended (`cuStreamQuery`); for the legacy stream, also everything
    /// in the blocking streams of its group.
    pub fn has_ended(&self) -> bool {
        self.shared.engine.pool.stand_in();
        let ended = self.shared.is_idle() && self.shared.peers_to_synchronize().all(|peer| peer.is_idle());
        if ended {
            self.shared.tell_waited();
        }
        ended
    }

    /// Ends all work of the stream's device as a fault of a kernel does.
    pub fn fail(&self, fault: Arc<Fault>) {
        self.shared.engine.fail(fault);
    }

    /// Runs a task that does not block, such as a copy. Dropped without running after a fault.
    pub fn run(&self, weight: Weight, task: impl FnOnce() + Send + 'static) {
        self.run_at(weight, |_| task());
    }

    /// As [`Stream::run`], of a task that is told its place in the stream.
    pub fn run_at(&self, weight: Weight, task: impl FnOnce(StreamPlace) + Send + 'static) {
        self.submit(Operation::Task(weight, Box::new(task)));
    }

    /// Who is told of what the stream does.
    pub fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.shared.engine.pool.observer()
    }

    /// Goes on when all that belongs to a family has ended, which has no grid of its own.
    pub fn join(&self, family: Arc<Family>) {
        self.submit(Operation::Join(family));
    }

    /// Calls a function of the program on a thread of its own, where it may block as it likes. It is called in any case.
    pub fn callback(&self, callback: Callback) {
        self.submit(Operation::Callback(callback));
    }

    /// Goes on when the condition is true of a value (`cuStreamWaitValue32`), which somebody outside makes so. It is looked at by workers, again and again.
    pub fn wait_until(&self, address: u64, condition: impl FnMut() -> bool + Send + 'static) {
        self.submit(Operation::Condition(Some(address), Box::new(condition)));
    }

    /// Goes on when work that is done beside the stream, and looked after here, says so. It is asked by workers, again and again.
    pub fn work_until(&self, is_done: impl FnMut() -> bool + Send + 'static) {
        self.submit(Operation::Condition(None, Box::new(is_done)));
    }

    /// Goes on when somebody outside has come, for whom a thread sleeps.
    pub fn wait_outside(&self, wait: OutsideWait) {
        self.submit(Operation::Outside(wait));
    }

    /// Marks the present end of the stream.
    pub fn record(&self) -> Marker {
        let shared = &self.shared;
        self.await_peers();
        let mut state = shared.state();
        let number = shared.submitted.load(Ordering::Relaxed) + 1;
        let mark = Arc::new(Mark::new(shared, number));
        shared.submitted.store(number, Ordering::SeqCst);
        shared.tell(|| HostEvent::Submit { place: mark.place });
        if state.busy {
            shared.group.enter(shared);
            state.queue.push_back(Operation::Mark(mark.clone()));
        } else {
            mark.reach();
            shared.completed.store(number, Ordering::Release);
        }
        Marker { place: Where::Here(mark) }
    }

    /// Goes on when the marker has been reached; at once if it has been.
    pub fn wait_for(&self, marker: &Marker) {
        if let Where::Here(mark) = &marker.place {
            self.shared.tell(|| HostEvent::After { stream: self.shared.id, other: mark.place });
        }
        if marker.is_done() {
            return;
        }
        match &marker.place {
            Where::Here(mark) => {
                if let Some(stream) = mark.stream.upgrade()
                    && !Arc::ptr_eq(&stream, &self.shared)
                {
                    self.submit(Operation::Wait(stream, mark.place.number));
                }
            }
            Where::Elsewhere(event, number) => {
                let (event, number) = (Arc::clone(event), *number);
                self.wait_outside(Box::new(move |give_up| event.wait(number, give_up)));
            }
        }
    }

    /// Goes on when all that `other` holds now has ended. Unlike a marker, this puts nothing into `other`.
    pub fn follow(&self, other: &Stream) {
        let number = other.shared.submitted.load(Ordering::Acquire);
        let place = StreamPlace { stream: other.shared.id, number };
        self.shared.tell(|| HostEvent::After { stream: self.shared.id, other: place });
        if !other.shared.is_idle() && !Arc::ptr_eq(&other.shared, &self.shared) {
            self.submit(Operation::Wait(Arc::clone(&other.shared), number));
        }
    }

    /// Goes on when all that the streams of a group hold now has ended.
    pub fn follow_all(&self, group: &Group) {
        self.shared.tell(|| HostEvent::AfterGroup { stream: self.shared.id, group: group.id() });
        for other in group.busy() {
            self.follow(&other);
        }
    }

    /// Waits until everything put into the stream so far has ended, and what that must come after. The calling thread
    /// takes part in the work.
    pub fn synchronize(&self) {
        self.shared.wait_for(self.shared.submitted.load(Ordering::Acquire));
        for peer in self.shared.peers_to_synchronize() {
            peer.wait_for(peer.submitted.load(Ordering::Acquire));
        }
        self.shared.tell_waited();
    }

    /// Waits until everything put into the streams of its group so far has ended.
    pub fn synchronize_group(&self) {
        let group = &self.shared.group;
        for stream in group.busy_as(&self.shared) {
            stream.synchronize();
        }
        self.shared.tell(|| HostEvent::WaitedForGroup { group: group.id(), blocking_only: false });
    }

    fn submit(&self, operation: Operation) {
        self.await_peers();
        self.shared.submit(operation);
    }

    /// Puts waits for the streams that come before this one by kind.
    fn await_peers(&self) {
        for peer in self.shared.peers() {
            if !peer.is_idle() {
                let number = peer.submitted.load(Ordering::Acquire);
                self.shared.submit(Operation::Wait(peer, number));
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the observer, if there is one.
    #[inline]
    fn tell(&self, event: impl FnOnce() -> HostEvent) {
        if let Some(observer) = self.engine.pool.observer().filter(|_| self.within.is_none()) {
            observer.host(&event());
        }
    }

    /// Tells the observer that the calling thread has seen the end of all that the stream holds; of the legacy one also of what the blocking ones
    /// of its group do.
    fn tell_waited(&self) {
        self.tell(|| HostEvent::Waited(self.last()));
        if self.kind == StreamKind::Legacy {
            self.tell(|| HostEvent::WaitedForGroup { group: self.group.id(), blocking_only: true });
        }
    }

    fn last(&self) -> StreamPlace {
        StreamPlace { stream: self.id, number: self.submitted.load(Ordering::Acquire) }
    }

    /// The place of the operation that is in flight.
    fn present(&self) -> StreamPlace {
        let own = || StreamPlace { stream: self.id, number: self.completed.load(Ordering::Relaxed) + 1 };
        self.within.unwrap_or_else(own)
    }

    fn is_idle(&self) -> bool {
        // In this order: an operation submitted in between makes the answer "busy", never a false "idle".
        let completed = self.completed.load(Ordering::Acquire);
        completed == self.submitted.load(Ordering::SeqCst)
    }

    /// The streams whose work comes before what is submitted now; those that have any are among them.
    fn peers(&self) -> impl Iterator<Item = Arc<Shared>> + use<> {
        let (legacy, blocking) = match self.kind {
            StreamKind::Legacy => (None, self.group.busy_blocking()),
            StreamKind::Blocking => (self.group.legacy(), Vec::new()),
            StreamKind::NonBlocking => (None, Vec::new()),
        };
        legacy.into_iter().chain(blocking)
    }

    /// Synchronising the legacy stream waits for the blocking ones too; a blocking one waits for itself only.
    fn peers_to_synchronize(&self) -> impl Iterator<Item = Arc<Shared>> + use<> {
        let legacy = self.kind == StreamKind::Legacy;
        self.peers().filter(move |_| legacy)
    }

    fn submit(self: &Arc<Self>, operation: Operation) {
        if let Some(operation) = self.line_up(operation) {
            drive(Step::Start(self.clone(), operation));
        }
    }

    /// Puts an operation behind what the stream holds. Gives it back if that is nothing: the caller starts it, and nobody else starts another one
    /// before it is finished.
    fn line_up<O: Into<Operation>>(self: &Arc<Self>, operation: O) -> Option<O> {
        let mut state = self.state();
        let number = self.submitted.fetch_add(1, Ordering::SeqCst) + 1;
        self.tell(|| HostEvent::Submit { place: StreamPlace { stream: self.id, number } });
        self.group.enter(self);
        if state.busy {
            state.queue.push_back(operation.into());
            return None;
        }
        state.busy = true;
        Some(operation)
    }

    /// Starts an operation; true if it has ended already.
    fn start(self: &Arc<Self>, operation: Operation, starter: Starter) -> bool {
        let engine = &self.engine;
        let failed = engine.fault.get();
        match operation {
            Operation::Mark(mark) => {
                mark.reach();
                true
            }
            _ if engine.pool.is_closed() => true,
            Operation::Callback(callback) => {
                let stream = self.clone();
                engine.callbacks.run(Box::new(move || {
                    let outcome = match stream.engine.fault.get() {
                        Some(fault) => Outcome::Failed(fault),
                        None if stream.group.ending.is_given_up() => Outcome::GivenUp,
                        None => Outcome::Done,
                    };
                    // Whoever it tells knows that what comes before is done.
                    stream.tell(|| HostEvent::Waited(stream.present()));
                    stream.engine.guard("a callback", || callback(outcome));
                    stream.tell(|| HostEvent::Turn);
                    drive(Step::Finish(stream));
                }));
                false
            }
            _ if failed.is_some() || self.group.ending.is_given_up() => true,
            Operation::Launch(mut launch) => {
                let stream = self.clone();
                let place = Some(self.present());
                // Given back before anybody hears of the end; a worker may hold the launch for a moment longer.
                let local = launch.local.take();
                let behind = launch.behind.take();
                let this = || Stream { shared: Arc::clone(self) };
                let family = launch.runtime.is_some().then(|| Family::at(self.present(), &this(), behind));
                let own = family.clone();
                let done = Box::new(move |fault| stream.end_grid(fault, local, own));
                let origin = Origin { place, family, free: starter.returns };
                self.enter_grid(|| engine.pool.launch_from(launch, engine.device, self.urgent, origin, done));
                false
            }
            Operation::Join(family) => {
                let stream = self.clone();
                family.end(Box::new(move || finish_of_family(stream)));
                false
            }
            Operation::Task(weight, task) => {
                // A worker goes on with it if nothing waits for a worker; threads of the program should get back soon.
                let place = self.present();
                if weight == Weight::Light || (starter.alone && is_worker() && engine.pool.has_no_queue()) {
                    engine.pool.goes_on();
                    engine.guard("a stream's task", || task(place));
                    return true;
                }
                let stream = self.clone();
                engine.pool.spawn(
                    self.urgent,
                    Box::new(move || {
                        stream.engine.guard("a stream's task", || task(place));
                        drive(Step::Finish(stream));
                    }),
                );
                false
            }
            Operation::Wait(other, number) => {
                self.state().held = Held::By(Arc::downgrade(&other), number);
                let mut state = other.state();
                if other.completed.load(Ordering::Acquire) >= number {
                    return true;
                }
                state.waiters.push((number, self.clone()));
                false
            }
            Operation::Outside(wait) => {
                self.hold();
                let stream = self.clone();
                engine.callbacks.run(Box::new(move || {
                    stream.engine.guard("a stream's wait", || wait(&|| stream.gives_up()));
                    stream.tell(|| HostEvent::Met { place: stream.present(), address: None });
                    stream.tell(|| HostEvent::Turn);
                    drive(Step::Finish(stream));
                }));
                false
            }
            Operation::Condition(address, mut condition) => {
                if address.is_some() {
                    self.hold();
                }
                let (stream, watched) = (self.clone(), self.clone());
                let tell = move |stream: &Shared| {
                    if address.is_some() {
                        stream.tell(|| HostEvent::Met { place: stream.present(), address });
                    }
                    stream.tell(|| HostEvent::Turn);
                };
                let mut met = move || {
                    watched.engine.guard("a stream's condition", &mut condition) == Some(true) || watched.gives_up()
                };
                if met() {
                    tell(self);
                    return true;
                }
                let go_on = move || {
                    tell(&stream);
                    drive(Step::Finish(stream));
                };
                engine.pool.when(Box::new(met), Box::new(go_on));
                false
            }
        }
    }

    /// Begins a grid that others see.
    fn enter_grid(&self, begin: impl FnOnce() -> RunningGrid) -> RunningGrid {
        let engine = &self.engine;
        let grid = {
            // Under the lock, so that the end of the grid finds it entered.
            let mut state = self.state();
            state.grid.insert(begin()).clone()
        };
        // Either may have come after the last look, and not have seen this grid.
        if engine.fault.get().is_some() || engine.pool.is_closed() {
            grid.cancel(engine.fault.get());
        }
        grid
    }

    /// The grid in flight has ended: gives back what it held, and goes on when its family has ended too.
    fn end_grid(
        self: Arc<Self>,
        fault: Option<Arc<Fault>>,
        local: Option<Arc<Reservation>>,
        family: Option<Arc<Family>>,
    ) {
        if let Some(fault) = fault {
            self.engine.fail(fault);
        }
        drop(local);
        match family {
            Some(family) => family.end(Box::new(move || finish_of_family(self))),
            None => drive(Step::Finish(self)),
        }
    }

    /// A wait for somebody outside begins.
    fn hold(&self) {
        self.looks.start();
        self.state().held = Held::Outside;
    }

    /// Notes that the operation in flight has ended, and says what comes next. `returns` as in [`Starter`].
    fn finish(self: &Arc<Self>, next: &mut VecDeque<Step>, returns: bool) {
        // What a grid held is given back without the lock.
        let _ended = {
            let mut state = self.state();
            state.held = Held::Not;
            if returns && next.is_empty() && state.waiters.is_empty() && state.queue.is_empty() {
                // Before the program hears of the end, which often launches the next grid at once.
                self.engine.pool.becomes_free();
            }
            let completed = self.completed.load(Ordering::Relaxed) + 1;
            self.completed.store(completed, Ordering::Release);
            if !state.waiters.is_empty() {
                let mut kept = Vec::new();
                for (number, stream) in std::mem::take(&mut state.waiters) {
                    if number <= completed {
                        next.push_back(Step::Finish(stream));
                    } else {
                        kept.push((number, stream));
                    }
                }
                state.waiters = kept;
            }
            match state.queue.pop_front() {
                Some(operation) => next.push_back(Step::Start(self.clone(), operation)),
                None => state.busy = false,
            }
            state.grid.take()
        };
        self.changed.notify_all();
    }

    /// Waits until the operation with this number has ended.
    fn wait_for(&self, number: u64) {
        self.wait(|| self.completed.load(Ordering::Acquire) >= number, None);
    }

    /// Waits until it is over, which operations that end bring about or time does, and helps with the grids that come before.
    fn wait(&self, is_over: impl Fn() -> bool, look: Option<Duration>) {
        let mut patient = true;
        while !is_over() {
            // Asked before what it is about: who sleeps would not hear that another device's pool starts, and has no workers.
            let all_have_started = self.engine.pool.all_have_started();
            if self.engine.pool.stand_in() {
                continue;
            }
            let epoch = self.changed.epoch();
            let grid = self.state().grid.clone();
            if let Some(grid) = grid {
                self.engine.pool.help(&grid, patient);
            }
            if is_over() || spin_until(SPIN, || self.changed.epoch() != epoch) {
                patient = true;
                continue;
            }
            // Whoever was to take the grid has found something else.
            if std::mem::take(&mut patient) {
                continue;
            }
            let look = if all_have_started { look } else { Some(look.map_or(NEW_POOLS, |look| look.min(NEW_POOLS))) };
            self.changed.sleep(epoch, look);
        }
    }
}
