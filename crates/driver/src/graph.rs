//! Graphs: work that is described once, as nodes and what each comes after, and launched often.
//!
//! A [`Graph`] is the description. [`exec`](GraphExec) is what is launched: the nodes in an order that keeps all dependencies,
//! dealt out to streams. `capture` makes a description of what a program puts into its streams.
mod blocks;
mod capture;
mod clone;
mod conditional;
mod dependency;
mod dot;
mod exec;
mod memory;
mod node;
mod plan;
mod ready;
mod recapture;
mod updatable;
mod update;
mod user_object;

pub use capture::{CaptureInfo, CaptureInto, CaptureMode, CaptureStatus, exchange_capture_mode};
pub use conditional::{Condition, ConditionalKind, ConditionalWork};
pub use dependency::EdgeData;
pub use exec::{GraphExec, InstantiateError, InstantiateResult, instantiate_flags};
pub use memory::{GraphMemory, GraphMemoryUse};
pub use node::{AllocWork, BatchWork, CopyBatch, CopyWork, FreeWork, HostWork, KernelWork, NodeKind, Work};
pub use recapture::{RecaptureObserver, RecaptureStatus};
pub use updatable::DeviceNode;
pub use update::{UpdateError, UpdateResult};
pub use user_object::UserObject;

pub(crate) use capture::{CaptureSlot, CapturedPlace, Captures};
pub(crate) use conditional::Conditions;
pub(crate) use updatable::{DeviceNodes, keep_number};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};
use blocks::Blocks;
use dependency::Dependency;
use memory::GraphAllocation;
use recapture::Recapture;
use user_object::Holdings;

/// A graph that a program builds, or one that belongs to a node of another.
pub struct Graph {
    handle: Handle,
    id: u32,
    /// The number of the graph that decides on it, over however many conditional nodes; its own if none does. Conditions are
    /// made for that one.
    root: u32,
    /// Whether it belongs to a node, which keeps and destroys it.
    embedded: AtomicBool,
    /// Whether it was made for a node: the program did not have it before.
    made_for_node: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By local id, which is the order of creation.
    nodes: BTreeMap<u32, Node>,
    next_node: u32,
    /// What its nodes allocate.
    blocks: Blocks,
    objects: Holdings,
    /// What its nodes may ask for.
    conditions: Vec<Arc<Condition>>,
    /// Whether it is instantiated: with memory nodes it may be only once at a time.
    instance: Weak<()>,
    recapture: Option<Recapture>,
}

/// A node of a graph.
struct Node {
    handle: Handle,
    work: Work,
    /// The nodes that it comes after.
    dependencies: Vec<Dependency>,
    /// The nodes that come after it.
    dependents: Vec<u32>,
    /// The node that this one was cloned from.
    original: Handle,
}

/// What the handle of a node stands for.
pub(crate) struct NodeRef {
    handle: Handle,
    graph: Weak<Graph>,
    local: u32,
}

/// Numbers of graphs, which debuggers show.
static NEXT_GRAPH: AtomicU32 = AtomicU32::new(1);

/// A number that no other graph of the process has or had.
fn next_id() -> u32 {
    NEXT_GRAPH.fetch_add(1, Ordering::Relaxed)
}

impl Graph {
    /// Whether it was made for a node, and goes with it.
    pub(crate) fn is_made_for_node(&self) -> bool {
        self.made_for_node
    }

    /// Whether `other` is this graph, or belongs to a node in it, however deep.
    fn reaches(self: &Arc<Graph>, other: &Arc<Graph>) -> bool {
        if Arc::ptr_eq(self, other) {
            return true;
        }
        let inside: Vec<Arc<Graph>> =
            self.state.lock().nodes.values().flat_map(|node| node.work.graphs().to_vec()).collect();
        inside.iter().any(|graph| graph.reaches(other))
    }

    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// A number that no other graph of the process has or had.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.state.lock().nodes.len()
    }

    /// Whether it has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_embedded(&self) -> bool {
        self.embedded.load(Ordering::Acquire)
    }
}

impl State {
    fn node(&self, local: u32) -> DriverResult<&Node> {
        self.nodes.get(&local).ok_or_else(node_is_gone)
    }

    fn node_mut(&mut self, local: u32) -> DriverResult<&mut Node> {
        self.nodes.get_mut(&local).ok_or_else(node_is_gone)
    }

    /// Whether it allocates or frees memory, and so can neither be copied nor taken apart.
    fn has_memory_nodes(&self) -> bool {
        self.nodes.values().any(|node| matches!(node.work, Work::Alloc(_) | Work::Free(_)))
    }

    fn refuse_memory_nodes(&self, what: &str) -> DriverResult {
        if self.has_memory_nodes() {
            let reason = format!("a graph with nodes that allocate or free memory cannot be {what}");
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        Ok(())
    }
}

#[cold]
fn node_is_gone() -> DriverError {
    DriverError::invalid_value("the node has been destroyed")
}

impl Driver {
    /// Creates an empty graph.
    ///
    /// # Errors
    /// `InvalidValue` for flags other than 0; `OutOfMemory` if there are no handles left.
    pub fn create_graph(&self, flags: u32) -> DriverResult<Handle> {
        if flags != 0 {
            return Err(DriverError::invalid_value(format!("flags is {flags}, must be 0")));
        }
        Ok(self.new_graph(false, None)?.handle)
    }

    fn new_graph(&self, embedded: bool, root: Option<u32>) -> DriverResult<Arc<Graph>> {
        let id = next_id();
        self.graphs.insert(|handle| Graph {
            handle,
            id,
            root: root.unwrap_or(id),
            embedded: AtomicBool::new(embedded),
            made_for_node: embedded,
            state: Mutex::default(),
        })
    }

    /// Destroys a graph and its nodes. What was instantiated from it goes on.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, and for a graph that belongs to a node.
    pub fn destroy_graph(&self, graph: Handle) -> DriverResult {
        if self.graphs.lookup(graph)?.is_embedded() {
            return Err(DriverError::invalid_value("the graph belongs to a node, which destroys it"));
        }
        let graph = self.graphs.remove(graph)?;
        self.dissolve(&graph);
        Ok(())
    }

    /// Ends the nodes of a graph that is no longer found.
    fn dissolve(&self, graph: &Graph) {
        let nodes = std::mem::take(&mut graph.state.lock().nodes);
        for node in nodes.into_values() {
            self.end_node(node);
        }
        let objects = std::mem::take(&mut graph.state.lock().objects);
        objects.release_all(self);
    }

    /// Ends a node that was taken out of its graph, and the graph that belongs to it.
    fn end_node(&self, node: Node) {
        // Whoever destroys a graph finds all of its nodes in the table.
        let _ = self.graph_nodes.remove(node.handle);
        self.end_graphs(&node.work);
    }

    /// Ends the graphs that belong to work which no node has any more.
    fn end_graphs(&self, work: &Work) {
        for graph in work.graphs() {
            if self.graphs.remove(graph.handle).is_ok() {
                self.dissolve(graph);
            }
        }
    }

    /// The graph of a handle.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles.
    pub fn graph(&self, graph: Handle) -> DriverResult<Arc<Graph>> {
        self.graphs.lookup(graph)
    }

    /// The graph that holds a node, and the node's number in it.
    fn node(&self, node: Handle) -> DriverResult<(Arc<Graph>, u32)> {
        let found = self.graph_nodes.lookup(node)?;
        Ok((found.graph.upgrade().ok_or_else(node_is_gone)?, found.local))
    }

    /// Adds a node that comes after others.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, for nodes of other graphs, and for one that is named twice;
    /// `NotSupported` for a node that allocates or frees memory in a graph that belongs to a node.
    pub fn add_node(&self, graph: Handle, after: &[(Handle, EdgeData)], work: Work) -> DriverResult<Handle> {
        let graph = self.graphs.lookup(graph)?;
        let mut dependencies = Vec::with_capacity(after.len());
        for (node, edge) in after {
            let dependency = Dependency { node: self.local_of(&graph, *node)?, edge: *edge };
            dependency.check(&graph, Some(work.kind()))?;
            if dependencies.iter().any(|known: &Dependency| known.node == dependency.node) {
                return Err(DriverError::invalid_value(format!("the dependency on {node:?} is given twice")));
            }
            dependencies.push(dependency);
        }
        // As recorded, a graph that a conditional node decides on may have such nodes, and is not instantiated.
        let decided_on = graph.root != graph.id;
        if graph.is_embedded() && !decided_on && matches!(work, Work::Alloc(_) | Work::Free(_)) {
            let reason = "a graph that belongs to a node can neither allocate nor free memory";
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        if work.graphs().iter().any(|inner| inner.reaches(&graph)) {
            return Err(DriverError::invalid_value("a graph cannot belong to a node of its own"));
        }
        self.append(&graph, dependencies, work, Handle::NULL)
    }

    /// The number of a node in `graph`.
    fn local_of(&self, graph: &Arc<Graph>, node: Handle) -> DriverResult<u32> {
        let (owner, local) = self.node(node)?;
        if !Arc::ptr_eq(&owner, graph) {
            return Err(DriverError::invalid_value(format!("the node {node:?} belongs to another graph")));
        }
        Ok(local)
    }

    /// Adds a node whose dependencies were checked; in a graph that is recaptured, finds the node whose turn it is.
    fn append(
        &self,
        graph: &Arc<Graph>,
        dependencies: Vec<Dependency>,
        work: Work,
        original: Handle,
    ) -> DriverResult<Handle> {
        if graph.is_recaptured() {
            return self.recapture_node(graph, &dependencies, work);
        }
        let memory = match &work {
            Work::Alloc(alloc) => Some((alloc, self.memory_for(graph, &dependencies, alloc)?)),
            _ => None,
        };
        let mut state = graph.state.lock();
        if let Work::Free(free) = &work
            && state.blocks.is_free(free.address)
        {
            let reason = format!("another node of the graph frees the memory at {:#x}", free.address);
            return Err(DriverError::invalid_value(reason));
        }
        let local = state.next_node;
        if dependencies.iter().any(|dependency| !state.nodes.contains_key(&dependency.node)) {
            return Err(node_is_gone());
        }
        let entry = self.graph_nodes.insert(|handle| NodeRef { handle, graph: Arc::downgrade(graph), local })?;
        for dependency in &dependencies {
            state.node_mut(dependency.node)?.dependents.push(local);
        }
        if let Some((alloc, memory)) = memory {
            state.blocks.allocated(alloc.allocation.get_or_init(|| memory));
        } else if let Work::Free(FreeWork { allocation: Some(allocation), .. }) = &work {
            state.blocks.freed(local, allocation);
        }
        let node = Node { handle: entry.handle, work, dependencies, dependents: Vec::new(), original };
        state.nodes.insert(local, node);
        state.next_node += 1;
        Ok(entry.handle)
    }

    /// The memory of a node that allocates, and is to come after others: what one of them has freed, or more.
    fn memory_for(
        &self,
        graph: &Graph,
        dependencies: &[Dependency],
        wanted: &AllocWork,
    ) -> DriverResult<Arc<GraphAllocation>> {
        let freed = {
            let State { nodes, blocks, .. } = &mut *graph.state.lock();
            blocks.take(nodes, dependencies, wanted)
        };
        // With no lock held: this may wait for memory that streams are about to free.
        freed.map_or_else(|| self.allocate_for_node(wanted), Ok)
    }

    /// Takes a node out of its graph, with all that connects it.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles; `NotSupported` in a graph with memory nodes, and for a node that kernels may change, as recorded.
    pub fn destroy_node(&self, node: Handle) -> DriverResult {
        let (graph, local) = self.node(node)?;
        let mut state = graph.state.lock();
        state.refuse_memory_nodes("taken apart")?;
        if let Work::Kernel(kernel) = &state.node(local)?.work {
            kernel.refuse_updatable("be destroyed")?;
        }
        let node = state.nodes.remove(&local).ok_or_else(node_is_gone)?;
        for dependency in &node.dependencies {
            state.node_mut(dependency.node)?.dependents.retain(|dependent| *dependent != local);
        }
        for dependent in &node.dependents {
            state.node_mut(*dependent)?.dependencies.retain(|dependency| dependency.node != local);
        }
        drop(state);
        self.end_node(node);
        Ok(())
    }

    /// All nodes of a graph, in the order of their creation.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles.
    pub fn nodes_of(&self, graph: Handle) -> DriverResult<Vec<Handle>> {
        Ok(self.graphs.lookup(graph)?.state.lock().nodes.values().map(|node| node.handle).collect())
    }

    /// The nodes of a graph that come after no other.
    ///
    /// # Errors
    /// As [`Driver::nodes_of`].
    pub fn roots_of(&self, graph: Handle) -> DriverResult<Vec<Handle>> {
        let graph = self.graphs.lookup(graph)?;
        let state = graph.state.lock();
        let roots = state.nodes.values().filter(|node| node.dependencies.is_empty());
        Ok(roots.map(|node| node.handle).collect())
    }

    /// What a node does.
    ///
    /// # Errors
    /// As [`Driver::nodes_of`].
    pub fn node_work(&self, node: Handle) -> DriverResult<Work> {
        let (graph, local) = self.node(node)?;
        Ok(graph.state.lock().node(local)?.work.clone())
    }

    /// Gives a node other work of the same kind; a graph that it had ends.
    ///
    /// # Errors
    /// `InvalidValue` for work of another kind, and a graph that would belong to itself; as recorded, `NotSupported` for other graphs in one with memory nodes;
    /// as [`Driver::nodes_of`].
    pub fn set_node_work(&self, node: Handle, work: Work) -> DriverResult {
        let (graph, local) = self.node(node)?;
        if work.graphs().iter().any(|inner| inner.reaches(&graph)) {
            return Err(DriverError::invalid_value("a graph cannot belong to a node of its own"));
        }
        let mut state = graph.state.lock();
        if let Work::Graph(_) = work {
            state.refuse_memory_nodes("given other graphs")?;
        }
        let node = state.node_mut(local)?;
        node.work.check_kind(work.kind())?;
        if matches!(work, Work::Alloc(_) | Work::Free(_) | Work::Conditional(_)) {
            return Err(DriverError::invalid_value(format!("a {} cannot be changed", work.kind().noun())));
        }
        let before = std::mem::replace(&mut node.work, work);
        drop(state);
        self.end_graphs(&before);
        Ok(())
    }

    /// The graph that a node is in.
    ///
    /// # Errors
    /// As [`Driver::nodes_of`].
    pub fn graph_of_node(&self, node: Handle) -> DriverResult<Arc<Graph>> {
        Ok(self.node(node)?.0)
    }

    /// The number of a node in its graph.
    ///
    /// # Errors
    /// As [`Driver::nodes_of`].
    pub fn node_number(&self, node: Handle) -> DriverResult<u32> {
        Ok(self.node(node)?.1)
    }
}
