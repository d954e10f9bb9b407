//! Graph management. What takes and gives lists of nodes and edges is here; the groups of functions are in files of their own.
pub(crate) mod batch;
pub(crate) mod child;
pub(crate) mod conditional;
mod copies;
pub(crate) mod dependency;
pub(crate) mod event;
pub(crate) mod exec;
pub(crate) mod external_semaphore;
pub(crate) mod host;
pub(crate) mod kernel;
pub(crate) mod memcpy;
pub(crate) mod memory;
pub(crate) mod memset;
pub(crate) mod node;
pub(crate) mod structure;
pub(crate) mod user_object;

use warploom_abi::{CUcontext, CUgraph, CUgraphEdgeData, CUgraphNode};
use warploom_driver::graph::{EdgeData, Work};
use warploom_driver::{Driver, DriverError, DriverResult, Handle};

use crate::border::{ApiResult, InArray, InOut, Out, OutArray};
use crate::process::driver;

fn graph_handle(graph: CUgraph) -> Handle {
    Handle::from_raw(graph.0)
}

fn node_handle(node: CUgraphNode) -> Handle {
    Handle::from_raw(node.0)
}

/// The address of a list that belongs to a node.
fn list<T>(values: &[T]) -> *mut T {
    std::ptr::with_exposed_provenance_mut(values.as_ptr().expose_provenance())
}

/// What an edge says.
fn edge(data: &CUgraphEdgeData) -> EdgeData {
    const { assert!(size_of::<EdgeData>() == size_of::<CUgraphEdgeData>()) };
    EdgeData { from_port: data.from_port, to_port: data.to_port, kind: data.r#type, reserved: data.reserved }
}

/// The structure for what an edge says.
fn edge_data(edge: EdgeData) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port: edge.from_port, to_port: edge.to_port, r#type: edge.kind, reserved: edge.reserved }
}

/// A list of edge data, or full dependencies if there is none.
fn edges(data: &InArray<'_, CUgraphEdgeData>, count: usize) -> DriverResult<Vec<EdgeData>> {
    if data.is_null() {
        return Ok(vec![EdgeData::default(); count]);
    }
    Ok(data.get(count, "edgeData")?.iter().map(edge).collect())
}

/// A list of nodes of a graph, with what the edges to them say. A list that is longer than the graph names a node twice, and
/// is not read.
pub(super) fn nodes(
    graph: Handle,
    list: &InArray<'_, CUgraphNode>,
    data: &InArray<'_, CUgraphEdgeData>,
    count: usize,
) -> DriverResult<Vec<(Handle, EdgeData)>> {
    let most = driver()?.graph(graph)?.len();
    if count > most {
        return Err(DriverError::invalid_value(format!("{count} nodes are named of a graph that has {most}")));
    }
    let nodes = list.get(count, "dependencies")?;
    Ok(nodes.into_iter().map(node_handle).zip(edges(data, count)?).collect())
}

/// Writes a list where the caller has room for so many elements as the count says. What is left of the room is cleared, and the
/// count is then the number of elements. Without a list only the count is told; one without room is refused, as recorded.
fn give_list<T: Copy + Default>(list: &OutArray<'_, T>, count: &InOut<'_, usize>, values: &[T]) -> ApiResult {
    let room = count.get("the count")?;
    if list.is_null() {
        count.set(values.len());
        return Ok(());
    }
    if room == 0 {
        return Err(DriverError::invalid_value("a list without room for any element"));
    }
    list.write("the list", room, values)?;
    for index in values.len()..room {
        list.set(index, T::default());
    }
    count.set(values.len().min(room));
    Ok(())
}

fn give_nodes(list: &OutArray<'_, CUgraphNode>, count: &InOut<'_, usize>, nodes: &[Handle]) -> ApiResult {
    let nodes: Vec<CUgraphNode> = nodes.iter().map(|node| CUgraphNode(node.raw())).collect();
    give_list(list, count, &nodes)
}

/// Adds a node with full dependencies. `work` is made when the graph is known to live.
fn add(
    place: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: &InArray<'_, CUgraphNode>,
    count: usize,
    work: impl FnOnce(&Driver) -> DriverResult<Work>,
) -> ApiResult {
    add_after(place, graph, || nodes(graph_handle(graph), dependencies, &InArray::none(), count), work)
}

/// Adds a node.
fn add_after(
    place: Out<'_, CUgraphNode>,
    graph: CUgraph,
    after: impl FnOnce() -> DriverResult<Vec<(Handle, EdgeData)>>,
    work: impl FnOnce(&Driver) -> DriverResult<Work>,
) -> ApiResult {
    let place = place.required("phGraphNode")?;
    let driver = driver()?;
    driver.graph(graph_handle(graph))?;
    // As recorded, what a node does is looked at before what it comes behind.
    let work = work(driver)?;
    let node = after()
        .and_then(|after| driver.add_node(graph_handle(graph), &after, work.clone()))
        .inspect_err(|_| driver.discard_work(work))?;
    place.set(CUgraphNode(node.raw()));
    Ok(())
}

/// The context that a node is to run in, which makes no difference here once it is known to live. NULL is the calling thread's.
fn check_context(driver: &Driver, context: CUcontext) -> ApiResult {
    driver.context_or_current(Handle::from_raw(context.0)).map(|_| ())
}

/// What a node of another kind answers.
#[cold]
fn other_kind(work: &Work) -> DriverError {
    DriverError::invalid_value(format!("the node is a {}", work.kind().noun()))
}
