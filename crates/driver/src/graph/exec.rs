//! Instances of graphs: what is launched.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use warploom_exec::device_runtime::GraphRun;
use warploom_exec::family::{ChildWork, Family};
use warploom_exec::fault::{Fault, FaultKind};
use warploom_exec::stream::{Marker, Stream, Weight};

use super::conditional::{Condition, conditions};
use super::memory::MemoryEffects;
use super::plan::{Cycle, Plan, Step};
use super::user_object::Holdings;
use super::{Driver, DriverError, DriverResult, Graph, Handle, NodeKind, Work, next_id};
use crate::ErrorCode;
use crate::stream::StreamName;

/// The flags of instantiation (`CUgraphInstantiate_flags`).
#[expect(missing_docs, reason = "the names of CUgraphInstantiate_flags say it")]
pub mod instantiate_flags {
    pub const AUTO_FREE_ON_LAUNCH: u64 = 1;
    pub const UPLOAD: u64 = 2;
    pub const DEVICE_LAUNCH: u64 = 4;
    pub const USE_NODE_PRIORITY: u64 = 8;
    pub const KNOWN: u64 = 15;
}

/// How an instantiation went, by its number in `CUgraphInstantiateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of CUgraphInstantiateResult say it")]
#[repr(u32)]
pub enum InstantiateResult {
    Success = 0,
    Error = 1,
    InvalidStructure = 2,
    NodeOperationNotSupported = 3,
    MultipleContextsNotSupported = 4,
    ConditionalHandleUnused = 5,
}

/// Why a graph cannot be instantiated.
#[derive(Clone, Debug)]
pub struct InstantiateError {
    /// What the call answers.
    pub error: DriverError,
    /// The reason in short.
    pub result: InstantiateResult,
    /// The node at fault; NULL if it is the graph.
    pub node: Handle,
}

impl From<DriverError> for InstantiateError {
    fn from(error: DriverError) -> Self {
        InstantiateError { error, result: InstantiateResult::Error, node: Handle::NULL }
    }
}

/// An instance of a graph.
pub struct GraphExec {
    handle: Handle,
    id: u32,
    flags: u64,
    /// Whether its kernels may launch graphs, or ask which they are in.
    launches: bool,
    /// A kernel has launched it, and it has not started yet.
    pending: AtomicBool,
    pub(super) state: Mutex<ExecState>,
    /// Gone when the instance is: a graph with memory nodes has one at a time.
    alive: Arc<()>,
}

pub(super) struct ExecState {
    pub(super) plan: Plan,
    pub(super) conditions: Vec<Arc<Condition>>,
    /// Streams of all lanes but the first, which is the stream that the launch is put into.
    lanes: Vec<Stream>,
    /// The end of the last launch, which the next one comes after in whatever stream.
    pub(super) last: Option<Marker>,
    pub(super) objects: Holdings,
    destroyed: AtomicBool,
}

impl GraphExec {
    /// Flags that it was made with, but for that of priorities, as recorded.
    pub fn flags(&self) -> u64 {
        self.flags & !instantiate_flags::USE_NODE_PRIORITY
    }

    /// A number that no other graph or instance of the process has or had.
    pub fn id(&self) -> u32 {
        self.id
    }
}

/// Who launches an instance, where that matters to its kernels.
struct Launcher<'l> {
    /// What is launched beside it.
    beside: &'l Arc<Family>,
    /// What it comes behind.
    behind: Option<Arc<Family>>,
    /// The program, and no kernel.
    host: bool,
}

impl GraphExec {
    /// Whether it is the instance that a graph knows.
    pub(super) fn is_instance(&self, known: &Weak<()>) -> bool {
        known.upgrade().is_some_and(|alive| Arc::ptr_eq(&alive, &self.alive))
    }
}

impl Driver {
    /// Makes an instance of a graph as it is now.
    ///
    /// # Errors
    /// `InvalidValue` for unknown flags, NULL, stale and foreign handles, for a graph in which nodes come after themselves, and for
    /// nodes that no device could launch where that is asked for; `NotSupported` for a kernel that cannot be executed, and for a
    /// second instance of a graph with memory nodes or nodes that kernels may change.
    pub fn instantiate(&self, graph: Handle, flags: u64) -> Result<Handle, InstantiateError> {
        use instantiate_flags as known;
        if flags & !known::KNOWN != 0 {
            return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")).into());
        }
        let graph = self.graphs.lookup(graph)?;
        self.current()?;
        self.refuse_unsafe_in_capture()?;
        if flags & known::DEVICE_LAUNCH != 0 && flags & known::AUTO_FREE_ON_LAUNCH != 0 {
            let reason = "a graph that the device launches cannot free its memory at launches";
            return Err(DriverError::invalid_value(reason).into());
        }
        let plan = self.plan(&graph)?;
        if flags & known::DEVICE_LAUNCH != 0 {
            check_for_device(&plan)?;
        }
        let alive = Arc::new(());
        let objects = {
            let mut state = graph.state.lock();
            if state.conditions.iter().any(|condition| !condition.is_used()) {
                return Err(InstantiateError {
                    error: DriverError::invalid_value("a condition of the graph belongs to no node"),
                    result: InstantiateResult::ConditionalHandleUnused,
                    node: Handle::NULL,
                });
            }
            if state.has_memory_nodes() && state.instance.strong_count() != 0 {
                let reason = "a graph with nodes that allocate or free memory has one instance at a time";
                return Err(DriverError::new(ErrorCode::NotSupported, reason).into());
            }
            if plan.has_updatable() && state.instance.strong_count() != 0 {
                let reason = "a graph with nodes that kernels may change has one instance at a time";
                return Err(DriverError::new(ErrorCode::NotSupported, reason).into());
            }
            state.instance = Arc::downgrade(&alive);
            state.objects.shared()
        };
        let conditions = conditions(&plan);
        let state =
            ExecState { plan, conditions, lanes: Vec::new(), last: None, objects, destroyed: AtomicBool::new(false) };
        let launches = flags & known::DEVICE_LAUNCH != 0 || state.plan.calls_runtime();
        let make = |handle| GraphExec {
            handle,
            id: next_id(),
            flags,
            launches,
            pending: AtomicBool::new(false),
            state: Mutex::new(state),
            alive,
        };
        Ok(self.graph_execs.insert(make)?.handle)
    }

    /// Plans a graph, and makes its kernels runnable.
    pub(super) fn plan(&self, graph: &Graph) -> Result<Plan, InstantiateError> {
        let plan = Plan::of(graph).map_err(|Cycle { node }| InstantiateError {
            error: DriverError::invalid_value("nodes of the graph come after themselves"),
            result: InstantiateResult::InvalidStructure,
            node,
        })?;
        self.make_runnable(&plan, false)?;
        Ok(plan)
    }

    /// Makes the kernels of a plan runnable. `inside` is a plan of a conditional node.
    fn make_runnable(&self, plan: &Plan, inside: bool) -> Result<(), InstantiateError> {
        for step in &plan.steps {
            let checked = match &step.work {
                Work::Kernel(kernel) => self.load_function(&kernel.function),
                work if inside => self.check_inside(work),
                _ => Ok(()),
            };
            checked.map_err(|error| InstantiateError {
                error,
                result: InstantiateResult::NodeOperationNotSupported,
                node: step.node,
            })?;
            for body in &step.bodies {
                self.make_runnable(body, true)?;
            }
        }
        Ok(())
    }

    /// The instance of a handle.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles.
    pub fn graph_exec(&self, exec: Handle) -> DriverResult<Arc<GraphExec>> {
        self.graph_execs.lookup(exec)
    }

    /// Destroys an instance; launches that have not ended go on.
    ///
    /// # Errors
    /// As [`Driver::graph_exec`].
    pub fn destroy_graph_exec(&self, exec: Handle) -> DriverResult {
        let exec = self.graph_execs.remove(exec)?;
        let mut state = exec.state.lock();
        state.destroyed.store(true, Ordering::Release);
        self.release_after_last(std::mem::take(&mut state.objects), state.last.as_ref());
        Ok(())
    }

    /// Gives references to user objects back when a launch has ended.
    pub(super) fn release_after_last(&self, objects: Holdings, last: Option<&Marker>) {
        let stream = self.internal_stream();
        if let Some(last) = last {
            stream.wait_for(last);
        }
        objects.release_after(self, &stream);
    }

    /// Prepares an instance for launches in a stream. From now on kernels may change its nodes; all else that there is to prepare was done before.
    ///
    /// # Errors
    /// As [`Driver::graph_exec`] and [`Driver::stream`].
    pub fn upload_graph(&self, exec: Handle, stream: StreamName) -> DriverResult {
        let exec = self.graph_execs.lookup(exec)?;
        self.stream(stream)?;
        exec.state.lock().plan.upload();
        Ok(())
    }

    /// Puts a launch of an instance into a stream. It comes after the last one, in whatever stream that was.
    ///
    /// # Errors
    /// `InvalidValue` if memory that it allocates is still allocated by the last launch; as [`Driver::graph_exec`] and
    /// [`Driver::stream`]. Nothing is launched then.
    pub fn launch_graph(&self, exec: Handle, stream: StreamName) -> DriverResult {
        let exec = self.graph_execs.lookup(exec)?;
        let stream = self.stream(stream)?;
        // As recorded: a launch does not become a node.
        self.refuse_capture(&stream)?;
        let stream = &stream.stream;
        let beside = exec.launches.then(|| Family::of(stream, None));
        self.put_graph(&exec, stream, beside.as_ref().map(|beside| Launcher { beside, behind: None, host: true }))?;
        if let Some(beside) = beside {
            stream.join(beside);
            // The next launch, in whatever stream, comes behind what this one has launched.
            exec.state.lock().last = Some(stream.record());
        }
        Ok(())
    }

    /// A launch of an instance by a kernel, to be put into a stream. What its kernels launch beside it goes to `beside`.
    ///
    /// # Errors
    /// `InvalidValue` for what is no instance that a device may launch, and for one that waits to start, as recorded.
    pub(crate) fn graph_for_kernel(&self, exec: Handle, beside: &Arc<Family>) -> DriverResult<ChildWork> {
        let exec = self.graph_execs.lookup(exec)?;
        if exec.flags & instantiate_flags::DEVICE_LAUNCH == 0 {
            return Err(DriverError::invalid_value("the instance was not made for launches by a device"));
        }
        if exec.pending.swap(true, Ordering::AcqRel) {
            return Err(DriverError::invalid_value("a kernel has launched the instance, which has not started yet"));
        }
        let (driver, beside) = (self.this(), Arc::clone(beside));
        Ok(Box::new(move |stream: &Stream, behind| {
            exec.pending.store(false, Ordering::Release);
            let Some(driver) = driver.upgrade() else { return };
            let launcher = Launcher { beside: &beside, behind, host: false };
            if let Err(error) = driver.put_graph(&exec, stream, Some(launcher)) {
                let kind = FaultKind::IllegalInstruction(format!("a graph that a kernel launched: {error}"));
                stream.fail(Arc::new(Fault::new(kind, "cudaGraphLaunch")));
            }
        }))
    }

    /// Puts all steps of a launch into a stream and those beside it.
    fn put_graph(&self, exec: &GraphExec, stream: &Stream, launcher: Option<Launcher<'_>>) -> DriverResult {
        let mut state = exec.state.lock();
        if state.destroyed.load(Ordering::Acquire) {
            return Err(self.graph_execs.unknown(exec.handle));
        }
        let effects = MemoryEffects::of(state.plan.steps.iter().map(|step| &step.work));
        effects.check(self, exec.flags & instantiate_flags::AUTO_FREE_ON_LAUNCH != 0)?;
        self.make_ready(&mut state.plan)?;
        state.plan.upload();
        // From here on nothing fails: a launch is put in as a whole.
        let by_host = launcher.as_ref().is_none_or(|launcher| launcher.host);
        let run = launcher.map(|Launcher { beside, behind, .. }| {
            let is_for_device = exec.flags & instantiate_flags::DEVICE_LAUNCH != 0;
            let number = if is_for_device { exec.handle.raw() as u64 } else { 0 };
            Arc::new(GraphRun { exec: number, family: Family::of(stream, behind), beside: Arc::clone(beside) })
        });
        let ExecState { plan, conditions, lanes, last, .. } = &mut *state;
        // A fault ends what else the launch does, and so does the end of the context: all of it is in streams of one.
        lanes.retain(|lane| lane.is_beside(stream));
        while lanes.len() + 1 < plan.lanes {
            lanes.push(stream.new_beside());
        }
        // One that is launched by a kernel may be launched behind itself: there the order is that of its streams.
        if let Some(last) = last.as_ref().filter(|_| by_host) {
            stream.wait_for(last);
        }
        self.put_defaults(conditions, stream);
        let start = (plan.lanes > 1).then(|| stream.record());
        if let Some(start) = &start {
            for lane in lanes.iter() {
                lane.wait_for(start);
            }
        }
        let mut markers: Vec<Option<Marker>> = vec![None; plan.steps.len()];
        for (index, step) in plan.steps.iter().enumerate() {
            let lane = step.lane.checked_sub(1).and_then(|lane| lanes.get(lane)).unwrap_or(stream);
            for wait in &step.waits {
                if let Some(marker) = &markers[*wait] {
                    lane.wait_for(marker);
                }
            }
            if let Some(ready) = step.ready.as_ref().filter(|_| step.is_put()) {
                self.put_ready(ready, lane, run.as_ref());
            }
            if step.marked {
                markers[index] = Some(lane.record());
            }
        }
        for marker in plan.ends.iter().filter_map(|end| markers[*end].as_ref()) {
            stream.wait_for(marker);
        }
        effects.apply(self);
        if !effects.is_empty() {
            // Graph and instance may be destroyed meanwhile: the memory stays until the launch has ended.
            stream.run(Weight::Light, move || drop(effects));
        }
        if by_host {
            *last = Some(stream.record());
        }
        drop(state);
        if let Some(run) = run {
            // What has ended already lets go on what comes behind: perhaps this instance, on this thread.
            stream.join(Arc::clone(&run.family));
        }
        Ok(())
    }

    /// Whether a node takes part in launches.
    ///
    /// # Errors
    /// `InvalidValue` for nodes that are not of the instance, or neither kernel, copy nor set; as [`Driver::graph_exec`].
    pub fn node_enabled(&self, exec: Handle, node: Handle) -> DriverResult<bool> {
        let exec = self.graph_execs.lookup(exec)?;
        let state = exec.state.lock();
        let step = state.plan.step(node).ok_or_else(not_of_the_instance)?;
        check_switchable(step)?;
        Ok(step.enabled)
    }

    /// Lets a node take part in launches or not. One that does not holds nothing up.
    ///
    /// # Errors
    /// As [`Driver::node_enabled`].
    pub fn enable_node(&self, exec: Handle, node: Handle, enabled: bool) -> DriverResult {
        let exec = self.graph_execs.lookup(exec)?;
        let mut state = exec.state.lock();
        let step = state.plan.step_mut(node).ok_or_else(not_of_the_instance)?;
        check_switchable(step)?;
        step.enabled = enabled;
        if let Some(device) = step.device() {
            device.forget_enabled();
        }
        Ok(())
    }
}

fn check_switchable(step: &Step) -> DriverResult {
    let kind = step.work.kind();
    if !matches!(kind, NodeKind::Kernel | NodeKind::Memcpy | NodeKind::Memset) {
        return Err(DriverError::invalid_value(format!("a {} always takes part", kind.noun())));
    }
    Ok(())
}

/// Fails for a plan that a device could not launch: of more than one context, or with other nodes than kernels, copies of device
/// memory, sets and graphs of such nodes (CUDA programming guide, device graph launch). Here too the host launches it.
fn check_for_device(plan: &Plan) -> Result<(), InstantiateError> {
    let refuse = |step: &Step, result, reason: String| {
        Err(InstantiateError { error: DriverError::invalid_value(reason), result, node: step.node })
    };
    let empty = || DriverError::invalid_value("a graph that the device launches has nodes, and so has each in it");
    if plan.steps.is_empty() {
        return Err(empty().into());
    }
    let mut context = None;
    for step in &plan.steps {
        match &step.work {
            Work::Kernel(kernel) => {
                let own = kernel.function.module().context().id();
                if *context.get_or_insert(own) != own {
                    let reason = "the kernels of a graph that the device launches are of one context".to_owned();
                    return refuse(step, InstantiateResult::MultipleContextsNotSupported, reason);
                }
                if kernel.function.launches_kernels() {
                    let reason =
                        "the kernels of a graph that the device launches launch graphs, but no kernels".to_owned();
                    return refuse(step, InstantiateResult::NodeOperationNotSupported, reason);
                }
            }
            Work::Copy(copy) if copy.is_between_arrays_or_pageable() => {
                let reason = "a graph that the device launches copies neither arrays nor pageable memory".to_owned();
                return refuse(step, InstantiateResult::NodeOperationNotSupported, reason);
            }
            Work::Graph(graph) if graph.state.lock().nodes.is_empty() => return Err(empty().into()),
            Work::Copy(_) | Work::Fill(_) | Work::Graph(_) => {}
            work => {
                let reason = format!("a graph that the device launches has no {}", work.kind().noun());
                return refuse(step, InstantiateResult::NodeOperationNotSupported, reason);
            }
        }
    }
    Ok(())
}

#[cold]
pub(super) fn not_of_the_instance() -> DriverError {
    DriverError::invalid_value("the node is not one of the graph that was instantiated")
}
