//! Nodes with a graph of their own, and empty ones.
use warploom_abi::{CUgraph, CUgraphExec, CUgraphNode};
use warploom_driver::Handle;
use warploom_driver::graph::Work;

use super::{add, graph_handle, node_handle};
use crate::border::{ApiResult, InArray, Out};
use crate::process::driver;

pub(crate) fn cuGraphAddChildGraphNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    childGraph: CUgraph,
) -> ApiResult {
    let work = |driver: &warploom_driver::Driver| driver.graph_work(graph_handle(childGraph));
    add(phGraphNode, hGraph, &dependencies, numDependencies, work)
}

pub(crate) fn cuGraphChildGraphNodeGetGraph(hNode: CUgraphNode, phGraph: Out<'_, CUgraph>) -> ApiResult {
    let place = phGraph.required("phGraph")?;
    place.set(CUgraph(driver()?.graph_in_node(node_handle(hNode))?.raw()));
    Ok(())
}

pub(crate) fn cuGraphExecChildGraphNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    childGraph: CUgraph,
) -> ApiResult {
    driver()?.set_exec_graph(Handle::from_raw(hGraphExec.0), node_handle(hNode), graph_handle(childGraph))
}

pub(crate) fn cuGraphAddEmptyNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
) -> ApiResult {
    add(phGraphNode, hGraph, &dependencies, numDependencies, |_| Ok(Work::Empty))
}
