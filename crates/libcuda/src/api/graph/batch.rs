//! Nodes with batches of memory operations.
use warploom_abi::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUstreamBatchMemOpParams,
};
use warploom_driver::graph::{BatchWork, Work};
use warploom_driver::{Driver, DriverError, DriverResult, Handle};

use super::super::stream_memory_operation::{check_batch, operations};
use super::{add, check_context, list, node_handle, other_kind};
use crate::border::{ApiResult, In, InArray, Out, graph, no_flags};
use crate::process::driver;

/// The work that parameters describe.
pub(super) fn work(driver: &Driver, given: &CUDA_BATCH_MEM_OP_NODE_PARAMS) -> DriverResult<Work> {
    if given.ctx == CUcontext::NULL {
        return Err(DriverError::invalid_value("ctx is NULL"));
    }
    check_context(driver, given.ctx)?;
    no_flags(u64::from(given.flags))?;
    check_batch(given.count)?;
    let list = graph::operations(given.paramArray).get(given.count as usize, "paramArray")?;
    driver.batch_work(operations(&list)?, Box::new(Described { context: given.ctx, list }))
}

/// A batch as the program described it.
pub(in crate::api) struct Described {
    pub(in crate::api) context: CUcontext,
    pub(in crate::api) list: Vec<CUstreamBatchMemOpParams>,
}

/// The parameters of a node. The list belongs to the node.
pub(super) fn described(batch: &BatchWork) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
    let known = batch.given.downcast_ref::<Described>();
    let operations = known.map_or(&[][..], |known| &known.list);
    CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: known.map_or(CUcontext::NULL, |known| known.context),
        count: u32::try_from(operations.len()).unwrap_or(u32::MAX),
        paramArray: list(operations),
        flags: 0,
    }
}

pub(crate) fn cuGraphAddBatchMemOpNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| work(driver, &given))
}

pub(crate) fn cuGraphBatchMemOpNodeGetParams(
    hNode: CUgraphNode,
    nodeParams_out: Out<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> ApiResult {
    let place = nodeParams_out.required("nodeParams_out")?;
    match driver()?.node_work(node_handle(hNode))? {
        Work::Batch(batch) => place.set(described(&batch)),
        work => return Err(other_kind(&work)),
    }
    Ok(())
}

pub(crate) fn cuGraphBatchMemOpNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_node_work(node_handle(hNode), work(driver, &given)?)
}

pub(crate) fn cuGraphExecBatchMemOpNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_exec_work(Handle::from_raw(hGraphExec.0), node_handle(hNode), work(driver, &given)?)
}
