//! Conditional nodes: graphs that run or not, again and again, or one of several, as a value in memory says when the node is
//! reached. Kernels change the value with `cudaGraphSetConditional`.
//!
//! The handle of a condition is the address of its value, so that is a store.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use warploom_exec::grid::Launch;
use warploom_exec::memory::{AllocError, AllocSpec, Memory, MemoryKind, Order};
use warploom_exec::stream::{Marker, Stream, Weight};

use super::plan::{Plan, Step};
use super::updatable::Updatable;
use super::{Driver, DriverError, DriverResult, Graph, Handle, Work};
use crate::ErrorCode;
use crate::fault::Sticky;
use crate::memory::{Checked, Fill2d};

/// What the value decides, by its number in `CUgraphConditionalNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ConditionalKind {
    /// Not 0: the first graph runs once; 0: the second one, if there is one.
    If = 0,
    /// The graph runs while it is not 0.
    While = 1,
    /// The graph with this number runs once.
    Switch = 2,
}

impl ConditionalKind {
    /// The kind with this number.
    ///
    /// # Errors
    /// `InvalidValue` for other numbers.
    pub fn from_number(number: u32) -> DriverResult<ConditionalKind> {
        Ok(match number {
            0 => ConditionalKind::If,
            1 => ConditionalKind::While,
            2 => ConditionalKind::Switch,
            _ => return Err(DriverError::invalid_value(format!("{number} is no kind of condition"))),
        })
    }
}

/// A value that decides.
pub struct Condition {
    memory: Arc<Memory>,
    address: u64,
    /// What it is at the start of each launch; what was left there if None.
    default: Option<u32>,
    /// The graph that it was made for, and the graphs that nodes of that one decide on.
    root: u32,
    /// Whether a node asks for it.
    used: AtomicBool,
}

impl Condition {
    /// The address, which is the handle.
    pub fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn is_used(&self) -> bool {
        self.used.load(Ordering::Acquire)
    }

    fn value(&self) -> u32 {
        // The memory is the condition's own.
        self.memory.view().load_atomic(self.address, Order::Acquire).unwrap_or(0)
    }

    fn set(&self, value: u32) {
        // As above.
        let _ = self.memory.view().store_atomic(self.address, value, Order::Release);
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // It is ours alone: nobody else frees it.
        let _ = self.memory.free(self.address);
    }
}

/// All conditions, by address.
pub(crate) type Conditions = Mutex<BTreeMap<u64, Weak<Condition>>>;

/// A condition with the graphs that it decides on.
pub struct ConditionalWork {
    /// The condition.
    pub condition: Arc<Condition>,
    /// What it decides.
    pub kind: ConditionalKind,
    /// The graphs, which belong to the node.
    pub bodies: Vec<Arc<Graph>>,
    /// Their handles: they stay as long as this is kept.
    pub handles: Box<[usize]>,
}

impl ConditionalWork {
    pub(super) fn new(condition: Arc<Condition>, kind: ConditionalKind, bodies: Vec<Arc<Graph>>) -> ConditionalWork {
        let handles = bodies.iter().map(|body| body.handle().raw()).collect();
        ConditionalWork { condition, kind, bodies, handles }
    }
}

/// What a graph of a conditional node does, without the driver that made it.
enum Prepared {
    Launch(Launch),
    Updatable(Updatable),
    Copy(Checked),
    Fill(Fill2d, u64),
    Choice(Arc<Choice>),
}

/// A conditional node that is ready to run.
pub(super) struct Choice {
    memory: Arc<Memory>,
    condition: Arc<Condition>,
    kind: ConditionalKind,
    bodies: Vec<Vec<Prepared>>,
}

impl Choice {
    /// Puts the node into a stream, which goes on when the last graph has ended. `sticky` is that of the stream's device.
    pub(super) fn put(self: &Arc<Self>, stream: &Stream, sticky: &Arc<Sticky>) {
        let (choice, sticky) = (Arc::clone(self), Arc::clone(sticky));
        let inner = stream.new_within();
        let mut running: Option<Marker> = None;
        stream.work_until(move || choice.go_on(&inner, &sticky, &mut running));
    }

    /// Starts the next graph if none runs; true when there is nothing left to do.
    fn go_on(&self, inner: &Stream, sticky: &Arc<Sticky>, running: &mut Option<Marker>) -> bool {
        loop {
            if let Some(marker) = running {
                if !marker.is_done() {
                    return false;
                }
                if self.kind != ConditionalKind::While {
                    return true;
                }
            }
            let value = self.condition.value();
            let body = match (self.kind, value) {
                (ConditionalKind::If, 0) => self.bodies.get(1),
                (ConditionalKind::While, 0) => None,
                (ConditionalKind::If | ConditionalKind::While, _) => self.bodies.first(),
                (ConditionalKind::Switch, value) => self.bodies.get(value as usize),
            };
            let Some(body) = body else { return true };
            if sticky.check().is_err() {
                return true;
            }
            for work in body {
                self.start(work, inner, sticky);
            }
            *running = Some(inner.record());
        }
    }

    fn start(&self, work: &Prepared, stream: &Stream, sticky: &Arc<Sticky>) {
        match work {
            Prepared::Launch(launch) => stream.launch(launch.clone()),
            Prepared::Updatable(updatable) => updatable.put(stream, sticky, None),
            Prepared::Copy(checked) => checked.clone().put(&self.memory, sticky, stream),
            Prepared::Fill(fill, extent) => fill.put(*extent, &self.memory, sticky, stream),
            Prepared::Choice(choice) => choice.put(stream, sticky),
        }
    }
}

/// The conditions that a plan asks for, in graphs inside too.
pub(super) fn conditions(plan: &Plan) -> Vec<Arc<Condition>> {
    let mut found = Vec::new();
    for step in &plan.steps {
        if let Work::Conditional(work) = &step.work {
            found.push(Arc::clone(&work.condition));
        }
        found.extend(step.bodies.iter().flat_map(conditions));
    }
    found
}

/// Most graphs that a node chooses from: as many as anyone would write down.
const MOST_BODIES: u32 = 1 << 16;

impl Driver {
    /// Makes a condition for a node of a graph. `default` is its value at the start of each launch.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles; `OutOfMemory`.
    pub fn create_condition(&self, graph: Handle, default: Option<u32>) -> DriverResult<u64> {
        let graph = self.graphs.lookup(graph)?;
        let kind = MemoryKind::Device;
        let spec = AllocSpec { size: 4, kind, device: 0, owner: 0, tag: 0, origin: "a condition of a graph" };
        let info = self.memory().alloc(spec).map_err(|error| match error {
            AllocError::Empty | AllocError::OutOfMemory => {
                DriverError::new(ErrorCode::OutOfMemory, "there is no memory for a condition")
            }
        })?;
        let memory = Arc::clone(self.memory());
        let condition =
            Arc::new(Condition { memory, address: info.base, default, root: graph.root, used: AtomicBool::new(false) });
        condition.set(default.unwrap_or(0));
        self.conditions.lock().insert(info.base, Arc::downgrade(&condition));
        graph.state.lock().conditions.push(condition);
        Ok(info.base)
    }

    /// The work of a conditional node of a graph with `size` graphs, which are empty and belong to the node. `condition` is the
    /// address that [`Driver::create_condition`] gave.
    ///
    /// # Errors
    /// `InvalidValue` for an unknown condition or that of another graph, one that a node asks for already, and a number of graphs that the kind does not
    /// have; `OutOfMemory` if there are no handles left.
    pub fn conditional_work(
        &self,
        graph: Handle,
        condition: u64,
        kind: ConditionalKind,
        size: u32,
    ) -> DriverResult<Work> {
        let fits = match kind {
            ConditionalKind::If => (1..=2).contains(&size),
            ConditionalKind::While => size == 1,
            ConditionalKind::Switch => (1..=MOST_BODIES).contains(&size),
        };
        if !fits {
            return Err(DriverError::invalid_value(format!("{size} graphs for a condition of the kind {kind:?}")));
        }
        let known = self.conditions.lock().get(&condition).and_then(Weak::upgrade);
        let known = known.ok_or_else(|| DriverError::invalid_value(format!("{condition:#x} is no condition")))?;
        let root = self.graphs.lookup(graph)?.root;
        if known.root != root {
            return Err(DriverError::invalid_value("the condition was made for another graph"));
        }
        if known.used.swap(true, Ordering::AcqRel) {
            return Err(DriverError::invalid_value("another node asks for the condition"));
        }
        let bodies = (0..size).map(|_| self.new_graph(true, Some(root))).collect::<DriverResult<_>>()?;
        Ok(Work::Conditional(Arc::new(ConditionalWork::new(known, kind, bodies))))
    }

    /// Puts the values at the start of a launch into a stream.
    pub(super) fn put_defaults(&self, conditions: &[Arc<Condition>], stream: &Stream) {
        for condition in conditions {
            if let Some(value) = condition.default {
                let condition = Arc::clone(condition);
                stream.run(Weight::Light, move || condition.set(value));
            }
        }
    }

    /// Makes a conditional node ready to run.
    pub(super) fn prepare_choice(&self, work: &ConditionalWork, bodies: &[Plan]) -> DriverResult<Arc<Choice>> {
        let body = |plan: &Plan| -> DriverResult<Vec<Prepared>> {
            let enabled = plan.steps.iter().filter(|step| step.is_put());
            enabled.filter_map(|step| self.prepare(step).transpose()).collect()
        };
        Ok(Arc::new(Choice {
            memory: Arc::clone(self.memory()),
            condition: Arc::clone(&work.condition),
            kind: work.kind,
            bodies: bodies.iter().map(body).collect::<DriverResult<_>>()?,
        }))
    }

    fn prepare(&self, step: &Step) -> DriverResult<Option<Prepared>> {
        Ok(match &step.work {
            Work::Kernel(kernel) => {
                let launch = self.prepare_kernel(kernel)?;
                Some(self.updatable(kernel, step.enabled).map_or(Prepared::Launch(launch), Prepared::Updatable))
            }
            Work::Copy(copy) => copy.checked.clone().map(Prepared::Copy),
            Work::Fill(fill) => self.check_fill(fill)?.map(|extent| Prepared::Fill(*fill, extent)),
            Work::Conditional(work) => Some(Prepared::Choice(self.prepare_choice(work, &step.bodies)?)),
            Work::Graph(_) | Work::Empty => None,
            work => return Err(not_inside(work)),
        })
    }

    /// Fails for work that a conditional node cannot decide on (CUDA programming guide, conditional nodes).
    pub(super) fn check_inside(&self, work: &Work) -> DriverResult {
        match work {
            Work::Kernel(_) | Work::Copy(_) | Work::Fill(_) | Work::Conditional(_) | Work::Graph(_) | Work::Empty => {
                Ok(())
            }
            work => Err(not_inside(work)),
        }
    }
}

#[cold]
fn not_inside(work: &Work) -> DriverError {
    DriverError::invalid_value(format!("a conditional node cannot decide on a {}", work.kind().noun()))
}
