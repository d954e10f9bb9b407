//! Copies of graphs, and graphs that belong to a node.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Driver, DriverError, DriverResult, ErrorCode, Graph, Handle, Node, NodeRef, State, Work};

impl State {
    /// Whether there are conditions, used or not, in the graph or one of its nodes'.
    fn has_conditions(&self) -> bool {
        let inside = |work: &Work| match work {
            Work::Conditional(_) => true,
            work => work.graphs().iter().any(|graph| graph.state.lock().has_conditions()),
        };
        !self.conditions.is_empty() || self.nodes.values().any(|node| inside(&node.work))
    }

    /// Fails for a graph with conditions: as recorded, it is neither copied nor part of another.
    fn refuse_conditions(&self) -> DriverResult {
        if self.has_conditions() {
            let reason = "a graph with conditions is neither cloned nor put into another";
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        Ok(())
    }
}

impl Driver {
    /// Copies a graph with all that belongs to its nodes. What a node does is not copied: both call the same functions.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles; `NotSupported` for a graph with memory nodes, nodes that kernels may change, or conditions.
    pub fn clone_graph(&self, graph: Handle) -> DriverResult<Handle> {
        let graph = self.graphs.lookup(graph)?;
        graph.state.lock().refuse_memory_nodes("cloned")?;
        graph.state.lock().refuse_updatable("be cloned")?;
        graph.state.lock().refuse_conditions()?;
        Ok(self.copy_graph(&graph, false)?.handle)
    }

    /// Copies a graph; whether its nodes may be copied has been decided.
    fn copy_graph(&self, graph: &Graph, embedded: bool) -> DriverResult<Arc<Graph>> {
        let copy = self.new_graph(embedded, None)?;
        let filled = self.fill_copy(&copy, &graph.state.lock());
        if let Err(error) = filled {
            // Nobody else has its handle.
            let _ = self.graphs.remove(copy.handle);
            self.dissolve(&copy);
            return Err(error);
        }
        Ok(copy)
    }

    fn fill_copy(&self, copy: &Arc<Graph>, from: &State) -> DriverResult {
        let mut state = copy.state.lock();
        state.next_node = from.next_node;
        state.objects = from.objects.shared();
        for (local, node) in &from.nodes {
            let work = match &node.work {
                Work::Graph(graph) => Work::Graph(self.copy_graph(graph, true)?),
                work => work.clone(),
            };
            let entry =
                self.graph_nodes.insert(|handle| NodeRef { handle, graph: Arc::downgrade(copy), local: *local })?;
            let node = Node {
                handle: entry.handle,
                work,
                dependencies: node.dependencies.clone(),
                dependents: node.dependents.clone(),
                original: node.handle,
            };
            state.nodes.insert(*local, node);
        }
        Ok(())
    }

    /// The node of a copy that a node of the original became.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, and if `copy` is not a copy of the node's graph.
    pub fn find_in_clone(&self, node: Handle, copy: Handle) -> DriverResult<Handle> {
        self.node(node)?;
        let copy = self.graphs.lookup(copy)?;
        let state = copy.state.lock();
        let found = state.nodes.values().find(|candidate| candidate.original == node);
        found
            .map(|node| node.handle)
            .ok_or_else(|| DriverError::invalid_value("the graph is not a copy of the one that the node is in"))
    }

    /// The work of a node that runs a copy of a graph.
    ///
    /// # Errors
    /// As [`Driver::clone_graph`].
    pub fn graph_work(&self, graph: Handle) -> DriverResult<Work> {
        let graph = self.graphs.lookup(graph)?;
        graph.state.lock().refuse_memory_nodes("put into another")?;
        graph.state.lock().refuse_updatable("be copied into another graph")?;
        graph.state.lock().refuse_conditions()?;
        Ok(Work::Graph(self.copy_graph(&graph, true)?))
    }

    /// The work of a node that runs the graph itself, which belongs to the node from then on.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, and for a graph that belongs to a node already; `NotSupported` for one with conditions.
    pub fn moved_graph_work(&self, graph: Handle) -> DriverResult<Work> {
        let graph = self.graphs.lookup(graph)?;
        graph.state.lock().refuse_conditions()?;
        if graph.embedded.swap(true, Ordering::AcqRel) {
            return Err(DriverError::invalid_value("the graph belongs to a node already"));
        }
        Ok(Work::Graph(graph))
    }

    /// Ends work that found no node after all. A graph that was to be moved is the program's again.
    pub fn discard_work(&self, work: Work) {
        for graph in work.graphs() {
            if !graph.made_for_node {
                graph.embedded.store(false, Ordering::Release);
            } else if self.graphs.remove(graph.handle).is_ok() {
                self.dissolve(graph);
            }
        }
    }

    /// The graph that belongs to a node.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles, and for nodes of another kind.
    pub fn graph_in_node(&self, node: Handle) -> DriverResult<Handle> {
        match self.node_work(node)? {
            Work::Graph(graph) => Ok(graph.handle),
            work => Err(DriverError::invalid_value(format!("the node is a {}, not a graph", work.kind().noun()))),
        }
    }
}
