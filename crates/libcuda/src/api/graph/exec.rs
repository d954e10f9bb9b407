//! Instances: instantiation, launches, updates as a whole.
use warploom_abi::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph, CUgraphExec, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo,
    CUgraphInstantiateResult, CUgraphNode, CUstream,
};
use warploom_driver::graph::{InstantiateError, UpdateError, UpdateResult, instantiate_flags};
use warploom_driver::{DriverError, DriverResult, Handle};

use super::super::stream::named;
use super::{graph_handle, node_handle};
use crate::border::{ApiResult, DefaultStream, InOut, Out, OutStr};
use crate::process::driver;

fn exec_handle(exec: CUgraphExec) -> Handle {
    Handle::from_raw(exec.0)
}

/// The first two ABI versions write what went wrong into a buffer of the caller.
fn with_log(
    exec: Out<'_, CUgraphExec>,
    graph: CUgraph,
    node: Out<'_, CUgraphNode>,
    log: &OutStr<'_>,
    size: usize,
) -> ApiResult {
    let place = exec.required("phGraphExec")?;
    let tell =
        |text: &str| if log.is_null() || size == 0 { Ok(()) } else { log.write("logBuffer", size, text.as_bytes()) };
    match driver()?.instantiate(graph_handle(graph), 0) {
        Ok(exec) => {
            place.set(CUgraphExec(exec.raw()));
            tell("")
        }
        Err(InstantiateError { error, node: at_fault, .. }) => {
            if let Some(node) = node.optional() {
                node.set(CUgraphNode(at_fault.raw()));
            }
            tell(&error.reason())?;
            Err(error)
        }
    }
}

pub(crate) fn cuGraphInstantiate(
    phGraphExec: Out<'_, CUgraphExec>,
    hGraph: CUgraph,
    phErrorNode: Out<'_, CUgraphNode>,
    logBuffer: OutStr<'_>,
    bufferSize: usize,
) -> ApiResult {
    with_log(phGraphExec, hGraph, phErrorNode, &logBuffer, bufferSize)
}

pub(crate) fn cuGraphInstantiate_v2(
    phGraphExec: Out<'_, CUgraphExec>,
    hGraph: CUgraph,
    phErrorNode: Out<'_, CUgraphNode>,
    logBuffer: OutStr<'_>,
    bufferSize: usize,
) -> ApiResult {
    with_log(phGraphExec, hGraph, phErrorNode, &logBuffer, bufferSize)
}

pub(crate) fn cuGraphInstantiateWithFlags(phGraphExec: Out<'_, CUgraphExec>, hGraph: CUgraph, flags: u64) -> ApiResult {
    use instantiate_flags::{KNOWN, UPLOAD};
    if flags & (UPLOAD | !KNOWN) != 0 {
        let reason =
            "has unknown bits, or that of uploading, for which cuGraphInstantiateWithParams alone has a stream";
        return Err(DriverError::invalid_value(format!("flags {flags:#x} {reason}")));
    }
    // As recorded, before the pointers.
    driver()?.current()?;
    let place = phGraphExec.required("phGraphExec")?;
    let exec = driver()?.instantiate(graph_handle(hGraph), flags).map_err(|failure| failure.error)?;
    place.set(CUgraphExec(exec.raw()));
    Ok(())
}

pub(crate) fn cuGraphInstantiateWithParams(
    default: DefaultStream,
    phGraphExec: Out<'_, CUgraphExec>,
    hGraph: CUgraph,
    instantiateParams: InOut<'_, CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> ApiResult {
    let place = phGraphExec.required("phGraphExec")?;
    let mut parameters = instantiateParams.get("instantiateParams")?;
    let driver = driver()?;
    let made = driver.instantiate(graph_handle(hGraph), parameters.flags).and_then(|exec| {
        if parameters.flags & instantiate_flags::UPLOAD != 0
            && let Err(error) = driver.upload_graph(exec, named(parameters.hUploadStream, default))
        {
            // The program never learns the handle: nobody else can destroy the instance, and it is there still.
            let _ = driver.destroy_graph_exec(exec);
            return Err(error.into());
        }
        Ok(exec)
    });
    parameters.hErrNode_out = CUgraphNode(made.as_ref().err().map_or(0, |failure| failure.node.raw()));
    parameters.result_out = CUgraphInstantiateResult(made.as_ref().err().map_or(0, |failure| failure.result as u32));
    instantiateParams.set(parameters);
    let exec = made.map_err(|failure| failure.error)?;
    place.set(CUgraphExec(exec.raw()));
    Ok(())
}

pub(crate) fn cuGraphExecGetFlags(hGraphExec: CUgraphExec, flags: Out<'_, u64>) -> ApiResult {
    let place = flags.required("flags")?;
    place.set(driver()?.graph_exec(exec_handle(hGraphExec))?.flags());
    Ok(())
}

pub(crate) fn cuGraphNodeSetEnabled(hGraphExec: CUgraphExec, hNode: CUgraphNode, isEnabled: u32) -> ApiResult {
    driver()?.enable_node(exec_handle(hGraphExec), node_handle(hNode), isEnabled != 0)
}

pub(crate) fn cuGraphNodeGetEnabled(hGraphExec: CUgraphExec, hNode: CUgraphNode, isEnabled: Out<'_, u32>) -> ApiResult {
    let place = isEnabled.required("isEnabled")?;
    place.set(u32::from(driver()?.node_enabled(exec_handle(hGraphExec), node_handle(hNode))?));
    Ok(())
}

pub(crate) fn cuGraphUpload(default: DefaultStream, hGraph: CUgraphExec, hStream: CUstream) -> ApiResult {
    driver()?.upload_graph(exec_handle(hGraph), named(hStream, default))
}

pub(crate) fn cuGraphLaunch(default: DefaultStream, hGraph: CUgraphExec, hStream: CUstream) -> ApiResult {
    driver()?.launch_graph(exec_handle(hGraph), named(hStream, default))
}

pub(crate) fn cuGraphExecDestroy(hGraphExec: CUgraphExec) -> ApiResult {
    driver()?.destroy_graph_exec(exec_handle(hGraphExec))
}

/// An update; nothing is told of it if there is no such instance or graph.
fn update(exec: CUgraphExec, graph: CUgraph) -> DriverResult<Result<(), UpdateError>> {
    let driver = driver()?;
    driver.graph_exec(exec_handle(exec))?;
    driver.graph(graph_handle(graph))?;
    Ok(driver.update_exec(exec_handle(exec), graph_handle(graph)))
}

/// How an update went, as a caller is told.
fn outcome(result: &Result<(), UpdateError>) -> CUgraphExecUpdateResultInfo {
    let (result, node, from) = match result {
        Ok(()) => (UpdateResult::Success, Handle::NULL, Handle::NULL),
        Err(failure) => (failure.result, failure.node, failure.from),
    };
    CUgraphExecUpdateResultInfo {
        result: CUgraphExecUpdateResult(result as u32),
        errorNode: CUgraphNode(node.raw()),
        errorFromNode: CUgraphNode(from.raw()),
    }
}

pub(crate) fn cuGraphExecUpdate(
    hGraphExec: CUgraphExec,
    hGraph: CUgraph,
    hErrorNode_out: Out<'_, CUgraphNode>,
    updateResult_out: Out<'_, CUgraphExecUpdateResult>,
) -> ApiResult {
    let place = updateResult_out.required("updateResult_out")?;
    let result = update(hGraphExec, hGraph)?;
    let told = outcome(&result);
    place.set(told.result);
    if let Some(node) = hErrorNode_out.optional() {
        node.set(told.errorNode);
    }
    result.map_err(|failure| failure.error)
}

pub(crate) fn cuGraphExecUpdate_v2(
    hGraphExec: CUgraphExec,
    hGraph: CUgraph,
    resultInfo: Out<'_, CUgraphExecUpdateResultInfo>,
) -> ApiResult {
    let place = resultInfo.required("resultInfo")?;
    let result = update(hGraphExec, hGraph)?;
    place.set(outcome(&result));
    result.map_err(|failure| failure.error)
}
