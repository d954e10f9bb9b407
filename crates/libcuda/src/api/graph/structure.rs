//! Graphs and their nodes as such: creation, copies, lists, numbers.
use std::os::unix::ffi::OsStrExt as _;

use warploom_abi::{CUgraph, CUgraphExec, CUgraphNode, CUgraphNodeType};
use warploom_driver::Handle;

use super::{give_nodes, graph_handle, node_handle};
use crate::border::{ApiResult, InOut, InStr, Out, OutArray};
use crate::process::driver;

pub(crate) fn cuGraphCreate(phGraph: Out<'_, CUgraph>, flags: u32) -> ApiResult {
    let place = phGraph.required("phGraph")?;
    place.set(CUgraph(driver()?.create_graph(flags)?.raw()));
    Ok(())
}

pub(crate) fn cuGraphDestroy(hGraph: CUgraph) -> ApiResult {
    driver()?.destroy_graph(graph_handle(hGraph))
}

pub(crate) fn cuGraphDestroyNode(hNode: CUgraphNode) -> ApiResult {
    driver()?.destroy_node(node_handle(hNode))
}

pub(crate) fn cuGraphClone(phGraphClone: Out<'_, CUgraph>, originalGraph: CUgraph) -> ApiResult {
    let place = phGraphClone.required("phGraphClone")?;
    place.set(CUgraph(driver()?.clone_graph(graph_handle(originalGraph))?.raw()));
    Ok(())
}

pub(crate) fn cuGraphNodeFindInClone(
    phNode: Out<'_, CUgraphNode>,
    hOriginalNode: CUgraphNode,
    hClonedGraph: CUgraph,
) -> ApiResult {
    let place = phNode.required("phNode")?;
    let node = driver()?.find_in_clone(node_handle(hOriginalNode), graph_handle(hClonedGraph))?;
    place.set(CUgraphNode(node.raw()));
    Ok(())
}

pub(crate) fn cuGraphNodeGetType(hNode: CUgraphNode, r#type: Out<'_, CUgraphNodeType>) -> ApiResult {
    let place = r#type.required("type")?;
    place.set(CUgraphNodeType(driver()?.node_work(node_handle(hNode))?.kind().number()));
    Ok(())
}

pub(crate) fn cuGraphNodeGetContainingGraph(hNode: CUgraphNode, phGraph: Out<'_, CUgraph>) -> ApiResult {
    let place = phGraph.required("phGraph")?;
    place.set(CUgraph(driver()?.graph_of_node(node_handle(hNode))?.handle().raw()));
    Ok(())
}

pub(crate) fn cuGraphNodeGetLocalId(hNode: CUgraphNode, nodeId: Out<'_, u32>) -> ApiResult {
    let place = nodeId.required("nodeId")?;
    place.set(driver()?.node_number(node_handle(hNode))?);
    Ok(())
}

/// A number that no other node has: the graph's and the node's in it.
pub(crate) fn cuGraphNodeGetToolsId(hNode: CUgraphNode, toolsNodeId: Out<'_, u64>) -> ApiResult {
    let place = toolsNodeId.required("toolsNodeId")?;
    let (driver, node) = (driver()?, node_handle(hNode));
    place.set(u64::from(driver.graph_of_node(node)?.id()) << 32 | u64::from(driver.node_number(node)?));
    Ok(())
}

pub(crate) fn cuGraphGetId(hGraph: CUgraph, graphId: Out<'_, u32>) -> ApiResult {
    let place = graphId.required("graphId")?;
    place.set(driver()?.graph(graph_handle(hGraph))?.id());
    Ok(())
}

pub(crate) fn cuGraphExecGetId(hGraphExec: CUgraphExec, graphId: Out<'_, u32>) -> ApiResult {
    let place = graphId.required("graphId")?;
    place.set(driver()?.graph_exec(Handle::from_raw(hGraphExec.0))?.id());
    Ok(())
}

pub(crate) fn cuGraphGetNodes(
    hGraph: CUgraph,
    nodes: OutArray<'_, CUgraphNode>,
    numNodes: InOut<'_, usize>,
) -> ApiResult {
    give_nodes(&nodes, &numNodes, &driver()?.nodes_of(graph_handle(hGraph))?)
}

pub(crate) fn cuGraphGetRootNodes(
    hGraph: CUgraph,
    rootNodes: OutArray<'_, CUgraphNode>,
    numRootNodes: InOut<'_, usize>,
) -> ApiResult {
    give_nodes(&rootNodes, &numRootNodes, &driver()?.roots_of(graph_handle(hGraph))?)
}

pub(crate) fn cuGraphDebugDotPrint(hGraph: CUgraph, path: InStr<'_>, flags: u32) -> ApiResult {
    let path = path.get("path")?;
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    driver()?.print_graph(graph_handle(hGraph), path, flags)
}
