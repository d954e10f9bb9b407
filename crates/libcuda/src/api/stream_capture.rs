//! Stream capture.
use std::sync::Arc;

use warploom_abi::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUgraphRecaptureCallback, CUgraphRecaptureStatus, CUresult, CUstream,
    CUstreamCaptureMode, CUstreamCaptureStatus,
};
use warploom_driver::graph::{
    CaptureInfo, CaptureInto, CaptureMode, EdgeData, RecaptureObserver, exchange_capture_mode,
};
use warploom_driver::{DriverError, ErrorCode, Handle};

use super::graph::{node, nodes};
use super::stream::named;
use crate::border::{ApiResult, DefaultStream, HostAddress, InArray, InOut, Out, callback};
use crate::process::driver;

/// The first ABI version means the mode that forbids most.
pub(crate) fn cuStreamBeginCapture(default: DefaultStream, hStream: CUstream) -> ApiResult {
    driver()?.begin_capture(named(hStream, default), CaptureMode::Global, CaptureInto::New)
}

pub(crate) fn cuStreamBeginCapture_v2(
    default: DefaultStream,
    hStream: CUstream,
    mode: CUstreamCaptureMode,
) -> ApiResult {
    driver()?.begin_capture(named(hStream, default), CaptureMode::from_number(mode.0)?, CaptureInto::New)
}

pub(crate) fn cuStreamBeginCaptureToGraph(
    default: DefaultStream,
    hStream: CUstream,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    dependencyData: InArray<'_, CUgraphEdgeData>,
    numDependencies: usize,
    mode: CUstreamCaptureMode,
) -> ApiResult {
    let graph = Handle::from_raw(hGraph.0);
    let after = nodes(graph, &dependencies, &dependencyData, numDependencies)?;
    let into = CaptureInto::Graph(graph, after.as_slice());
    driver()?.begin_capture(named(hStream, default), CaptureMode::from_number(mode.0)?, into)
}

/// Without a callback every change of parameters is taken.
pub(crate) fn cuStreamBeginRecaptureToGraph(
    default: DefaultStream,
    hStream: CUstream,
    mode: CUstreamCaptureMode,
    hGraph: CUgraph,
    callbackFunc: CUgraphRecaptureCallback,
    userData: HostAddress,
) -> ApiResult {
    let observer = (callbackFunc != CUgraphRecaptureCallback::default()).then(|| observer(callbackFunc, userData));
    let into = CaptureInto::Again(Handle::from_raw(hGraph.0), observer);
    driver()?.begin_capture(named(hStream, default), CaptureMode::from_number(mode.0)?, into)
}

/// Tells the program of changed nodes, in the terms of `cuGraphNodeGetParams`.
fn observer(callback: CUgraphRecaptureCallback, data: HostAddress) -> RecaptureObserver {
    Arc::new(move |node, before, now, status| {
        let (before, now) = (node::parameters(before), node::parameters(now));
        let status = CUgraphRecaptureStatus(status as u32);
        callback::recaptured(callback, data, CUgraphNode(node.raw()), [&before, &now], status) == CUresult::CUDA_SUCCESS
    })
}

/// Without a graph it gives NULL, as recorded. The program need not be told of a graph that was its own before.
pub(crate) fn cuStreamEndCapture(default: DefaultStream, hStream: CUstream, phGraph: Out<'_, CUgraph>) -> ApiResult {
    if phGraph.is_null() {
        let capture = driver()?.capture_info(named(hStream, default))?.1;
        // That there is no capture comes first.
        if capture.is_none_or(|capture| capture.borrowed) {
            return driver()?.end_capture(named(hStream, default)).map(|_| ());
        }
    }
    let place = phGraph.required("phGraph")?;
    match driver()?.end_capture(named(hStream, default)) {
        Ok(graph) => {
            place.set(CUgraph(graph.raw()));
            Ok(())
        }
        Err(error) => {
            place.set(CUgraph::NULL);
            Err(error)
        }
    }
}

pub(crate) fn cuThreadExchangeStreamCaptureMode(mode: InOut<'_, CUstreamCaptureMode>) -> ApiResult {
    let wanted = mode.get("mode")?;
    driver()?;
    mode.set(CUstreamCaptureMode(exchange_capture_mode(wanted.0)));
    Ok(())
}

/// Fails the capture of a stream, for calls that are refused then before their arguments are looked at.
pub(crate) fn refuse(stream: CUstream, default: DefaultStream) -> ApiResult {
    driver()?.refuse_capture_of(named(stream, default))
}

/// Fails the captures that forbid the calling thread what may wait for other work.
pub(crate) fn refuse_unsafe() -> ApiResult {
    driver()?.refuse_unsafe_in_capture()
}

pub(crate) fn cuStreamIsCapturing(
    default: DefaultStream,
    hStream: CUstream,
    captureStatus: Out<'_, CUstreamCaptureStatus>,
) -> ApiResult {
    let place = captureStatus.required("captureStatus")?;
    place.set(CUstreamCaptureStatus(driver()?.capture_info(named(hStream, default))?.0 as u32));
    Ok(())
}

/// Where the parts of an answer go. Only the status is told of a stream that is not captured.
struct Places<'a> {
    status: Out<'a, CUstreamCaptureStatus>,
    id: Out<'a, u64>,
    graph: Out<'a, CUgraph>,
    nodes: Out<'a, *const CUgraphNode>,
    edges: Out<'a, *const CUgraphEdgeData>,
    count: Out<'a, usize>,
}

/// Tells of a capture. The lists belong to the stream.
fn tell(default: DefaultStream, stream: CUstream, places: Places<'_>) -> ApiResult {
    let status_place = places.status.required("captureStatus_out")?;
    let (status, info) = driver()?.capture_info(named(stream, default))?;
    if let Some(CaptureInfo { id, graph, nodes, edges, .. }) = info {
        let says_more = edges.iter().any(|edge| *edge != EdgeData::default());
        if says_more && places.edges.is_null() && !places.nodes.is_null() {
            let reason = "edges say more than which nodes they connect, and there is no room for that";
            return Err(DriverError::new(ErrorCode::LossyQuery, reason));
        }
        if let Some(place) = places.id.optional() {
            place.set(id);
        }
        if let Some(place) = places.graph.optional() {
            place.set(CUgraph(graph.raw()));
        }
        if let Some(place) = places.nodes.optional() {
            place.set(std::ptr::with_exposed_provenance(nodes.as_ptr().expose_provenance()));
        }
        if let Some(place) = places.edges.optional() {
            place.set(std::ptr::with_exposed_provenance(edges.as_ptr().expose_provenance()));
        }
        if let Some(place) = places.count.optional() {
            place.set(nodes.len());
        }
    }
    status_place.set(CUstreamCaptureStatus(status as u32));
    Ok(())
}

pub(crate) fn cuStreamGetCaptureInfo(
    default: DefaultStream,
    hStream: CUstream,
    captureStatus_out: Out<'_, CUstreamCaptureStatus>,
    id_out: Out<'_, u64>,
) -> ApiResult {
    let (graph, nodes, edges, count) = (Out::none(), Out::none(), Out::none(), Out::none());
    tell(default, hStream, Places { status: captureStatus_out, id: id_out, graph, nodes, edges, count })
}

pub(crate) fn cuStreamGetCaptureInfo_v2(
    default: DefaultStream,
    hStream: CUstream,
    captureStatus_out: Out<'_, CUstreamCaptureStatus>,
    id_out: Out<'_, u64>,
    graph_out: Out<'_, CUgraph>,
    dependencies_out: Out<'_, *const CUgraphNode>,
    numDependencies_out: Out<'_, usize>,
) -> ApiResult {
    let places = Places {
        status: captureStatus_out,
        id: id_out,
        graph: graph_out,
        nodes: dependencies_out,
        edges: Out::none(),
        count: numDependencies_out,
    };
    tell(default, hStream, places)
}

pub(crate) fn cuStreamGetCaptureInfo_v3(
    default: DefaultStream,
    hStream: CUstream,
    captureStatus_out: Out<'_, CUstreamCaptureStatus>,
    id_out: Out<'_, u64>,
    graph_out: Out<'_, CUgraph>,
    dependencies_out: Out<'_, *const CUgraphNode>,
    edgeData_out: Out<'_, *const CUgraphEdgeData>,
    numDependencies_out: Out<'_, usize>,
) -> ApiResult {
    let places = Places {
        status: captureStatus_out,
        id: id_out,
        graph: graph_out,
        nodes: dependencies_out,
        edges: edgeData_out,
        count: numDependencies_out,
    };
    tell(default, hStream, places)
}

pub(crate) fn cuStreamUpdateCaptureDependencies(
    default: DefaultStream,
    hStream: CUstream,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    flags: u32,
) -> ApiResult {
    cuStreamUpdateCaptureDependencies_v2(default, hStream, dependencies, InArray::none(), numDependencies, flags)
}

/// The flags say whether the nodes are added to the others (0) or take their place (1).
pub(crate) fn cuStreamUpdateCaptureDependencies_v2(
    default: DefaultStream,
    hStream: CUstream,
    dependencies: InArray<'_, CUgraphNode>,
    dependencyData: InArray<'_, CUgraphEdgeData>,
    numDependencies: usize,
    flags: u32,
) -> ApiResult {
    if flags > 1 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    let (driver, name) = (driver()?, named(hStream, default));
    let (_, info) = driver.capture_info(name)?;
    let graph = info.map(|info| info.graph);
    // Without a capture the answer does not depend on the nodes.
    let nodes = graph.map_or(Ok(Vec::new()), |graph| nodes(graph, &dependencies, &dependencyData, numDependencies))?;
    driver.update_capture(name, &nodes, flags == 1)
}
