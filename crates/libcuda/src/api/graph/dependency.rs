//! Edges. The second ABI versions tell what an edge says; without room for that, an edge that says more than its nodes is an error.
use warploom_abi::{CUgraph, CUgraphEdgeData, CUgraphNode};
use warploom_driver::graph::EdgeData;
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::{edge_data, edges, give_list, give_nodes, graph_handle, node_handle};
use crate::border::{ApiResult, InArray, InOut, OutArray};
use crate::process::driver;

/// Writes what edges say, or fails if that would be lost.
fn give_edge_data(
    data: Option<&OutArray<'_, CUgraphEdgeData>>,
    count: &InOut<'_, usize>,
    given: &[EdgeData],
    wanted: bool,
) -> ApiResult {
    match data.filter(|data| !data.is_null()) {
        Some(data) => {
            let values: Vec<CUgraphEdgeData> = given.iter().copied().map(edge_data).collect();
            let room = count.get("the count")?;
            data.write("edgeData", room, &values)?;
            for index in values.len()..room {
                data.set(index, CUgraphEdgeData::default());
            }
            Ok(())
        }
        None if wanted && given.iter().any(|edge| *edge != EdgeData::default()) => {
            let reason = "edges say more than which nodes they connect, and there is no room for that";
            Err(DriverError::new(ErrorCode::LossyQuery, reason))
        }
        None => Ok(()),
    }
}

fn all_edges(
    graph: CUgraph,
    from: &OutArray<'_, CUgraphNode>,
    to: &OutArray<'_, CUgraphNode>,
    data: Option<&OutArray<'_, CUgraphEdgeData>>,
    count: &InOut<'_, usize>,
) -> ApiResult {
    let edges = driver()?.edges_of(graph_handle(graph))?;
    if from.is_null() != to.is_null() {
        return Err(DriverError::invalid_value("one of from and to is NULL"));
    }
    let given: Vec<EdgeData> = edges.iter().map(|(_, _, edge)| *edge).collect();
    give_edge_data(data, count, &given, !from.is_null())?;
    let first: Vec<CUgraphNode> = edges.iter().map(|(from, _, _)| CUgraphNode(from.raw())).collect();
    let room = count.get("numEdges")?;
    from.write("from", if from.is_null() { 0 } else { room }, &first)?;
    for index in first.len()..room {
        from.set(index, CUgraphNode::NULL);
    }
    let second: Vec<CUgraphNode> = edges.iter().map(|(_, to, _)| CUgraphNode(to.raw())).collect();
    give_list(to, count, &second)
}

pub(crate) fn cuGraphGetEdges(
    hGraph: CUgraph,
    from: OutArray<'_, CUgraphNode>,
    to: OutArray<'_, CUgraphNode>,
    numEdges: InOut<'_, usize>,
) -> ApiResult {
    all_edges(hGraph, &from, &to, None, &numEdges)
}

pub(crate) fn cuGraphGetEdges_v2(
    hGraph: CUgraph,
    from: OutArray<'_, CUgraphNode>,
    to: OutArray<'_, CUgraphNode>,
    edgeData: OutArray<'_, CUgraphEdgeData>,
    numEdges: InOut<'_, usize>,
) -> ApiResult {
    all_edges(hGraph, &from, &to, Some(&edgeData), &numEdges)
}

/// The nodes on one side of a node.
fn neighbours(
    found: Vec<(Handle, EdgeData)>,
    list: &OutArray<'_, CUgraphNode>,
    data: Option<&OutArray<'_, CUgraphEdgeData>>,
    count: &InOut<'_, usize>,
) -> ApiResult {
    let (nodes, given): (Vec<Handle>, Vec<EdgeData>) = found.into_iter().unzip();
    give_edge_data(data, count, &given, !list.is_null())?;
    give_nodes(list, count, &nodes)
}

pub(crate) fn cuGraphNodeGetDependencies(
    hNode: CUgraphNode,
    dependencies: OutArray<'_, CUgraphNode>,
    numDependencies: InOut<'_, usize>,
) -> ApiResult {
    neighbours(driver()?.dependencies_of(node_handle(hNode))?, &dependencies, None, &numDependencies)
}

pub(crate) fn cuGraphNodeGetDependencies_v2(
    hNode: CUgraphNode,
    dependencies: OutArray<'_, CUgraphNode>,
    edgeData: OutArray<'_, CUgraphEdgeData>,
    numDependencies: InOut<'_, usize>,
) -> ApiResult {
    neighbours(driver()?.dependencies_of(node_handle(hNode))?, &dependencies, Some(&edgeData), &numDependencies)
}

pub(crate) fn cuGraphNodeGetDependentNodes(
    hNode: CUgraphNode,
    dependentNodes: OutArray<'_, CUgraphNode>,
    numDependentNodes: InOut<'_, usize>,
) -> ApiResult {
    neighbours(driver()?.dependents_of(node_handle(hNode))?, &dependentNodes, None, &numDependentNodes)
}

pub(crate) fn cuGraphNodeGetDependentNodes_v2(
    hNode: CUgraphNode,
    dependentNodes: OutArray<'_, CUgraphNode>,
    edgeData: OutArray<'_, CUgraphEdgeData>,
    numDependentNodes: InOut<'_, usize>,
) -> ApiResult {
    neighbours(driver()?.dependents_of(node_handle(hNode))?, &dependentNodes, Some(&edgeData), &numDependentNodes)
}

/// Edges as pairs of nodes, with what they say. A list that is longer than a graph can have edges is not read.
fn given_edges(
    graph: CUgraph,
    from: &InArray<'_, CUgraphNode>,
    to: &InArray<'_, CUgraphNode>,
    data: &InArray<'_, CUgraphEdgeData>,
    count: usize,
) -> DriverResult<Vec<(Handle, Handle, EdgeData)>> {
    let nodes = driver()?.graph(graph_handle(graph))?.len();
    if count > nodes.saturating_mul(nodes) {
        let reason = format!("{count} dependencies are named in a graph that has {nodes} nodes");
        return Err(DriverError::invalid_value(reason));
    }
    let ends = from.get(count, "from")?.into_iter().zip(to.get(count, "to")?);
    Ok(ends.zip(edges(data, count)?).map(|((from, to), edge)| (node_handle(from), node_handle(to), edge)).collect())
}

pub(crate) fn cuGraphAddDependencies(
    hGraph: CUgraph,
    from: InArray<'_, CUgraphNode>,
    to: InArray<'_, CUgraphNode>,
    numDependencies: usize,
) -> ApiResult {
    cuGraphAddDependencies_v2(hGraph, from, to, InArray::none(), numDependencies)
}

pub(crate) fn cuGraphAddDependencies_v2(
    hGraph: CUgraph,
    from: InArray<'_, CUgraphNode>,
    to: InArray<'_, CUgraphNode>,
    edgeData: InArray<'_, CUgraphEdgeData>,
    numDependencies: usize,
) -> ApiResult {
    let edges = given_edges(hGraph, &from, &to, &edgeData, numDependencies)?;
    driver()?.add_dependencies(graph_handle(hGraph), &edges)
}

pub(crate) fn cuGraphRemoveDependencies(
    hGraph: CUgraph,
    from: InArray<'_, CUgraphNode>,
    to: InArray<'_, CUgraphNode>,
    numDependencies: usize,
) -> ApiResult {
    cuGraphRemoveDependencies_v2(hGraph, from, to, InArray::none(), numDependencies)
}

pub(crate) fn cuGraphRemoveDependencies_v2(
    hGraph: CUgraph,
    from: InArray<'_, CUgraphNode>,
    to: InArray<'_, CUgraphNode>,
    edgeData: InArray<'_, CUgraphEdgeData>,
    numDependencies: usize,
) -> ApiResult {
    let known = !edgeData.is_null();
    let edges = given_edges(hGraph, &from, &to, &edgeData, numDependencies)?;
    let edges: Vec<_> = edges.into_iter().map(|(from, to, edge)| (from, to, known.then_some(edge))).collect();
    driver()?.remove_dependencies(graph_handle(hGraph), &edges)
}
