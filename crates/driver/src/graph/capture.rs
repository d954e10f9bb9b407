//! Capture: what a program puts into a stream becomes nodes of a graph instead of being done.
//!
//! Every stream has a [`CaptureSlot`]. While it takes part in a capture, the slot holds the nodes that whatever comes next in the
//! stream comes after. Events that are recorded in such a stream carry these nodes to other streams, which then take part too.
mod events;
mod rules;

pub use rules::exchange_capture_mode;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

use parking_lot::Mutex;

use super::{Dependency, Driver, DriverError, DriverResult, EdgeData, Graph, Handle, RecaptureObserver, Work};
use crate::ErrorCode;
use crate::context::Context;
use crate::stream::{StreamName, StreamRef};

/// Which calls of which threads a capture forbids (`CUstreamCaptureMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CaptureMode {
    /// Unsafe calls of all threads.
    Global = 0,
    /// Unsafe calls of the thread that began it.
    ThreadLocal = 1,
    /// None.
    Relaxed = 2,
}

impl CaptureMode {
    /// The mode with this number.
    ///
    /// # Errors
    /// `InvalidValue` for other numbers.
    pub fn from_number(number: u32) -> DriverResult<CaptureMode> {
        Ok(match number {
            0 => CaptureMode::Global,
            1 => CaptureMode::ThreadLocal,
            2 => CaptureMode::Relaxed,
            _ => return Err(DriverError::invalid_value(format!("{number} is no mode of captures"))),
        })
    }
}

/// Whether a stream is captured (`CUstreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CaptureStatus {
    /// It is not.
    None = 0,
    /// It is.
    Active = 1,
    /// It is, and the capture has failed, but has not been ended.
    Invalidated = 2,
}

/// What a program can ask of a capture.
#[derive(Clone)]
pub struct CaptureInfo {
    /// Unique in the process.
    pub id: u64,
    /// The graph that it makes.
    pub graph: Handle,
    /// Whether that was the program's before.
    pub borrowed: bool,
    /// What comes next in the stream comes after these nodes. Stays until the next call that means the stream.
    pub nodes: Arc<[usize]>,
    /// What their edges say.
    pub edges: Arc<[EdgeData]>,
}

/// Where a capture's nodes go.
pub enum CaptureInto<'a> {
    /// A graph of its own.
    New,
    /// A graph of the program's, after some of its nodes.
    Graph(Handle, &'a [(Handle, EdgeData)]),
    /// The nodes that a graph of the program's has already; the observer is told of changes.
    Again(Handle, Option<RecaptureObserver>),
}

/// One capture, from its beginning to its end.
pub(crate) struct Capture {
    id: u64,
    graph: Arc<Graph>,
    /// Whether the graph was the program's before.
    borrowed: bool,
    mode: CaptureMode,
    thread: ThreadId,
    origin: Weak<CaptureSlot>,
    invalid: AtomicBool,
    ended: AtomicBool,
    members: Mutex<Vec<Weak<CaptureSlot>>>,
    /// The last nodes of streams that were destroyed meanwhile.
    left_behind: Mutex<Vec<u32>>,
}

/// A stream's part in a capture.
pub(crate) struct CaptureSlot {
    context: u64,
    /// The stream's green context, if it is of one.
    green: Option<u64>,
    /// Whether the legacy stream waits for the stream.
    blocking: bool,
    member: Mutex<Option<Member>>,
    /// Whether the stream is gone; changes while `member` is locked.
    closed: AtomicBool,
}

struct Member {
    capture: Arc<Capture>,
    dependencies: Vec<Dependency>,
    /// What the program was shown last: the lists are its to read.
    shown: Option<CaptureInfo>,
}

/// The place in a capture that an event was recorded at.
#[derive(Clone)]
pub(crate) struct CapturedPlace {
    capture: Arc<Capture>,
    dependencies: Vec<Dependency>,
}

/// All captures.
#[derive(Default)]
pub(crate) struct Captures {
    count: AtomicUsize,
    all: Mutex<Vec<Arc<Capture>>>,
}

impl Captures {
    /// Whether there are none, which is what most calls have to know.
    #[inline]
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

impl Capture {
    fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Acquire)
    }

    /// Whether the stream that it began in is still there to end it.
    fn is_endable(&self) -> bool {
        self.origin.strong_count() != 0
    }

    pub(crate) fn invalidate(&self) {
        self.invalid.store(true, Ordering::Release);
    }

    /// Fails if the capture has failed before.
    fn check(&self) -> DriverResult {
        if self.is_invalid() {
            let reason = "the capture has failed before, and must be ended";
            return Err(DriverError::new(ErrorCode::StreamCaptureInvalidated, reason));
        }
        Ok(())
    }

    fn slots(&self) -> Vec<Arc<CaptureSlot>> {
        self.members.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

impl CaptureSlot {
    /// The slot of a stream that is not captured.
    pub(crate) fn new(context: u64, green: Option<u64>, blocking: bool) -> Arc<CaptureSlot> {
        Arc::new(CaptureSlot { context, green, blocking, member: Mutex::new(None), closed: AtomicBool::new(false) })
    }

    fn capture(&self) -> Option<Arc<Capture>> {
        self.member.lock().as_ref().map(|member| Arc::clone(&member.capture))
    }

    /// Takes part in a capture.
    ///
    /// # Errors
    /// `IllegalState` if other threads have meanwhile destroyed the stream, let it take part in a capture, or ended this one.
    fn join(self: &Arc<Self>, capture: &Arc<Capture>, dependencies: Vec<Dependency>) -> DriverResult {
        let mut member = self.member.lock();
        if member.is_some() || self.closed.load(Ordering::Relaxed) {
            return Err(DriverError::new(ErrorCode::IllegalState, "the stream is captured already, or destroyed"));
        }
        capture.members.lock().push(Arc::downgrade(self));
        // Whoever ends the capture says so first, and looks for members then: either this is seen here, or we are seen there.
        if capture.ended.load(Ordering::Acquire) {
            return Err(DriverError::new(ErrorCode::IllegalState, "the capture has just been ended"));
        }
        *member = Some(Member { capture: Arc::clone(capture), dependencies, shown: None });
        Ok(())
    }

    /// What the stream takes part in; it takes part in nothing from here on.
    fn close(&self) -> Option<Arc<Capture>> {
        let member = self.member.lock();
        self.closed.store(true, Ordering::Relaxed);
        member.as_ref().map(|member| Arc::clone(&member.capture))
    }
}

impl Driver {
    /// Begins to capture a stream.
    ///
    /// # Errors
    /// `StreamCaptureUnsupported` for the legacy stream, as recorded, and `StreamCaptureImplicit` as `Driver::capture_of` says; `IllegalState` if the stream is captured already, or the
    /// graph recaptured; `InvalidValue` for nodes of other graphs; as [`Driver::stream`].
    pub fn begin_capture(&self, name: StreamName, mode: CaptureMode, into: CaptureInto<'_>) -> DriverResult {
        let stream = self.stream(name)?;
        if name == StreamName::Legacy {
            self.capture_of(&stream)?;
            let reason = "the legacy stream cannot be captured";
            return Err(DriverError::new(ErrorCode::StreamCaptureUnsupported, reason));
        }
        if stream.capture.capture().is_some() {
            return Err(DriverError::new(ErrorCode::IllegalState, "the stream is captured already"));
        }
        let (graph, dependencies) = match &into {
            CaptureInto::New => (self.new_graph(false, None)?, Vec::new()),
            CaptureInto::Graph(graph, after) => {
                let graph = self.graphs.lookup(*graph)?;
                let dependencies = self.dependencies(&graph, after)?;
                (graph, dependencies)
            }
            CaptureInto::Again(graph, _) => (self.graphs.lookup(*graph)?, Vec::new()),
        };
        let capture = Arc::new(Capture {
            id: self.next_id(),
            graph,
            borrowed: !matches!(into, CaptureInto::New),
            mode,
            thread: std::thread::current().id(),
            origin: Arc::downgrade(&stream.capture),
            invalid: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            members: Mutex::default(),
            left_behind: Mutex::default(),
        });
        if let CaptureInto::Again(_, observer) = into {
            capture.graph.begin_recapture(&capture, observer)?;
            // As the manual has it, the graph's user objects go.
            let objects = std::mem::take(&mut capture.graph.state.lock().objects);
            objects.release_all(self);
        }
        // Known before it is joined: a context or stream that goes away ends what is known.
        let begun = stream.context.while_alive(|| {
            self.captures.all.lock().push(Arc::clone(&capture));
            self.captures.count.fetch_add(1, Ordering::AcqRel);
            stream.capture.join(&capture, dependencies)
        });
        if begun.is_err() {
            self.give_up_capture(&capture);
        }
        begun
    }

    fn dependencies(&self, graph: &Arc<Graph>, nodes: &[(Handle, EdgeData)]) -> DriverResult<Vec<Dependency>> {
        let dependency = |(node, edge): &(Handle, EdgeData)| {
            let dependency = Dependency { node: self.local_of(graph, *node)?, edge: *edge };
            dependency.check(graph, None)?;
            Ok(dependency)
        };
        nodes.iter().map(dependency).collect()
    }

    /// Ends a capture, and gives its graph.
    ///
    /// # Errors
    /// `IllegalState` if the stream is not captured; `StreamCaptureWrongThread`; `StreamCaptureUnmatched` in another stream than it
    /// began in; `StreamCaptureInvalidated` if it has failed; `StreamCaptureUnjoined` if work of other streams was not
    /// waited for; `GraphRecaptureFailure` if nodes of the graph were not captured again. But for `StreamCaptureUnmatched` the capture has ended, without a graph.
    pub fn end_capture(&self, name: StreamName) -> DriverResult<Handle> {
        let stream = self.stream(name)?;
        let Some(capture) = stream.capture.capture() else {
            self.capture_of(&stream)?;
            return Err(DriverError::new(ErrorCode::IllegalState, "the stream is not captured"));
        };
        if !capture.origin.ptr_eq(&Arc::downgrade(&stream.capture)) {
            capture.invalidate();
            let reason = "the capture began in another stream";
            return Err(DriverError::new(ErrorCode::StreamCaptureUnmatched, reason));
        }
        let wrong_thread = capture.mode != CaptureMode::Relaxed && capture.thread != std::thread::current().id();
        let joined = is_joined(&capture, &stream.capture);
        let complete = capture.graph.end_recapture(&capture);
        if !self.leave_capture(&capture) {
            return Err(DriverError::new(ErrorCode::IllegalState, "another thread has just ended the capture"));
        }
        let outcome = match capture.check() {
            // As recorded, the capture has ended all the same.
            _ if wrong_thread => {
                Err(DriverError::new(ErrorCode::StreamCaptureWrongThread, "the capture was begun by another thread"))
            }
            Ok(()) if !joined => Err(DriverError::new(
                ErrorCode::StreamCaptureUnjoined,
                "work of another stream is captured that this stream does not wait for",
            )),
            outcome => outcome.and(complete),
        };
        if outcome.is_err() {
            self.discard_captured(&capture);
        }
        outcome.map(|()| capture.graph.handle())
    }

    /// Lets all streams leave a capture that is over. False if another thread has ended it before: the graph is that thread's.
    fn leave_capture(&self, capture: &Arc<Capture>) -> bool {
        if capture.ended.swap(true, Ordering::AcqRel) {
            return false;
        }
        for slot in capture.slots() {
            slot.member.lock().take_if(|member| Arc::ptr_eq(&member.capture, capture));
        }
        let mut all = self.captures.all.lock();
        let before = all.len();
        all.retain(|other| !Arc::ptr_eq(other, capture));
        self.captures.count.fetch_sub(before - all.len(), Ordering::AcqRel);
        true
    }

    /// What a stream that goes away leaves behind: work that nobody waits for any more, or no capture if it began there.
    pub(crate) fn abandon_capture(&self, slot: &Arc<CaptureSlot>) {
        let Some(capture) = slot.close() else { return };
        if capture.origin.ptr_eq(&Arc::downgrade(slot)) {
            self.give_up_capture(&capture);
        } else if let Some(member) = slot.member.lock().take() {
            capture.left_behind.lock().extend(member.dependencies.iter().map(|dependency| dependency.node));
        }
    }

    /// Ends the captures in which streams of a context take part that goes away.
    pub(crate) fn abandon_captures_of(&self, context: &Context) {
        if self.captures.is_empty() {
            return;
        }
        let takes_part = |capture: &&Arc<Capture>| capture.slots().iter().any(|slot| slot.context == context.id());
        let involved: Vec<_> = self.captures.all.lock().iter().filter(takes_part).cloned().collect();
        for capture in involved {
            self.give_up_capture(&capture);
        }
    }

    /// Ends a capture that nobody can end any more, and destroys its graph.
    fn give_up_capture(&self, capture: &Arc<Capture>) {
        capture.invalidate();
        // Whatever is left over: nobody asks for the graph.
        let _ = capture.graph.end_recapture(capture);
        if self.leave_capture(capture) {
            self.discard_captured(capture);
        }
    }

    /// Destroys the graph that a failed capture has made so far.
    fn discard_captured(&self, capture: &Capture) {
        if !capture.borrowed && self.graphs.remove(capture.graph.handle()).is_ok() {
            self.dissolve(&capture.graph);
        }
    }

    /// Whether and how a stream is captured.
    ///
    /// # Errors
    /// `StreamCaptureImplicit` for the legacy stream while one that it waits for is captured; as [`Driver::stream`].
    pub fn capture_info(&self, name: StreamName) -> DriverResult<(CaptureStatus, Option<CaptureInfo>)> {
        let stream = self.stream(name)?;
        if self.captures.is_empty() {
            return Ok((CaptureStatus::None, None));
        }
        if name == StreamName::Legacy && !self.captures_of_blocking(&stream.capture).is_empty() {
            return Err(implicit());
        }
        let mut member = stream.capture.member.lock();
        let Some(member) = member.as_mut() else { return Ok((CaptureStatus::None, None)) };
        if member.capture.is_invalid() {
            return Ok((CaptureStatus::Invalidated, None));
        }
        let state = member.capture.graph.state.lock();
        let nodes = member.dependencies.iter().filter_map(|dependency| state.nodes.get(&dependency.node));
        let info = CaptureInfo {
            id: member.capture.id,
            graph: member.capture.graph.handle(),
            borrowed: member.capture.borrowed,
            nodes: nodes.map(|node| node.handle.raw()).collect(),
            edges: member.dependencies.iter().map(|dependency| dependency.edge).collect(),
        };
        drop(state);
        member.shown = Some(info.clone());
        Ok((CaptureStatus::Active, Some(info)))
    }

    /// Changes the nodes that what comes next in a captured stream comes after: adds to them, or with `replace` gives others.
    ///
    /// # Errors
    /// `IllegalState` if the stream is not captured; `StreamCaptureInvalidated`; `InvalidValue` for nodes of other graphs.
    pub fn update_capture(&self, name: StreamName, nodes: &[(Handle, EdgeData)], replace: bool) -> DriverResult {
        let stream = self.stream(name)?;
        let mut member = stream.capture.member.lock();
        let Some(member) = member.as_mut() else {
            return Err(DriverError::new(ErrorCode::IllegalState, "the stream is not captured"));
        };
        member.capture.check()?;
        let dependencies = self.dependencies(&member.capture.graph, nodes)?;
        if replace {
            member.dependencies.clear();
        }
        add_all(&mut member.dependencies, &dependencies);
        Ok(())
    }

    /// Adds a node for what was put into a captured stream.
    pub(crate) fn capture(&self, capture: &Arc<Capture>, stream: &StreamRef, work: Work) -> DriverResult<Handle> {
        let ended = || DriverError::new(ErrorCode::IllegalState, "the capture has just been ended");
        let is_ours = |member: &&mut Member| Arc::ptr_eq(&member.capture, capture);
        let mut locked = stream.capture.member.lock();
        let mut member = locked.as_mut().filter(is_ours).ok_or_else(ended)?;
        let dependencies = member.dependencies.clone();
        let node = if capture.graph.is_recaptured() {
            // The program is asked, which may ask about the stream.
            drop(locked);
            let node = self.recapture_node(&capture.graph, &dependencies, work)?;
            locked = stream.capture.member.lock();
            member = locked.as_mut().filter(is_ours).ok_or_else(ended)?;
            node
        } else {
            self.append(&capture.graph, dependencies, work, Handle::NULL)?
        };
        let local = self.node_number(node)?;
        member.dependencies = vec![Dependency { node: local, edge: EdgeData::default() }];
        Ok(node)
    }
}

fn add_all(dependencies: &mut Vec<Dependency>, more: &[Dependency]) {
    for dependency in more {
        if !dependencies.iter().any(|known| known.node == dependency.node) {
            dependencies.push(*dependency);
        }
    }
}

/// Whether the stream that a capture began in waits for all that is captured in others.
fn is_joined(capture: &Capture, origin: &CaptureSlot) -> bool {
    let tails = |slot: &CaptureSlot| -> Vec<u32> {
        let member = slot.member.lock();
        let dependencies = member.iter().flat_map(|member| &member.dependencies);
        dependencies.map(|dependency| dependency.node).collect()
    };
    let mut open = tails(origin);
    let mut reached = BTreeSet::new();
    let state = capture.graph.state.lock();
    while let Some(local) = open.pop() {
        if reached.insert(local)
            && let Some(node) = state.nodes.get(&local)
        {
            open.extend(node.dependencies.iter().map(|dependency| dependency.node));
        }
    }
    drop(state);
    let left_behind = capture.left_behind.lock().clone();
    let tails = capture.slots().iter().flat_map(|slot| tails(slot)).chain(left_behind).collect::<Vec<_>>();
    tails.iter().all(|tail| reached.contains(tail))
}

#[cold]
fn implicit() -> DriverError {
    let reason = "the legacy stream would wait for a stream that is captured";
    DriverError::new(ErrorCode::StreamCaptureImplicit, reason)
}

impl Driver {
    /// The captures in which a stream takes part that a legacy stream waits for; also those that have failed, as recorded.
    fn captures_of_blocking(&self, legacy: &CaptureSlot) -> Vec<Arc<Capture>> {
        let all = self.captures.all.lock();
        let involved = |capture: &&Arc<Capture>| {
            let waits = |slot: &CaptureSlot| (slot.context, slot.green) == (legacy.context, legacy.green);
            capture.is_endable() && capture.slots().iter().any(|slot| slot.blocking && waits(slot))
        };
        all.iter().filter(involved).cloned().collect()
    }
}
