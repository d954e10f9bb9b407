//! Nodes that set memory.
use warploom_abi::{CUDA_MEMSET_NODE_PARAMS_v1, CUcontext, CUgraph, CUgraphExec, CUgraphNode};
use warploom_driver::graph::Work;
use warploom_driver::memory::{Fill2d, FillWidth};
use warploom_driver::{Driver, DriverError, DriverResult, Handle};

use super::{add, check_context, node_handle, other_kind};
use crate::border::{ApiResult, In, InArray, Out};
use crate::process::driver;

/// The work that a structure describes.
pub(super) fn work(driver: &Driver, given: &CUDA_MEMSET_NODE_PARAMS_v1, context: CUcontext) -> DriverResult<Work> {
    // As recorded, none need be current where none is named.
    if context.0 != 0 {
        check_context(driver, context)?;
    }
    let element = match given.elementSize {
        1 => FillWidth::One,
        2 => FillWidth::Two,
        4 => FillWidth::Four,
        other => return Err(DriverError::invalid_value(format!("elementSize is {other}; 1, 2 or 4 are possible"))),
    };
    driver.fill_work(Fill2d {
        address: given.dst,
        pitch: given.pitch as u64,
        element,
        value: given.value,
        width: given.width as u64,
        height: given.height as u64,
    })
}

/// The structure that describes a set.
pub(super) fn described(fill: &Fill2d) -> CUDA_MEMSET_NODE_PARAMS_v1 {
    CUDA_MEMSET_NODE_PARAMS_v1 {
        dst: fill.address,
        pitch: fill.pitch as usize,
        value: fill.value,
        elementSize: fill.element as u32,
        width: fill.width as usize,
        height: fill.height as usize,
    }
}

pub(crate) fn cuGraphAddMemsetNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    memsetParams: In<'_, CUDA_MEMSET_NODE_PARAMS_v1>,
    ctx: CUcontext,
) -> ApiResult {
    let given = memsetParams.get("memsetParams")?;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| work(driver, &given, ctx))
}

pub(crate) fn cuGraphMemsetNodeGetParams(
    hNode: CUgraphNode,
    nodeParams: Out<'_, CUDA_MEMSET_NODE_PARAMS_v1>,
) -> ApiResult {
    let place = nodeParams.required("nodeParams")?;
    match driver()?.node_work(node_handle(hNode))? {
        Work::Fill(fill) => place.set(described(&fill)),
        work => return Err(other_kind(&work)),
    }
    Ok(())
}

pub(crate) fn cuGraphMemsetNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_MEMSET_NODE_PARAMS_v1>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_node_work(node_handle(hNode), work(driver, &given, CUcontext::NULL)?)
}

pub(crate) fn cuGraphExecMemsetNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    memsetParams: In<'_, CUDA_MEMSET_NODE_PARAMS_v1>,
    ctx: CUcontext,
) -> ApiResult {
    let given = memsetParams.get("memsetParams")?;
    let driver = driver()?;
    driver.set_exec_work(Handle::from_raw(hGraphExec.0), node_handle(hNode), work(driver, &given, ctx)?)
}
