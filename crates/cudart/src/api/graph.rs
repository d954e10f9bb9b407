//! Graph management: graphs, their nodes and edges.
use std::ffi::{c_char, c_void};

use warploom_abi::runtime::*;
use warploom_abi::{CUgraphMem_attribute, CUhostFn};

use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaGraphCreate(pGraph: Passed<'_, cudaGraph_t>, flags: u32) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphCreate_v10000(pGraph.get(), flags))
}

pub fn cudaGraphDestroy(graph: cudaGraph_t) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphDestroy_v10000(graph))
}

pub fn cudaGraphClone(pGraphClone: Passed<'_, cudaGraph_t>, originalGraph: cudaGraph_t) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphClone_v10000(pGraphClone.get(), originalGraph))
}

pub fn cudaGraphNodeFindInClone(
    pNode: Passed<'_, cudaGraphNode_t>,
    originalNode: cudaGraphNode_t,
    clonedGraph: cudaGraph_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeFindInClone_v10000(pNode.get(), originalNode, clonedGraph))
}

pub fn cudaGraphNodeGetType(node: cudaGraphNode_t, pType: Passed<'_, cudaGraphNodeType>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetType_v10000(node, pType.cast()))
}

pub fn cudaGraphGetNodes(
    graph: cudaGraph_t,
    nodes: Passed<'_, cudaGraphNode_t>,
    numNodes: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphGetNodes_v10000(graph, nodes.get(), numNodes.get()))
}

pub fn cudaGraphGetRootNodes(
    graph: cudaGraph_t,
    pRootNodes: Passed<'_, cudaGraphNode_t>,
    pNumRootNodes: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphGetRootNodes_v10000(graph, pRootNodes.get(), pNumRootNodes.get()))
}

pub fn cudaGraphGetEdges(
    graph: cudaGraph_t,
    from: Passed<'_, cudaGraphNode_t>,
    to: Passed<'_, cudaGraphNode_t>,
    numEdges: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphGetEdges_v10000(graph, from.get(), to.get(), numEdges.get()))
}

pub fn cudaGraphGetEdges_v2(
    graph: cudaGraph_t,
    from: Passed<'_, cudaGraphNode_t>,
    to: Passed<'_, cudaGraphNode_t>,
    edgeData: Passed<'_, cudaGraphEdgeData>,
    numEdges: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphGetEdges_v12030(graph, from.get(), to.get(), edgeData.cast(), numEdges.get()))
}

pub fn cudaGraphNodeGetDependencies(
    node: cudaGraphNode_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    pNumDependencies: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetDependencies_v10000(node, pDependencies.get(), pNumDependencies.get()))
}

pub fn cudaGraphNodeGetDependencies_v2(
    node: cudaGraphNode_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    edgeData: Passed<'_, cudaGraphEdgeData>,
    pNumDependencies: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetDependencies_v12030(node, pDependencies.get(), edgeData.cast(), pNumDependencies.get()))
}

pub fn cudaGraphNodeGetDependentNodes(
    node: cudaGraphNode_t,
    pDependentNodes: Passed<'_, cudaGraphNode_t>,
    pNumDependentNodes: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetDependentNodes_v10000(node, pDependentNodes.get(), pNumDependentNodes.get()))
}

pub fn cudaGraphNodeGetDependentNodes_v2(
    node: cudaGraphNode_t,
    pDependentNodes: Passed<'_, cudaGraphNode_t>,
    edgeData: Passed<'_, cudaGraphEdgeData>,
    pNumDependentNodes: Passed<'_, usize>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetDependentNodes_v12030(node, pDependentNodes.get(), edgeData.cast(), pNumDependentNodes.get()))
}

pub fn cudaGraphAddDependencies(
    graph: cudaGraph_t,
    from: Passed<'_, cudaGraphNode_t>,
    to: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphAddDependencies_v10000(graph, from.get(), to.get(), numDependencies))
}

pub fn cudaGraphAddDependencies_v2(
    graph: cudaGraph_t,
    from: Passed<'_, cudaGraphNode_t>,
    to: Passed<'_, cudaGraphNode_t>,
    edgeData: Passed<'_, cudaGraphEdgeData>,
    numDependencies: usize,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphAddDependencies_v12030(graph, from.get(), to.get(), edgeData.cast(), numDependencies))
}

pub fn cudaGraphRemoveDependencies(
    graph: cudaGraph_t,
    from: Passed<'_, cudaGraphNode_t>,
    to: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphRemoveDependencies_v10000(graph, from.get(), to.get(), numDependencies))
}

pub fn cudaGraphRemoveDependencies_v2(
    graph: cudaGraph_t,
    from: Passed<'_, cudaGraphNode_t>,
    to: Passed<'_, cudaGraphNode_t>,
    edgeData: Passed<'_, cudaGraphEdgeData>,
    numDependencies: usize,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphRemoveDependencies_v12030(graph, from.get(), to.get(), edgeData.cast(), numDependencies))
}

pub fn cudaGraphDestroyNode(node: cudaGraphNode_t) -> ApiResult {
    context::devices()?;
    driver!(cuGraphDestroyNode_v10000(node))
}

pub fn cudaGraphDebugDotPrint(graph: cudaGraph_t, path: Passed<'_, c_char>, flags: u32) -> ApiResult {
    context::devices()?;
    driver!(cuGraphDebugDotPrint_v11030(graph, path.get(), flags))
}

pub fn cudaGraphNodeGetContainingGraph(hNode: cudaGraphNode_t, phGraph: Passed<'_, cudaGraph_t>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetContainingGraph_v13010(hNode, phGraph.get()))
}

pub fn cudaGraphNodeGetLocalId(hNode: cudaGraphNode_t, nodeId: Passed<'_, u32>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetLocalId_v13010(hNode, nodeId.get()))
}

pub fn cudaGraphNodeGetToolsId(hNode: cudaGraphNode_t, toolsNodeId: Passed<'_, u64>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetToolsId_v13010(hNode, toolsNodeId.get()))
}

pub fn cudaGraphGetId(hGraph: cudaGraph_t, graphID: Passed<'_, u32>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphGetId_v13010(hGraph, graphID.get()))
}

pub fn cudaGraphExecGetId(hGraphExec: cudaGraphExec_t, graphID: Passed<'_, u32>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecGetId_v13010(hGraphExec, graphID.get()))
}

pub fn cudaUserObjectCreate(
    object_out: Passed<'_, cudaUserObject_t>,
    ptr: Passed<'_, c_void>,
    destroy: cudaHostFn_t,
    initialRefcount: u32,
    flags: u32,
) -> ApiResult {
    context::devices()?;
    driver!(cuUserObjectCreate_v11030(object_out.get(), ptr.get(), CUhostFn(destroy.0), initialRefcount, flags))
}

pub fn cudaUserObjectRetain(object: cudaUserObject_t, count: u32) -> ApiResult {
    context::devices()?;
    driver!(cuUserObjectRetain_v11030(object, count))
}

pub fn cudaUserObjectRelease(object: cudaUserObject_t, count: u32) -> ApiResult {
    context::devices()?;
    driver!(cuUserObjectRelease_v11030(object, count))
}

pub fn cudaGraphRetainUserObject(graph: cudaGraph_t, object: cudaUserObject_t, count: u32, flags: u32) -> ApiResult {
    context::devices()?;
    driver!(cuGraphRetainUserObject_v11030(graph, object, count, flags))
}

pub fn cudaGraphReleaseUserObject(graph: cudaGraph_t, object: cudaUserObject_t, count: u32) -> ApiResult {
    context::devices()?;
    driver!(cuGraphReleaseUserObject_v11030(graph, object, count))
}

pub fn cudaDeviceGraphMemTrim(device: i32) -> ApiResult {
    context::devices()?;
    driver!(cuDeviceGraphMemTrim_v11040(context::device(device)?))
}

pub fn cudaDeviceGetGraphMemAttribute(
    device: i32,
    attr: cudaGraphMemAttributeType,
    value: Passed<'_, c_void>,
) -> ApiResult {
    context::devices()?;
    driver!(cuDeviceGetGraphMemAttribute_v11040(context::device(device)?, CUgraphMem_attribute(attr.0), value.get()))
}

pub fn cudaDeviceSetGraphMemAttribute(
    device: i32,
    attr: cudaGraphMemAttributeType,
    value: Passed<'_, c_void>,
) -> ApiResult {
    context::devices()?;
    driver!(cuDeviceSetGraphMemAttribute_v11040(context::device(device)?, CUgraphMem_attribute(attr.0), value.get()))
}
