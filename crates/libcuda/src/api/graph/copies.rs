//! Nodes with a batch of copies, which have no functions of their own.
use warploom_abi::{CUDA_MEMCPY_BATCH_NODE_PARAMS, CUcontext, CUdeviceptr, CUmemcpyAttributes};
use warploom_driver::graph::{CopyBatch, Work};
use warploom_driver::{Driver, DriverResult};

use super::super::memory::batch::read_lines;
use super::{check_context, list};
use crate::border::{callers_memory, graph};

/// A batch as the program described it.
struct Described {
    context: CUcontext,
    dsts: Vec<CUdeviceptr>,
    srcs: Vec<CUdeviceptr>,
    sizes: Vec<usize>,
    attributes: Vec<CUmemcpyAttributes>,
    starts: Vec<usize>,
}

/// The work that parameters describe.
pub(super) fn work(driver: &Driver, given: &CUDA_MEMCPY_BATCH_NODE_PARAMS) -> DriverResult<Work> {
    let context = graph::context_of_copies(given);
    check_context(driver, context)?;
    let (lists, count, attributes) = (graph::copies(given), given.count, given.numAttrs);
    let lines =
        read_lines([&lists.dsts, &lists.srcs], &lists.sizes, count, &lists.attributes, &lists.starts, attributes)?;
    let transfers = lines.iter().map(|line| line.transfer_of_node()).collect::<DriverResult<_>>()?;
    let described = Described {
        context,
        dsts: lists.dsts.get(count, "dsts")?,
        srcs: lists.srcs.get(count, "srcs")?,
        sizes: lists.sizes.get(count, "sizes")?,
        attributes: lists.attributes.get(attributes, "attrs")?,
        starts: lists.starts.get(attributes, "attrsIdxs")?,
    };
    driver.copies_work(transfers, callers_memory(), Box::new(described))
}

/// The parameters of a node. The lists belong to the node.
pub(super) fn described(batch: &CopyBatch) -> Option<CUDA_MEMCPY_BATCH_NODE_PARAMS> {
    let known = batch.given.downcast_ref::<Described>()?;
    let mut parameters = CUDA_MEMCPY_BATCH_NODE_PARAMS {
        count: known.sizes.len(),
        dsts: list(&known.dsts),
        srcs: list(&known.srcs),
        sizes: list(&known.sizes),
        attrs: list(&known.attributes),
        attrsIdxs: list(&known.starts),
        numAttrs: known.starts.len(),
        ..CUDA_MEMCPY_BATCH_NODE_PARAMS::default()
    };
    parameters.anonymous0.ctx = known.context;
    Some(parameters)
}
