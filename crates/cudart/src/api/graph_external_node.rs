//! Graph management: nodes that signal semaphores of other interfaces, or wait for them. Both APIs describe them alike.
use warploom_abi::runtime::*;

use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaGraphAddExternalSemaphoresSignalNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    nodeParams: Passed<'_, cudaExternalSemaphoreSignalNodeParams>,
) -> ApiResult {
    context::ensure()?;
    let (node, after, parameters) = (pGraphNode.get(), pDependencies.get(), nodeParams.cast());
    driver!(cuGraphAddExternalSemaphoresSignalNode_v11020(node, graph, after, numDependencies, parameters))
}

pub fn cudaGraphExternalSemaphoresSignalNodeGetParams(
    hNode: cudaGraphNode_t,
    params_out: Passed<'_, cudaExternalSemaphoreSignalNodeParams>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExternalSemaphoresSignalNodeGetParams_v11020(hNode, params_out.cast()))
}

pub fn cudaGraphExternalSemaphoresSignalNodeSetParams(
    hNode: cudaGraphNode_t,
    nodeParams: Passed<'_, cudaExternalSemaphoreSignalNodeParams>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphExternalSemaphoresSignalNodeSetParams_v11020(hNode, nodeParams.cast()))
}

pub fn cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    hGraphExec: cudaGraphExec_t,
    hNode: cudaGraphNode_t,
    nodeParams: Passed<'_, cudaExternalSemaphoreSignalNodeParams>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphExecExternalSemaphoresSignalNodeSetParams_v11020(hGraphExec, hNode, nodeParams.cast()))
}

pub fn cudaGraphAddExternalSemaphoresWaitNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    nodeParams: Passed<'_, cudaExternalSemaphoreWaitNodeParams>,
) -> ApiResult {
    context::ensure()?;
    let (node, after, parameters) = (pGraphNode.get(), pDependencies.get(), nodeParams.cast());
    driver!(cuGraphAddExternalSemaphoresWaitNode_v11020(node, graph, after, numDependencies, parameters))
}

pub fn cudaGraphExternalSemaphoresWaitNodeGetParams(
    hNode: cudaGraphNode_t,
    params_out: Passed<'_, cudaExternalSemaphoreWaitNodeParams>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExternalSemaphoresWaitNodeGetParams_v11020(hNode, params_out.cast()))
}

pub fn cudaGraphExternalSemaphoresWaitNodeSetParams(
    hNode: cudaGraphNode_t,
    nodeParams: Passed<'_, cudaExternalSemaphoreWaitNodeParams>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphExternalSemaphoresWaitNodeSetParams_v11020(hNode, nodeParams.cast()))
}

pub fn cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    hGraphExec: cudaGraphExec_t,
    hNode: cudaGraphNode_t,
    nodeParams: Passed<'_, cudaExternalSemaphoreWaitNodeParams>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphExecExternalSemaphoresWaitNodeSetParams_v11020(hGraphExec, hNode, nodeParams.cast()))
}
