//! Nodes that copy.
use warploom_abi::{CUDA_MEMCPY3D_v2, CUcontext, CUgraph, CUgraphExec, CUgraphNode};
use warploom_driver::graph::Work;
use warploom_driver::{Driver, DriverResult, Handle};

use super::super::memory::copy::{cuboid, described};
use super::{add, check_context, node_handle, other_kind};
use crate::border::{ApiResult, In, InArray, Out, callers_memory};
use crate::process::driver;

/// The work that a structure describes.
pub(super) fn work(driver: &Driver, given: &CUDA_MEMCPY3D_v2, context: CUcontext) -> DriverResult<Work> {
    check_context(driver, context)?;
    driver.copy_work(cuboid(given)?, callers_memory())
}

pub(crate) fn cuGraphAddMemcpyNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    copyParams: In<'_, CUDA_MEMCPY3D_v2>,
    ctx: CUcontext,
) -> ApiResult {
    let given = copyParams.get("copyParams")?;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| work(driver, &given, ctx))
}

pub(crate) fn cuGraphMemcpyNodeGetParams(hNode: CUgraphNode, nodeParams: Out<'_, CUDA_MEMCPY3D_v2>) -> ApiResult {
    let place = nodeParams.required("nodeParams")?;
    match driver()?.node_work(node_handle(hNode))? {
        Work::Copy(copy) => place.set(described(&copy.transfer)),
        work => return Err(other_kind(&work)),
    }
    Ok(())
}

pub(crate) fn cuGraphMemcpyNodeSetParams(hNode: CUgraphNode, nodeParams: In<'_, CUDA_MEMCPY3D_v2>) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_node_work(node_handle(hNode), work(driver, &given, CUcontext::NULL)?)
}

pub(crate) fn cuGraphExecMemcpyNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    copyParams: In<'_, CUDA_MEMCPY3D_v2>,
    ctx: CUcontext,
) -> ApiResult {
    let given = copyParams.get("copyParams")?;
    let driver = driver()?;
    driver.set_exec_work(Handle::from_raw(hGraphExec.0), node_handle(hNode), work(driver, &given, ctx)?)
}
