//! Stream management.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUgraph, CUgraphNode, CUlaunchAttributeID, CUstream, CUstreamCallback, CUstreamCaptureMode};

use crate::border::{DefaultStream, InOut, Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

pub fn cudaStreamCreate(pStream: Out<'_, CUstream>) -> ApiResult {
    cudaStreamCreateWithFlags(pStream, cudaStreamDefault)
}

pub fn cudaStreamCreateWithFlags(pStream: Out<'_, CUstream>, flags: u32) -> ApiResult {
    let place = pStream.required("pStream")?;
    context::ensure()?;
    let mut stream = CUstream::NULL;
    driver!(cuStreamCreate_v2000(&mut stream, flags))?;
    place.set(stream);
    Ok(())
}

pub fn cudaStreamCreateWithPriority(pStream: Out<'_, CUstream>, flags: u32, priority: i32) -> ApiResult {
    let place = pStream.required("pStream")?;
    context::ensure()?;
    let mut stream = CUstream::NULL;
    driver!(cuStreamCreateWithPriority_v5050(&mut stream, flags, priority))?;
    place.set(stream);
    Ok(())
}

/// The default streams are nobody's to destroy.
pub fn cudaStreamDestroy(stream: CUstream) -> ApiResult {
    context::ensure()?;
    if [CUstream::NULL, cudaStreamLegacy, cudaStreamPerThread].contains(&stream) {
        let reason = "the default streams cannot be destroyed";
        return Err(Failure::new(cudaError::cudaErrorInvalidResourceHandle, reason));
    }
    driver!(cuStreamDestroy_v4000(stream))
}

pub fn cudaStreamGetPriority(default: DefaultStream, hStream: CUstream, priority: Passed<'_, i32>) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamGetPriority_v5050(default.stream(hStream), priority.get()))
}

pub fn cudaStreamGetFlags(default: DefaultStream, hStream: CUstream, flags: Passed<'_, u32>) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamGetFlags_v5050(default.stream(hStream), flags.get()))
}

pub fn cudaStreamGetId(default: DefaultStream, hStream: CUstream, streamId: Passed<'_, u64>) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamGetId_v12000(default.stream(hStream), streamId.get()))
}

pub fn cudaStreamGetDevice(default: DefaultStream, hStream: CUstream, device: Passed<'_, i32>) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamGetDevice_v12080(default.stream(hStream), device.get()))
}

pub fn cudaStreamCopyAttributes(default: DefaultStream, dst: CUstream, src: CUstream) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamCopyAttributes_v11000(default.stream(dst), default.stream(src)))
}

pub fn cudaStreamGetAttribute(
    default: DefaultStream,
    hStream: CUstream,
    attr: cudaLaunchAttributeID,
    value_out: Passed<'_, cudaLaunchAttributeValue>,
) -> ApiResult {
    context::ensure()?;
    let stream = default.stream(hStream);
    driver!(cuStreamGetAttribute_v11000(stream, CUlaunchAttributeID(attr.0), value_out.cast()))
}

pub fn cudaStreamSetAttribute(
    default: DefaultStream,
    hStream: CUstream,
    attr: cudaLaunchAttributeID,
    value: Passed<'_, cudaLaunchAttributeValue>,
) -> ApiResult {
    context::ensure()?;
    let stream = default.stream(hStream);
    driver!(cuStreamSetAttribute_v11000(stream, CUlaunchAttributeID(attr.0), value.cast()))
}

pub fn cudaStreamWaitEvent(default: DefaultStream, stream: CUstream, event: cudaEvent_t, flags: u32) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamWaitEvent_v3020(default.stream(stream), event, flags))
}

/// Both APIs number results alike: the callback may be the driver's.
pub fn cudaStreamAddCallback(
    default: DefaultStream,
    stream: CUstream,
    callback: cudaStreamCallback_t,
    userData: Passed<'_, c_void>,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    let callback = CUstreamCallback(callback.0);
    driver!(cuStreamAddCallback_v5000(default.stream(stream), callback, userData.get(), flags))
}

pub fn cudaStreamSynchronize(default: DefaultStream, stream: CUstream) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamSynchronize_v2000(default.stream(stream)))
}

pub fn cudaStreamQuery(default: DefaultStream, stream: CUstream) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamQuery_v2000(default.stream(stream)))
}

pub fn cudaStreamAttachMemAsync(
    default: DefaultStream,
    stream: CUstream,
    devPtr: Passed<'_, c_void>,
    length: usize,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamAttachMemAsync_v6000(default.stream(stream), devPtr.addr(), length, flags))
}

pub fn cudaStreamBeginCapture(default: DefaultStream, stream: CUstream, mode: cudaStreamCaptureMode) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamBeginCapture_v10010(default.stream(stream), CUstreamCaptureMode(mode.0)))
}

pub fn cudaStreamBeginCaptureToGraph(
    default: DefaultStream,
    stream: CUstream,
    graph: CUgraph,
    dependencies: Passed<'_, CUgraphNode>,
    dependencyData: Passed<'_, cudaGraphEdgeData>,
    numDependencies: usize,
    mode: cudaStreamCaptureMode,
) -> ApiResult {
    context::ensure()?;
    let (stream, mode) = (default.stream(stream), CUstreamCaptureMode(mode.0));
    let (nodes, edges) = (dependencies.get(), dependencyData.cast());
    driver!(cuStreamBeginCaptureToGraph_v12030(stream, graph, nodes, edges, numDependencies, mode))
}

pub fn cudaThreadExchangeStreamCaptureMode(mode: InOut<'_, cudaStreamCaptureMode>) -> ApiResult {
    let mut exchanged = CUstreamCaptureMode(mode.get("mode")?.0);
    context::devices()?;
    driver!(cuThreadExchangeStreamCaptureMode_v10010(&mut exchanged))?;
    mode.set(cudaStreamCaptureMode(exchanged.0));
    Ok(())
}

pub fn cudaStreamEndCapture(default: DefaultStream, stream: CUstream, pGraph: Passed<'_, CUgraph>) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamEndCapture_v10000(default.stream(stream), pGraph.get()))
}

pub fn cudaStreamIsCapturing(
    default: DefaultStream,
    stream: CUstream,
    pCaptureStatus: Passed<'_, cudaStreamCaptureStatus>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamIsCapturing_v10000(default.stream(stream), pCaptureStatus.cast()))
}

/// The first of three: no graph.
pub fn cudaStreamGetCaptureInfo(
    default: DefaultStream,
    stream: CUstream,
    captureStatus_out: Passed<'_, cudaStreamCaptureStatus>,
    id_out: Passed<'_, u64>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuStreamGetCaptureInfo_v10010(default.stream(stream), captureStatus_out.cast(), id_out.get()))
}

/// The second: no data of edges.
pub fn cudaStreamGetCaptureInfo_v2(
    default: DefaultStream,
    stream: CUstream,
    captureStatus_out: Passed<'_, cudaStreamCaptureStatus>,
    id_out: Passed<'_, u64>,
    graph_out: Passed<'_, CUgraph>,
    dependencies_out: Passed<'_, *const CUgraphNode>,
    numDependencies_out: Passed<'_, usize>,
) -> ApiResult {
    context::ensure()?;
    let (stream, status, nodes) = (default.stream(stream), captureStatus_out.cast(), dependencies_out.get());
    let (id, graph, count) = (id_out.get(), graph_out.get(), numDependencies_out.get());
    driver!(cuStreamGetCaptureInfo_v11030(stream, status, id, graph, nodes, count))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaStreamGetCaptureInfo_v3(
    default: DefaultStream,
    stream: CUstream,
    captureStatus_out: Passed<'_, cudaStreamCaptureStatus>,
    id_out: Passed<'_, u64>,
    graph_out: Passed<'_, CUgraph>,
    dependencies_out: Passed<'_, *const CUgraphNode>,
    edgeData_out: Passed<'_, *const cudaGraphEdgeData>,
    numDependencies_out: Passed<'_, usize>,
) -> ApiResult {
    context::ensure()?;
    let (stream, status, nodes) = (default.stream(stream), captureStatus_out.cast(), dependencies_out.get());
    let (id, graph, count) = (id_out.get(), graph_out.get(), numDependencies_out.get());
    driver!(cuStreamGetCaptureInfo_v12030(stream, status, id, graph, nodes, edgeData_out.cast(), count))
}

/// The first of two: no data of edges.
pub fn cudaStreamUpdateCaptureDependencies(
    default: DefaultStream,
    stream: CUstream,
    dependencies: Passed<'_, CUgraphNode>,
    numDependencies: usize,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    let (stream, nodes) = (default.stream(stream), dependencies.get());
    driver!(cuStreamUpdateCaptureDependencies_v11030(stream, nodes, numDependencies, flags))
}

pub fn cudaStreamUpdateCaptureDependencies_v2(
    default: DefaultStream,
    stream: CUstream,
    dependencies: Passed<'_, CUgraphNode>,
    dependencyData: Passed<'_, cudaGraphEdgeData>,
    numDependencies: usize,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    let (stream, nodes, edges) = (default.stream(stream), dependencies.get(), dependencyData.cast());
    driver!(cuStreamUpdateCaptureDependencies_v12030(stream, nodes, edges, numDependencies, flags))
}
