//! Conditional nodes.
use warploom_abi::{
    CU_GRAPH_COND_ASSIGN_DEFAULT, CUDA_CONDITIONAL_NODE_PARAMS, CUcontext, CUgraph, CUgraphConditionalHandle,
    CUgraphConditionalNodeType,
};
use warploom_driver::graph::{ConditionalKind, ConditionalWork, Work};
use warploom_driver::{Driver, DriverError, DriverResult};

use super::{check_context, graph_handle};
use crate::border::{ApiResult, Out};
use crate::process::driver;

/// The work that parameters describe, for a node of `graph`.
pub(super) fn work(driver: &Driver, graph: CUgraph, given: &CUDA_CONDITIONAL_NODE_PARAMS) -> DriverResult<Work> {
    check_context(driver, given.ctx)?;
    driver.conditional_work(
        graph_handle(graph),
        given.handle,
        ConditionalKind::from_number(given.r#type.0)?,
        given.size,
    )
}

/// The parameters of a node. The list of graphs belongs to the node.
pub(super) fn described(work: &ConditionalWork) -> CUDA_CONDITIONAL_NODE_PARAMS {
    CUDA_CONDITIONAL_NODE_PARAMS {
        handle: work.condition.address(),
        r#type: CUgraphConditionalNodeType(work.kind as u32),
        size: u32::try_from(work.handles.len()).unwrap_or(u32::MAX),
        phGraph_out: std::ptr::with_exposed_provenance_mut(work.handles.as_ptr().expose_provenance()),
        ctx: CUcontext::NULL,
    }
}

pub(crate) fn cuGraphConditionalHandleCreate(
    pHandle_out: Out<'_, CUgraphConditionalHandle>,
    hGraph: CUgraph,
    ctx: CUcontext,
    defaultLaunchValue: u32,
    flags: u32,
) -> ApiResult {
    let place = pHandle_out.required("pHandle_out")?;
    if flags & !CU_GRAPH_COND_ASSIGN_DEFAULT != 0 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    let driver = driver()?;
    check_context(driver, ctx)?;
    let default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT != 0).then_some(defaultLaunchValue);
    place.set(driver.create_condition(graph_handle(hGraph), default)?);
    Ok(())
}
