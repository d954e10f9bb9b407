//! Nodes of any kind, described by one structure.
use std::collections::BTreeMap;

use warploom_abi::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, CUDA_CHILD_GRAPH_NODE_PARAMS, CUDA_EVENT_RECORD_NODE_PARAMS,
    CUDA_EVENT_WAIT_NODE_PARAMS, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2, CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2,
    CUDA_HOST_NODE_PARAMS_v1, CUDA_HOST_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, CUDA_MEM_ALLOC_NODE_PARAMS_v2,
    CUDA_MEM_FREE_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v1, CUDA_MEMSET_NODE_PARAMS_v2,
    CUevent, CUgraph, CUgraphChildGraphNodeOwnership, CUgraphEdgeData, CUgraphExec, CUgraphNode, CUgraphNodeParams,
    CUgraphNodeParams_anonymous0, CUgraphNodeType,
};
use warploom_driver::graph::{NodeKind, Work};
use warploom_driver::{Driver, DriverError, DriverResult, ErrorCode, Handle};

use super::super::memory::copy;
use super::{
    add_after, batch, conditional, copies, external_semaphore, graph_handle, host, kernel, memcpy, memory, memset,
    node_handle, nodes,
};
use crate::border::graph::{NodeParameters, node_parameters};
use crate::border::{ApiResult, In, InArray, InOut, Out};
use crate::process::driver;

type Ownership = CUgraphChildGraphNodeOwnership;

/// The work that parameters describe, for a node of `graph`.
fn work(driver: &Driver, graph: CUgraph, given: &NodeParameters) -> DriverResult<Work> {
    Ok(match given {
        NodeParameters::Kernel(given) => kernel::work(driver, given, BTreeMap::new())?,
        NodeParameters::Copy(given) => memcpy::work(driver, &given.copyParams, given.copyCtx)?,
        NodeParameters::Copies(given) => copies::work(driver, given)?,
        NodeParameters::Fill(given) => {
            let first = CUDA_MEMSET_NODE_PARAMS_v1 {
                dst: given.dst,
                pitch: given.pitch,
                value: given.value,
                elementSize: given.elementSize,
                width: given.width,
                height: given.height,
            };
            memset::work(driver, &first, given.ctx)?
        }
        NodeParameters::Host(given) => {
            host::work(&CUDA_HOST_NODE_PARAMS_v1 { r#fn: given.r#fn, userData: given.userData })?
        }
        NodeParameters::Graph(given) => match given.ownership {
            Ownership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE => driver.graph_work(graph_handle(given.graph))?,
            Ownership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE => driver.moved_graph_work(graph_handle(given.graph))?,
            other => return Err(DriverError::invalid_value(format!("{} is no ownership", other.0))),
        },
        NodeParameters::Empty => Work::Empty,
        NodeParameters::WaitEvent(event) => driver.event_work(Handle::from_raw(event.0), NodeKind::WaitEvent)?,
        NodeParameters::RecordEvent(event) => driver.event_work(Handle::from_raw(event.0), NodeKind::EventRecord)?,
        NodeParameters::Alloc(given) => memory::work(driver, given)?,
        NodeParameters::Free(address) => driver.free_work(*address)?,
        NodeParameters::Signals(given) => external_semaphore::signals(driver, given)?,
        NodeParameters::Waits(given) => external_semaphore::waits(driver, given)?,
        NodeParameters::Batch(given) => batch::work(driver, given)?,
        NodeParameters::Conditional(given) => conditional::work(driver, graph, given)?,
    })
}

pub(crate) fn cuGraphAddNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: InOut<'_, CUgraphNodeParams>,
) -> ApiResult {
    cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, InArray::none(), numDependencies, nodeParams)
}

pub(crate) fn cuGraphAddNode_v2(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    dependencyData: InArray<'_, CUgraphEdgeData>,
    numDependencies: usize,
    nodeParams: InOut<'_, CUgraphNodeParams>,
) -> ApiResult {
    let mut given = nodeParams.get("nodeParams")?;
    let parameters = node_parameters(&given)?;
    let after = nodes(graph_handle(hGraph), &dependencies, &dependencyData, numDependencies)?;
    let (mut added, mut conditional) = (None, None);
    add_after(
        phGraphNode,
        hGraph,
        || Ok(after),
        |driver| {
            let work = work(driver, hGraph, &parameters)?;
            added = Some(work.clone());
            if let Work::Conditional(work) = &work {
                conditional = Some(conditional::described(work));
            }
            Ok(work)
        },
    )?;
    if let Some(conditional) = conditional {
        given.anonymous0.conditional = conditional;
        nodeParams.set(given);
    }
    if let (Some(work), NodeParameters::Alloc(parameters)) = (added, &parameters) {
        given.anonymous0.alloc = CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
            poolProps: parameters.poolProps,
            accessDescs: parameters.accessDescs,
            accessDescCount: parameters.accessDescCount,
            bytesize: parameters.bytesize,
            dptr: memory::address(&work),
        };
        nodeParams.set(given);
    }
    Ok(())
}

pub(crate) fn cuGraphAddNode_v3(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    dependencyData: InArray<'_, CUgraphEdgeData>,
    numDependencies: usize,
    nodeParams: InOut<'_, CUgraphNodeParams>,
) -> ApiResult {
    cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)
}

/// The work that a change describes. An allocation or a free cannot become another one.
fn change(driver: &Driver, node: CUgraphNode, given: &In<'_, CUgraphNodeParams>) -> DriverResult<Work> {
    let given = given.get("nodeParams")?;
    let parameters = node_parameters(&given)?;
    let kind = driver.node_work(node_handle(node))?.kind();
    if kind.number() != given.r#type.0 {
        let reason = format!("the node is a {}, not a {:?}", kind.noun(), given.r#type);
        return Err(DriverError::invalid_value(reason));
    }
    if let NodeParameters::Kernel(given) = &parameters {
        return kernel::changed(driver, node, given);
    }
    if matches!(parameters, NodeParameters::Alloc(_) | NodeParameters::Free(_) | NodeParameters::Conditional(_)) {
        return Err(DriverError::new(ErrorCode::NotSupported, "nodes of this kind cannot be changed"));
    }
    // What is left does not depend on the graph.
    work(driver, CUgraph::NULL, &parameters)
}

pub(crate) fn cuGraphNodeSetParams(hNode: CUgraphNode, nodeParams: In<'_, CUgraphNodeParams>) -> ApiResult {
    let driver = driver()?;
    let work = change(driver, hNode, &nodeParams)?;
    driver.set_node_work(node_handle(hNode), work.clone()).inspect_err(|_| driver.discard_work(work))
}

pub(crate) fn cuGraphNodeSetParams_v2(hNode: CUgraphNode, nodeParams: In<'_, CUgraphNodeParams>) -> ApiResult {
    cuGraphNodeSetParams(hNode, nodeParams)
}

pub(crate) fn cuGraphExecNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<'_, CUgraphNodeParams>,
) -> ApiResult {
    let driver = driver()?;
    let exec = Handle::from_raw(hGraphExec.0);
    driver.graph_exec(exec)?;
    let parameters = node_parameters(&nodeParams.get("nodeParams")?)?;
    if let NodeParameters::Graph(given) = parameters {
        return driver.set_exec_graph(exec, node_handle(hNode), graph_handle(given.graph));
    }
    driver.set_exec_work(exec, node_handle(hNode), change(driver, hNode, &nodeParams)?)
}

/// The union for a node, with zeros behind what it uses: a program may give it back.
fn described(work: &Work) -> CUgraphNodeParams_anonymous0 {
    let mut union = CUgraphNodeParams_anonymous0::default();
    match work {
        Work::Kernel(kernel) => {
            let second = kernel::described(kernel);
            union.kernel = CUDA_KERNEL_NODE_PARAMS_v3 {
                func: second.func,
                gridDimX: second.gridDimX,
                gridDimY: second.gridDimY,
                gridDimZ: second.gridDimZ,
                blockDimX: second.blockDimX,
                blockDimY: second.blockDimY,
                blockDimZ: second.blockDimZ,
                sharedMemBytes: second.sharedMemBytes,
                kernelParams: second.kernelParams,
                extra: second.extra,
                kern: second.kern,
                ctx: second.ctx,
            };
        }
        Work::Copy(work) => {
            let copyParams = copy::described(&work.transfer);
            union.memcpy = CUDA_MEMCPY_NODE_PARAMS { copyParams, ..CUDA_MEMCPY_NODE_PARAMS::default() };
        }
        Work::Copies(batch) => {
            if let Some(memcpyBatch) = copies::described(batch) {
                union.memcpyBatch = memcpyBatch;
            }
        }
        Work::Fill(fill) => {
            let first = memset::described(fill);
            union.memset = CUDA_MEMSET_NODE_PARAMS_v2 {
                dst: first.dst,
                pitch: first.pitch,
                value: first.value,
                elementSize: first.elementSize,
                width: first.width,
                height: first.height,
                ..CUDA_MEMSET_NODE_PARAMS_v2::default()
            };
        }
        Work::Host(work) => {
            let first = host::described(work);
            let (function, userData) = (first.r#fn, first.userData);
            union.host = CUDA_HOST_NODE_PARAMS_v2 { r#fn: function, userData, ..CUDA_HOST_NODE_PARAMS_v2::default() };
        }
        Work::Graph(inner) => {
            let ownership = Ownership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
            union.graph = CUDA_CHILD_GRAPH_NODE_PARAMS { graph: CUgraph(inner.handle().raw()), ownership };
        }
        Work::Empty => {}
        Work::WaitEvent(event) => {
            union.eventWait = CUDA_EVENT_WAIT_NODE_PARAMS { event: CUevent(event.handle().raw()) };
        }
        Work::RecordEvent(event) => {
            let event = CUevent(event.handle().raw());
            union.eventRecord = CUDA_EVENT_RECORD_NODE_PARAMS { event, ..CUDA_EVENT_RECORD_NODE_PARAMS::default() };
        }
        Work::Alloc(work) => {
            let first = memory::described(work);
            union.alloc = CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
                poolProps: first.poolProps,
                accessDescs: first.accessDescs,
                accessDescCount: first.accessDescCount,
                bytesize: first.bytesize,
                dptr: first.dptr,
            };
        }
        Work::Conditional(work) => union.conditional = conditional::described(work),
        Work::Free(free) => union.free = CUDA_MEM_FREE_NODE_PARAMS { dptr: free.address },
        Work::Semaphores(work) => {
            if let Some(first) = external_semaphore::described_signals(work) {
                union.extSemSignal = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2 {
                    extSemArray: first.extSemArray,
                    paramsArray: first.paramsArray,
                    numExtSems: first.numExtSems,
                    ..CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2::default()
                };
            }
            if let Some(first) = external_semaphore::described_waits(work) {
                union.extSemWait = CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2 {
                    extSemArray: first.extSemArray,
                    paramsArray: first.paramsArray,
                    numExtSems: first.numExtSems,
                    ..CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2::default()
                };
            }
        }
        Work::Batch(work) => {
            let first = batch::described(work);
            union.memOp = CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
                ctx: first.ctx,
                count: first.count,
                paramArray: first.paramArray,
                flags: first.flags,
            };
        }
    }
    union
}

/// The parameters of a node. What they point to lives as long as the work.
pub(crate) fn parameters(work: &Work) -> CUgraphNodeParams {
    let r#type = CUgraphNodeType(work.kind().number());
    CUgraphNodeParams { r#type, anonymous0: described(work), ..CUgraphNodeParams::default() }
}

pub(crate) fn cuGraphNodeGetParams(hNode: CUgraphNode, nodeParams: Out<'_, CUgraphNodeParams>) -> ApiResult {
    let place = nodeParams.required("nodeParams")?;
    place.set(parameters(&driver()?.node_work(node_handle(hNode))?));
    Ok(())
}
