//! Changes to instances: the parameters of one node, or of all nodes from a graph of the same structure.
use std::ops::Range;
use std::sync::Arc;

use super::conditional::conditions;
use super::exec::not_of_the_instance;
use super::plan::Plan;
use super::{Driver, DriverError, DriverResult, Handle, Work};
use crate::ErrorCode;
use crate::memory::{Box3, CopySide};

/// How an update went, by its number in `CUgraphExecUpdateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of CUgraphExecUpdateResult say it")]
#[repr(u32)]
pub enum UpdateResult {
    Success = 0,
    Error = 1,
    TopologyChanged = 2,
    NodeTypeChanged = 3,
    FunctionChanged = 4,
    ParametersChanged = 5,
    NotSupported = 6,
}

/// Why an instance cannot be updated from a graph.
#[derive(Clone, Debug)]
pub struct UpdateError {
    /// What the call answers.
    pub error: DriverError,
    /// The reason in short.
    pub result: UpdateResult,
    /// The node of the graph at fault; NULL if it is the graph.
    pub node: Handle,
    /// For an edge at fault the node that comes first.
    pub from: Handle,
}

impl UpdateError {
    /// As recorded, with no more of a reason.
    fn not_supported(reason: &str) -> UpdateError {
        let error = DriverError::new(ErrorCode::NotSupported, reason.to_owned());
        UpdateError { error, result: UpdateResult::Success, node: Handle::NULL, from: Handle::NULL }
    }

    fn new(result: UpdateResult, node: Handle, reason: String) -> UpdateError {
        let error = DriverError::new(ErrorCode::GraphExecUpdateFailure, reason);
        UpdateError { error, result, node, from: Handle::NULL }
    }
}

impl From<DriverError> for UpdateError {
    fn from(error: DriverError) -> Self {
        UpdateError { error, result: UpdateResult::Error, node: Handle::NULL, from: Handle::NULL }
    }
}

/// What of a node may change in an instance: not where the work is done, nor its shape.
pub(super) fn check_change(old: &Work, new: &Work) -> Result<(), (UpdateResult, String)> {
    let parameters = |what: &str| Err((UpdateResult::ParametersChanged, what.to_owned()));
    match (old, new) {
        (Work::Kernel(old), Work::Kernel(new))
            if !Arc::ptr_eq(old.function.module().context(), new.function.module().context()) =>
        {
            return Err((UpdateResult::FunctionChanged, "the kernel is of another context".to_owned()));
        }
        (Work::Copy(old), Work::Copy(new)) => {
            let (old, new) = (&old.transfer, &new.transfer);
            if !same_kind(&old.src, &new.src) || !same_kind(&old.dst, &new.dst) {
                return parameters("a copy stays among the same kinds of memory");
            }
            if (!is_line(&old.size) || !is_line(&new.size)) && old.size != new.size {
                return parameters("a copy of several rows keeps its size");
            }
            if new.size.width == 0 {
                return parameters("a copy cannot become one of nothing");
            }
        }
        (Work::Fill(old), Work::Fill(new)) => {
            let shape = |fill: &crate::memory::Fill2d| (fill.width, fill.pitch, fill.element as u64);
            if old.height != new.height || (old.height > 1 && shape(old) != shape(new)) {
                return parameters("a set of several rows keeps its size");
            }
        }
        (Work::Batch(old), Work::Batch(new)) => {
            let kinds = |batch: &super::BatchWork| -> Vec<_> {
                batch.operations.iter().map(|operation| std::mem::discriminant(&operation.action)).collect()
            };
            if kinds(old) != kinds(new) {
                return parameters("memory operations keep their number and kinds");
            }
        }
        (Work::Alloc(old), Work::Alloc(new)) if old.address() != new.address() => {
            return parameters("an allocation of an instance stays where it is");
        }
        (Work::Conditional(old), Work::Conditional(new))
            if old.kind != new.kind || old.bodies.len() != new.bodies.len() =>
        {
            return parameters("a conditional node keeps its kind and number of graphs");
        }
        (Work::Free(old), Work::Free(new)) if old.address != new.address => {
            return parameters("an instance frees the same memory");
        }
        (old, new) if old.kind() != new.kind() => {
            let reason = format!("a {} cannot become a {}", old.kind().noun(), new.kind().noun());
            return Err((UpdateResult::NodeTypeChanged, reason));
        }
        _ => {}
    }
    Ok(())
}

fn is_line(size: &Box3) -> bool {
    size.height <= 1 && size.depth <= 1
}

/// As recorded, what was given as an address of either side does not become one of the host's or the device's, even where it is one.
fn same_kind(old: &CopySide, new: &CopySide) -> bool {
    std::mem::discriminant(&old.place) == std::mem::discriminant(&new.place)
}

/// The nodes of the graph whose steps these are, without those of graphs inside: each has its own before it.
fn own_steps(plan: &Plan, steps: Range<usize>) -> Vec<usize> {
    let mut own = Vec::new();
    let mut end = steps.end;
    while end > steps.start {
        own.push(end - 1);
        let inner = &plan.steps[end - 1].inner;
        end = if inner.is_empty() { end - 1 } else { inner.start };
    }
    own.reverse();
    own
}

/// Edges among steps of one graph, but for those to nodes with graphs, whose steps have them.
fn edges(plan: &Plan, own: &[usize]) -> usize {
    let plain = own.iter().map(|index| &plan.steps[*index]).filter(|step| step.inner.is_empty());
    plain.map(|step| step.dependencies.iter().filter(|dependency| own.contains(dependency)).count()).sum()
}

/// Compares numbers of nodes and edges and kinds of nodes, graph by graph from outside: as recorded, before anything else.
fn check_kinds(old: (&Plan, Range<usize>), new: (&Plan, Range<usize>)) -> Result<(), UpdateError> {
    let (old_steps, new_steps) = (own_steps(old.0, old.1), own_steps(new.0, new.1));
    if old_steps.len() != new_steps.len() {
        let reason = format!("the instance has {} nodes, the graph {}", old_steps.len(), new_steps.len());
        return Err(UpdateError::new(UpdateResult::TopologyChanged, Handle::NULL, reason));
    }
    let (old_edges, new_edges) = (edges(old.0, &old_steps), edges(new.0, &new_steps));
    if old_edges != new_edges {
        let reason = format!("the instance has {old_edges} edges, the graph {new_edges}");
        return Err(UpdateError::new(UpdateResult::TopologyChanged, Handle::NULL, reason));
    }
    for (old_step, new_step) in old_steps.into_iter().zip(new_steps) {
        let (old_step, new_step) = (&old.0.steps[old_step], &new.0.steps[new_step]);
        let (was, is) = (old_step.work.kind(), new_step.work.kind());
        if was != is {
            let reason = format!("a {} cannot become a {}", was.noun(), is.noun());
            return Err(UpdateError::new(UpdateResult::NodeTypeChanged, new_step.node, reason));
        }
        check_kinds((old.0, old_step.inner.clone()), (new.0, new_step.inner.clone()))?;
    }
    Ok(())
}

/// Compares the steps of two plans of the same structure, which start at `first` in `old`.
fn check_plan(old: &Plan, first: usize, count: usize, new: &Plan) -> Result<(), UpdateError> {
    check_kinds((old, first..first + count), (new, 0..new.steps.len()))?;
    for (old_step, new_step) in old.steps[first..first + count].iter().zip(&new.steps) {
        // What comes before the whole part is not looked at.
        let inside = |dependency: &usize| dependency.checked_sub(first);
        let dependencies: Vec<usize> = old_step.dependencies.iter().filter_map(inside).collect();
        if dependencies != new_step.dependencies {
            let different = new_step.dependencies.iter().find(|dependency| !dependencies.contains(dependency));
            let reason = "the node comes after others than in the instance".to_owned();
            let mut error = UpdateError::new(UpdateResult::TopologyChanged, new_step.node, reason);
            error.from = different.map_or(Handle::NULL, |index| new.steps[*index].node);
            return Err(error);
        }
        check_change(&old_step.work, &new_step.work)
            .map_err(|(result, reason)| UpdateError::new(result, new_step.node, reason))?;
        for (old_body, new_body) in old_step.bodies.iter().zip(&new_step.bodies) {
            check_plan(old_body, 0, old_body.steps.len(), new_body)?;
        }
    }
    Ok(())
}

impl Driver {
    /// Gives a node of an instance other work of the same kind and shape. The graph stays as it is.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, nodes that are not of the instance, and a change that is not possible.
    pub fn set_exec_work(&self, exec: Handle, node: Handle, work: Work) -> DriverResult {
        let exec = self.graph_execs.lookup(exec)?;
        if let Work::Kernel(kernel) = &work {
            self.load_function(&kernel.function)?;
        }
        let mut state = exec.state.lock();
        let step = state.plan.step_mut(node).ok_or_else(not_of_the_instance)?;
        check_change(&step.work, &work).map_err(|(_, reason)| DriverError::invalid_value(reason))?;
        step.work = work;
        if let Some(device) = step.device() {
            device.forget_parameters();
        }
        Ok(())
    }

    /// Gives the nodes of a graph inside an instance the work of another graph of the same structure.
    ///
    /// # Errors
    /// `GraphExecUpdateFailure` for a graph of another structure, as recorded; as [`Driver::set_exec_work`].
    pub fn set_exec_graph(&self, exec: Handle, node: Handle, graph: Handle) -> DriverResult {
        let exec = self.graph_execs.lookup(exec)?;
        let plan = self.plan(&*self.graphs.lookup(graph)?).map_err(|failure| failure.error)?;
        let mut state = exec.state.lock();
        let index = state.plan.step_of(node).ok_or_else(not_of_the_instance)?;
        state.plan.steps[index].work.check_kind(super::NodeKind::Graph)?;
        if plan.has_updatable() || state.plan.has_updatable() {
            let reason = "the graph of a node cannot be changed for one with nodes that kernels may change";
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        let inner = state.plan.steps[index].inner.clone();
        check_plan(&state.plan, inner.start, inner.len(), &plan).map_err(|failure| failure.error)?;
        for (step, new) in state.plan.steps[inner].iter_mut().zip(plan.steps) {
            (step.work, step.bodies, step.ready) = (new.work, new.bodies, None);
        }
        state.conditions = conditions(&state.plan);
        Ok(())
    }

    /// Gives all nodes of an instance the work of a graph of the same structure, made in the same order.
    ///
    /// # Errors
    /// `GraphExecUpdateFailure` for a graph of another structure and for changes that are not possible: nothing is changed then.
    /// `InvalidValue` for NULL, stale and foreign handles; `NotSupported` where kernels may change a node.
    pub fn update_exec(&self, exec: Handle, graph: Handle) -> Result<(), UpdateError> {
        let exec = self.graph_execs.lookup(exec)?;
        let graph = self.graphs.lookup(graph)?;
        let plan = self.plan(&graph).map_err(|failure| UpdateError {
            error: failure.error,
            result: UpdateResult::Error,
            node: failure.node,
            from: Handle::NULL,
        })?;
        if plan.has_updatable() || exec.state.lock().plan.has_updatable() {
            let reason = "an instance with nodes that kernels may change cannot be updated from a graph";
            return Err(UpdateError::not_supported(reason));
        }
        let objects = {
            let state = graph.state.lock();
            let other = state.instance.strong_count() != 0 && !exec.is_instance(&state.instance);
            if state.has_memory_nodes() && other {
                let reason = "a graph with nodes that allocate or free memory, which has an instance";
                return Err(UpdateError::not_supported(reason));
            }
            state.objects.shared()
        };
        let mut state = exec.state.lock();
        let count = state.plan.steps.len();
        if let Err(error) = check_plan(&state.plan, 0, count, &plan) {
            drop(state);
            objects.release_all(self);
            return Err(error);
        }
        for (step, new) in state.plan.steps.iter_mut().zip(plan.steps) {
            (step.work, step.bodies, step.ready) = (new.work, new.bodies, None);
        }
        state.conditions = conditions(&state.plan);
        // What the instance held for its old work is the last launch's now.
        self.release_after_last(std::mem::replace(&mut state.objects, objects), state.last.as_ref());
        Ok(())
    }
}
