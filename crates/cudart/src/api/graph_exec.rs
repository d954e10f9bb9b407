//! Graph management: executable graphs. Nodes that copy, set or compute are changed in `graph_node`.
use std::ffi::c_char;

use warploom_abi::CUDA_GRAPH_INSTANTIATE_PARAMS;
use warploom_abi::runtime::*;

use crate::border::{DefaultStream, InOut, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaGraphInstantiate(pGraphExec: Passed<'_, cudaGraphExec_t>, graph: cudaGraph_t, flags: u64) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphInstantiateWithFlags_v11040(pGraphExec.get(), graph, flags))
}

/// Of runtime 11: what is wrong is told in words and by a node.
pub fn cudaGraphInstantiate_v11(
    pGraphExec: Passed<'_, cudaGraphExec_t>,
    graph: cudaGraph_t,
    pErrorNode: Passed<'_, cudaGraphNode_t>,
    pLogBuffer: Passed<'_, c_char>,
    bufferSize: usize,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphInstantiate_v11000(pGraphExec.get(), graph, pErrorNode.get(), pLogBuffer.get(), bufferSize))
}

pub fn cudaGraphInstantiateWithFlags(
    pGraphExec: Passed<'_, cudaGraphExec_t>,
    graph: cudaGraph_t,
    flags: u64,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphInstantiateWithFlags_v11040(pGraphExec.get(), graph, flags))
}

pub fn cudaGraphExecGetFlags(graphExec: cudaGraphExec_t, flags: Passed<'_, u64>) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecGetFlags_v12000(graphExec, flags.cast()))
}

/// Both APIs describe host functions alike.
pub fn cudaGraphExecHostNodeSetParams(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    pNodeParams: Passed<'_, cudaHostNodeParams>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecHostNodeSetParams_v10020(hGraphExec, node, pNodeParams.cast()))
}

pub fn cudaGraphExecChildGraphNodeSetParams(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    childGraph: cudaGraph_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecChildGraphNodeSetParams_v11010(hGraphExec, node, childGraph))
}

pub fn cudaGraphExecEventRecordNodeSetEvent(
    hGraphExec: cudaGraphExec_t,
    hNode: cudaGraphNode_t,
    event: cudaEvent_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecEventRecordNodeSetEvent_v11010(hGraphExec, hNode, event))
}

pub fn cudaGraphExecEventWaitNodeSetEvent(
    hGraphExec: cudaGraphExec_t,
    hNode: cudaGraphNode_t,
    event: cudaEvent_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecEventWaitNodeSetEvent_v11010(hGraphExec, hNode, event))
}

pub fn cudaGraphNodeSetEnabled(hGraphExec: cudaGraphExec_t, hNode: cudaGraphNode_t, isEnabled: u32) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeSetEnabled_v11060(hGraphExec, hNode, isEnabled))
}

pub fn cudaGraphNodeGetEnabled(
    hGraphExec: cudaGraphExec_t,
    hNode: cudaGraphNode_t,
    isEnabled: Passed<'_, u32>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphNodeGetEnabled_v11060(hGraphExec, hNode, isEnabled.get()))
}

/// Both APIs have the same results of updates.
pub fn cudaGraphExecUpdate(
    hGraphExec: cudaGraphExec_t,
    hGraph: cudaGraph_t,
    resultInfo: Passed<'_, cudaGraphExecUpdateResultInfo>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecUpdate_v12000(hGraphExec, hGraph, resultInfo.cast()))
}

/// Of runtime 11: what keeps the graph from being updated is told by a node and a reason.
pub fn cudaGraphExecUpdate_v11(
    hGraphExec: cudaGraphExec_t,
    hGraph: cudaGraph_t,
    hErrorNode_out: Passed<'_, cudaGraphNode_t>,
    updateResult_out: Passed<'_, cudaGraphExecUpdateResult>,
) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecUpdate_v10020(hGraphExec, hGraph, hErrorNode_out.get(), updateResult_out.cast()))
}

pub fn cudaGraphUpload(default: DefaultStream, graphExec: cudaGraphExec_t, stream: cudaStream_t) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphUpload_v11010(graphExec, default.stream(stream)))
}

pub fn cudaGraphLaunch(default: DefaultStream, graphExec: cudaGraphExec_t, stream: cudaStream_t) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphLaunch_v10000(graphExec, default.stream(stream)))
}

pub fn cudaGraphExecDestroy(graphExec: cudaGraphExec_t) -> ApiResult {
    context::devices()?;
    driver!(cuGraphExecDestroy_v10000(graphExec))
}

pub fn cudaGraphInstantiateWithParams(
    default: DefaultStream,
    pGraphExec: Passed<'_, cudaGraphExec_t>,
    graph: cudaGraph_t,
    instantiateParams: InOut<'_, cudaGraphInstantiateParams>,
) -> ApiResult {
    let mut parameters = instantiateParams.get("instantiateParams")?;
    context::ensure()?;
    let mut inner = CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags: parameters.flags,
        hUploadStream: default.stream(parameters.uploadStream),
        ..Default::default()
    };
    let instantiated = driver!(cuGraphInstantiateWithParams_v12000(pGraphExec.get(), graph, &mut inner));
    parameters.errNode_out = inner.hErrNode_out;
    parameters.result_out = cudaGraphInstantiateResult(inner.result_out.0);
    instantiateParams.set(parameters);
    instantiated
}
