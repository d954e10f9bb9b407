//! Nodes that call a function of the program.
use warploom_abi::{CUDA_HOST_NODE_PARAMS_v1, CUgraph, CUgraphExec, CUgraphNode, CUhostFn};
use warploom_driver::graph::{HostWork, Work};
use warploom_driver::{DriverError, DriverResult, Handle};

use super::{add, node_handle, other_kind};
use crate::border::{ApiResult, HostAddress, In, InArray, Out, callback};
use crate::process::driver;

/// The work that parameters describe.
pub(super) fn work(given: &CUDA_HOST_NODE_PARAMS_v1) -> DriverResult<Work> {
    if given.r#fn == CUhostFn::default() {
        return Err(DriverError::invalid_value("fn is NULL"));
    }
    let data = HostAddress(given.userData.expose_provenance());
    Ok(Work::Host(callback::host_function("a host node of a graph", given.r#fn, data)))
}

/// The parameters of a node.
pub(super) fn described(work: &HostWork) -> CUDA_HOST_NODE_PARAMS_v1 {
    let userData = std::ptr::with_exposed_provenance_mut(work.data);
    CUDA_HOST_NODE_PARAMS_v1 { r#fn: CUhostFn(work.function), userData }
}

pub(crate) fn cuGraphAddHostNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<'_, CUDA_HOST_NODE_PARAMS_v1>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |_| work(&given))
}

pub(crate) fn cuGraphHostNodeGetParams(hNode: CUgraphNode, nodeParams: Out<'_, CUDA_HOST_NODE_PARAMS_v1>) -> ApiResult {
    let place = nodeParams.required("nodeParams")?;
    match driver()?.node_work(node_handle(hNode))? {
        Work::Host(host) => place.set(described(&host)),
        work => return Err(other_kind(&work)),
    }
    Ok(())
}

pub(crate) fn cuGraphHostNodeSetParams(hNode: CUgraphNode, nodeParams: In<'_, CUDA_HOST_NODE_PARAMS_v1>) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    driver()?.set_node_work(node_handle(hNode), work(&given)?)
}

pub(crate) fn cuGraphExecHostNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_HOST_NODE_PARAMS_v1>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    driver()?.set_exec_work(Handle::from_raw(hGraphExec.0), node_handle(hNode), work(&given)?)
}
