//! What comes after what: the edges of a graph.
use super::{Driver, DriverError, DriverResult, ErrorCode, Graph, Handle, NodeKind};

/// What an edge says beyond that one node comes after the other (`CUgraphEdgeData`); all zero says nothing more.
/// Laid out as programs read lists of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EdgeData {
    /// When in the node that comes first the other may start: 0 at its end, for kernels also 1 and 2.
    pub from_port: u8,
    /// Must be 0.
    pub to_port: u8,
    /// 0 for a full dependency, 1 for one that a kernel resolves itself.
    pub kind: u8,
    /// Must be 0.
    pub reserved: [u8; 5],
}

/// One edge, at the node that comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The node that comes first.
    pub(super) node: u32,
    pub(super) edge: EdgeData,
}

impl Dependency {
    /// Whether there can be such an edge in a graph, to a node of the kind `to`, if that is known. A kernel that resolves a dependency itself does so by its end
    /// at the latest, which is when nodes that depend on it start here.
    pub(super) fn check(&self, graph: &Graph, to: Option<NodeKind>) -> DriverResult {
        let EdgeData { from_port, to_port, kind, reserved } = self.edge;
        let no_edge = |why: &str| Err(DriverError::invalid_value(format!("{:?}: {why}", self.edge)));
        match (from_port, kind) {
            _ if to_port != 0 || reserved != [0; 5] => return no_edge("to_port and reserved members must be 0"),
            (0, 0) => return Ok(()),
            (1 | 2, 1) | (2, 0) => {}
            _ => return no_edge("from_port and type do not go together"),
        }
        if graph.state.lock().node(self.node)?.work.kind() != NodeKind::Kernel {
            return no_edge("only a kernel is waited for before its end");
        }
        if kind == 1 && to.is_some_and(|to| to != NodeKind::Kernel) {
            return no_edge("only a kernel resolves a dependency itself");
        }
        Ok(())
    }
}

impl Driver {
    /// All edges of a graph: the node that comes first, the one that comes later, and what the edge says; in the order of the
    /// nodes that come first, as recorded.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles.
    pub fn edges_of(&self, graph: Handle) -> DriverResult<Vec<(Handle, Handle, EdgeData)>> {
        let graph = self.graphs.lookup(graph)?;
        let state = graph.state.lock();
        let mut edges = Vec::new();
        for (local, node) in &state.nodes {
            for later in &node.dependents {
                let later = state.node(*later)?;
                let between = later.dependencies.iter().filter(|dependency| dependency.node == *local);
                edges.extend(between.map(|dependency| (node.handle, later.handle, dependency.edge)));
            }
        }
        Ok(edges)
    }

    /// The nodes that a node comes after.
    ///
    /// # Errors
    /// As [`Driver::edges_of`].
    pub fn dependencies_of(&self, node: Handle) -> DriverResult<Vec<(Handle, EdgeData)>> {
        let (graph, local) = self.node(node)?;
        let state = graph.state.lock();
        let dependencies = &state.node(local)?.dependencies;
        dependencies.iter().map(|dependency| Ok((state.node(dependency.node)?.handle, dependency.edge))).collect()
    }

    /// The nodes that come after a node.
    ///
    /// # Errors
    /// As [`Driver::edges_of`].
    pub fn dependents_of(&self, node: Handle) -> DriverResult<Vec<(Handle, EdgeData)>> {
        let (graph, local) = self.node(node)?;
        let state = graph.state.lock();
        let mut dependents = Vec::new();
        for later in &state.node(local)?.dependents {
            let later = state.node(*later)?;
            let edges = later.dependencies.iter().filter(|dependency| dependency.node == local);
            dependents.extend(edges.map(|dependency| (later.handle, dependency.edge)));
        }
        Ok(dependents)
    }

    /// Adds edges: the node that comes first, the one that comes later, and what the edge says. All or none are added.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, nodes of other graphs, a node that would come after itself, and an
    /// edge that is there already.
    pub fn add_dependencies(&self, graph: Handle, edges: &[(Handle, Handle, EdgeData)]) -> DriverResult {
        let graph = self.graphs.lookup(graph)?;
        let mut locals = Vec::with_capacity(edges.len());
        for (from, to, edge) in edges {
            let dependency = Dependency { node: self.local_of(&graph, *from)?, edge: *edge };
            let to = self.local_of(&graph, *to)?;
            let kind = graph.state.lock().node(to)?.work.kind();
            dependency.check(&graph, Some(kind))?;
            if dependency.node == to {
                return Err(DriverError::invalid_value("a node cannot come after itself"));
            }
            locals.push((dependency, to));
        }
        let mut state = graph.state.lock();
        for (index, (dependency, to)) in locals.iter().enumerate() {
            let known = state.node(*to)?.dependencies.iter().any(|known| known.node == dependency.node);
            let twice = locals.iter().take(index).any(|(other, later)| other.node == dependency.node && later == to);
            if known || twice {
                return Err(DriverError::invalid_value("the dependency is there already"));
            }
        }
        for (dependency, to) in locals {
            state.node_mut(to)?.dependencies.push(dependency);
            state.node_mut(dependency.node)?.dependents.push(to);
        }
        Ok(())
    }

    /// Removes edges, whatever they say where that is left open. All or none are removed.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, nodes of other graphs, and an edge that is not there;
    /// `NotSupported` in a graph with memory nodes.
    pub fn remove_dependencies(&self, graph: Handle, edges: &[(Handle, Handle, Option<EdgeData>)]) -> DriverResult {
        let graph = self.graphs.lookup(graph)?;
        let locals = edges
            .iter()
            .map(|(from, to, edge)| Ok((self.local_of(&graph, *from)?, *edge, self.local_of(&graph, *to)?)));
        let locals = locals.collect::<DriverResult<Vec<_>>>()?;
        let mut state = graph.state.lock();
        if !locals.is_empty() && state.has_memory_nodes() {
            let reason = "dependencies of a graph with nodes that allocate or free memory stay";
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        for (from, edge, to) in &locals {
            let is_it = |known: &Dependency| known.node == *from && edge.is_none_or(|edge| known.edge == edge);
            if !state.node(*to)?.dependencies.iter().any(is_it) {
                return Err(DriverError::invalid_value("there is no such dependency"));
            }
        }
        for (from, _, to) in locals {
            state.node_mut(to)?.dependencies.retain(|known| known.node != from);
            state.node_mut(from)?.dependents.retain(|later| *later != to);
        }
        Ok(())
    }
}
