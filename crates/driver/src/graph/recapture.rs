//! Recapture: a capture into a graph that has its nodes already. What is captured takes the places of these nodes one by one, in
//! the order in which they were made, and comes after the same nodes.
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use super::capture::Capture;
use super::update::check_change;
use super::{Dependency, Driver, DriverError, DriverResult, Graph, Handle, State, Work, node_is_gone};
use crate::ErrorCode;

/// What a changed node means for instances of its graph (`CUgraphRecaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RecaptureStatus {
    /// An instance can be updated with the node.
    Eligible = 0,
    /// It cannot.
    Ineligible = 1,
}

/// Is told of a node, its work before and now, and what that means for instances; false ends the recapture.
pub type RecaptureObserver = Arc<dyn Fn(Handle, &Work, &Work, RecaptureStatus) -> bool + Send + Sync>;

/// A recapture of the graph whose state it is in.
pub(super) struct Recapture {
    capture: Weak<Capture>,
    /// The nodes whose turn is to come.
    open: VecDeque<u32>,
    observer: Option<RecaptureObserver>,
}

#[cold]
fn failed(reason: impl Into<String>) -> DriverError {
    DriverError::new(ErrorCode::GraphRecaptureFailure, reason.into())
}

impl Graph {
    pub(super) fn is_recaptured(&self) -> bool {
        self.state.lock().recapture.is_some()
    }

    /// Lets a capture go through the nodes of the graph again.
    ///
    /// # Errors
    /// `IllegalState` if another capture does so already.
    pub(super) fn begin_recapture(&self, capture: &Arc<Capture>, observer: Option<RecaptureObserver>) -> DriverResult {
        let mut state = self.state.lock();
        if state.recapture.is_some() {
            return Err(DriverError::new(ErrorCode::IllegalState, "the graph is being recaptured already"));
        }
        let open = state.nodes.keys().copied().collect();
        state.recapture = Some(Recapture { capture: Arc::downgrade(capture), open, observer });
        Ok(())
    }

    /// Ends the part that `capture` has in the graph's nodes.
    ///
    /// # Errors
    /// `GraphRecaptureFailure` if nodes were left over.
    pub(super) fn end_recapture(&self, capture: &Arc<Capture>) -> DriverResult {
        let mut state = self.state.lock();
        let ended = state.recapture.take_if(|recapture| recapture.capture.ptr_eq(&Arc::downgrade(capture)));
        match ended.map_or(0, |recapture| recapture.open.len()) {
            0 => Ok(()),
            left => Err(failed(format!("{left} nodes of the graph were not captured again"))),
        }
    }
}

/// A node whose turn it is, and what its recapture needs.
struct Turn {
    node: Handle,
    local: u32,
    before: Work,
    observer: Option<RecaptureObserver>,
}

impl State {
    /// The node whose turn it is, if what is captured comes after the same nodes.
    fn next_turn(&mut self, dependencies: &[Dependency]) -> DriverResult<Turn> {
        let Some(recapture) = &mut self.recapture else {
            return Err(DriverError::new(ErrorCode::IllegalState, "the recapture has just been ended"));
        };
        let Some(local) = recapture.open.pop_front() else {
            return Err(failed("more is captured than the graph has nodes"));
        };
        let observer = recapture.observer.clone();
        let node = self.nodes.get(&local).ok_or_else(node_is_gone)?;
        let known = |dependency: &Dependency| node.dependencies.contains(dependency);
        if node.dependencies.len() != dependencies.len() || !dependencies.iter().all(known) {
            return Err(failed(format!("the {} comes after other nodes than before", node.work.kind().noun())));
        }
        Ok(Turn { node: node.handle, local, before: node.work.clone(), observer })
    }
}

/// What a changed node means for instances; None if nothing changed.
fn compare(before: &Work, now: &Work) -> DriverResult<Option<RecaptureStatus>> {
    if before.kind() != now.kind() {
        return Err(failed(format!("a {} is captured in the place of a {}", now.kind().noun(), before.kind().noun())));
    }
    match (before, now) {
        (Work::Alloc(before), Work::Alloc(now)) => {
            let wanted = |work: &super::AllocWork| (work.size, work.ordinal, work.managed);
            if wanted(before) != wanted(now) {
                return Err(failed("an allocation cannot change"));
            }
            if let Some(allocation) = before.allocation.get() {
                now.allocation.get_or_init(|| Arc::clone(allocation));
            }
            return Ok(None);
        }
        (Work::Free(before), Work::Free(now)) if before.address != now.address => {
            let reason = format!("memory at {:#x} is freed instead of that at {:#x}", now.address, before.address);
            return Err(failed(reason));
        }
        (Work::Conditional(_), _) => return Err(failed("conditional nodes cannot be captured again")),
        _ => {}
    }
    if before.is_same(now) {
        return Ok(None);
    }
    Ok(Some(match check_change(before, now) {
        Ok(()) => RecaptureStatus::Eligible,
        Err(_) => RecaptureStatus::Ineligible,
    }))
}

impl Driver {
    /// Gives the graph's next node the work that was captured. The program is told of a change with no lock held.
    ///
    /// # Errors
    /// `GraphRecaptureFailure` for another kind of work, other dependencies, another allocation, and where the program does not
    /// want the change. The capture has failed then.
    pub(super) fn recapture_node(
        &self,
        graph: &Arc<Graph>,
        dependencies: &[Dependency],
        work: Work,
    ) -> DriverResult<Handle> {
        let capture = graph.state.lock().recapture.as_ref().and_then(|recapture| recapture.capture.upgrade());
        let outcome = self.replace_next(graph, dependencies, work);
        if let (Err(_), Some(capture)) = (&outcome, capture) {
            capture.invalidate();
        }
        outcome
    }

    fn replace_next(&self, graph: &Arc<Graph>, dependencies: &[Dependency], work: Work) -> DriverResult<Handle> {
        let Turn { node, local, before, observer } = graph.state.lock().next_turn(dependencies)?;
        let Some(status) = compare(&before, &work)? else {
            self.discard_work(work);
            return Ok(node);
        };
        if let Some(observer) = observer
            && !observer(node, &before, &work, status)
        {
            return Err(failed(format!("the program does not want the change of a {}", work.kind().noun())));
        }
        let replaced = std::mem::replace(&mut graph.state.lock().node_mut(local)?.work, work);
        self.discard_work(replaced);
        Ok(node)
    }
}

impl Graph {
    /// Whether the nodes of two graphs do the same, in the same order.
    fn is_same(&self, other: &Graph) -> bool {
        let nodes = |graph: &Graph| -> Vec<(Work, Vec<Dependency>)> {
            let state = graph.state.lock();
            // Copies of a graph number their nodes anew.
            let position = |local: u32| state.nodes.range(..local).count();
            let dependencies = |dependencies: &[Dependency]| {
                dependencies.iter().map(|it| Dependency { node: position(it.node) as u32, edge: it.edge }).collect()
            };
            state.nodes.values().map(|node| (node.work.clone(), dependencies(&node.dependencies))).collect()
        };
        let (before, now) = (nodes(self), nodes(other));
        before.len() == now.len()
            && before.iter().zip(&now).all(|(before, now)| before.1 == now.1 && before.0.is_same(&now.0))
    }
}

impl Work {
    /// Whether both do the same with the same parameters.
    fn is_same(&self, other: &Work) -> bool {
        match (self, other) {
            (Work::Kernel(a), Work::Kernel(b)) => {
                Arc::ptr_eq(&a.function, &b.function)
                    && (a.kernel, a.shape, &a.parameters, &a.attributes)
                        == (b.kernel, b.shape, &b.parameters, &b.attributes)
            }
            (Work::Copy(a), Work::Copy(b)) => a.transfer == b.transfer,
            (Work::Copies(a), Work::Copies(b)) => a.is_same(b),
            (Work::Semaphores(a), Work::Semaphores(b)) => a.is_same(b),
            (Work::Fill(a), Work::Fill(b)) => a == b,
            (Work::Host(a), Work::Host(b)) => (a.function, a.data) == (b.function, b.data),
            (Work::Graph(a), Work::Graph(b)) => a.is_same(b),
            (Work::Empty, Work::Empty) => true,
            (Work::WaitEvent(a), Work::WaitEvent(b)) | (Work::RecordEvent(a), Work::RecordEvent(b)) => {
                Arc::ptr_eq(a, b)
            }
            (Work::Batch(a), Work::Batch(b)) => a.operations == b.operations,
            (Work::Alloc(a), Work::Alloc(b)) => Arc::ptr_eq(a, b) || a.address() == b.address(),
            (Work::Free(a), Work::Free(b)) => a.address == b.address,
            (Work::Conditional(a), Work::Conditional(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
