//! Graph management: nodes that both APIs describe alike: events, host functions, child graphs, memory.
use std::ffi::c_void;

use warploom_abi::CUlaunchAttributeID;
use warploom_abi::runtime::*;

use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaGraphAddHostNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    pNodeParams: Passed<'_, cudaHostNodeParams>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphAddHostNode_v10000(
        pGraphNode.get(),
        graph,
        pDependencies.get(),
        numDependencies,
        pNodeParams.cast()
    ))
}

pub fn cudaGraphHostNodeGetParams(node: cudaGraphNode_t, pNodeParams: Passed<'_, cudaHostNodeParams>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphHostNodeGetParams_v10000(node, pNodeParams.cast()))
}

pub fn cudaGraphHostNodeSetParams(node: cudaGraphNode_t, pNodeParams: Passed<'_, cudaHostNodeParams>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphHostNodeSetParams_v10000(node, pNodeParams.cast()))
}

pub fn cudaGraphAddChildGraphNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    childGraph: cudaGraph_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphAddChildGraphNode_v10000(pGraphNode.get(), graph, pDependencies.get(), numDependencies, childGraph))
}

pub fn cudaGraphChildGraphNodeGetGraph(node: cudaGraphNode_t, pGraph: Passed<'_, cudaGraph_t>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphChildGraphNodeGetGraph_v10000(node, pGraph.get()))
}

pub fn cudaGraphAddEmptyNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphAddEmptyNode_v10000(pGraphNode.get(), graph, pDependencies.get(), numDependencies))
}

pub fn cudaGraphAddEventRecordNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    event: cudaEvent_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphAddEventRecordNode_v11010(pGraphNode.get(), graph, pDependencies.get(), numDependencies, event))
}

pub fn cudaGraphEventRecordNodeGetEvent(node: cudaGraphNode_t, event_out: Passed<'_, cudaEvent_t>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphEventRecordNodeGetEvent_v11010(node, event_out.get()))
}

pub fn cudaGraphEventRecordNodeSetEvent(node: cudaGraphNode_t, event: cudaEvent_t) -> ApiResult {
    context::devices()?;
    driver!(cuGraphEventRecordNodeSetEvent_v11010(node, event))
}

pub fn cudaGraphAddEventWaitNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    event: cudaEvent_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphAddEventWaitNode_v11010(pGraphNode.get(), graph, pDependencies.get(), numDependencies, event))
}

pub fn cudaGraphEventWaitNodeGetEvent(node: cudaGraphNode_t, event_out: Passed<'_, cudaEvent_t>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphEventWaitNodeGetEvent_v11010(node, event_out.get()))
}

pub fn cudaGraphEventWaitNodeSetEvent(node: cudaGraphNode_t, event: cudaEvent_t) -> ApiResult {
    context::devices()?;
    driver!(cuGraphEventWaitNodeSetEvent_v11010(node, event))
}

pub fn cudaGraphAddMemAllocNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    nodeParams: Passed<'_, cudaMemAllocNodeParams>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphAddMemAllocNode_v11040(
        pGraphNode.get(),
        graph,
        pDependencies.get(),
        numDependencies,
        nodeParams.cast()
    ))
}

pub fn cudaGraphMemAllocNodeGetParams(
    node: cudaGraphNode_t,
    params_out: Passed<'_, cudaMemAllocNodeParams>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphMemAllocNodeGetParams_v11040(node, params_out.cast()))
}

pub fn cudaGraphAddMemFreeNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    dptr: Passed<'_, c_void>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphAddMemFreeNode_v11040(pGraphNode.get(), graph, pDependencies.get(), numDependencies, dptr.addr()))
}

pub fn cudaGraphMemFreeNodeGetParams(node: cudaGraphNode_t, dptr_out: Passed<'_, c_void>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphMemFreeNodeGetParams_v11040(node, dptr_out.cast()))
}

pub fn cudaGraphMemsetNodeGetParams(node: cudaGraphNode_t, pNodeParams: Passed<'_, cudaMemsetParams>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphMemsetNodeGetParams_v10000(node, pNodeParams.cast()))
}

pub fn cudaGraphMemsetNodeSetParams(node: cudaGraphNode_t, pNodeParams: Passed<'_, cudaMemsetParams>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphMemsetNodeSetParams_v10000(node, pNodeParams.cast()))
}

pub fn cudaGraphKernelNodeCopyAttributes(hDst: cudaGraphNode_t, hSrc: cudaGraphNode_t) -> ApiResult {
    context::devices()?;
    driver!(cuGraphKernelNodeCopyAttributes_v11000(hDst, hSrc))
}

pub fn cudaGraphKernelNodeGetAttribute(
    hNode: cudaGraphNode_t,
    attr: cudaKernelNodeAttrID,
    value_out: Passed<'_, cudaKernelNodeAttrValue>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphKernelNodeGetAttribute_v11000(hNode, CUlaunchAttributeID(attr.0), value_out.cast()))
}

pub fn cudaGraphKernelNodeSetAttribute(
    hNode: cudaGraphNode_t,
    attr: cudaKernelNodeAttrID,
    value: Passed<'_, cudaKernelNodeAttrValue>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphKernelNodeSetAttribute_v11000(hNode, CUlaunchAttributeID(attr.0), value.cast()))
}
