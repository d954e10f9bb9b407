//! Nodes that signal semaphores from outside, or wait for them.
use warploom_abi::{
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, CUDA_EXT_SEM_WAIT_NODE_PARAMS, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, CUgraph, CUgraphExec, CUgraphNode,
};
use warploom_driver::graph::Work;
use warploom_driver::stream::SemaphoreWork;
use warploom_driver::{Driver, DriverResult, Handle};

use super::super::external_resource::Given;
use super::{add, list, node_handle, other_kind};
use crate::border::{ApiResult, In, InArray, Out, graph};
use crate::process::driver;

/// The work that parameters of signals describe.
pub(super) fn signals(driver: &Driver, given: &CUDA_EXT_SEM_SIGNAL_NODE_PARAMS) -> DriverResult<Work> {
    let count = given.numExtSems as usize;
    let (semaphores, parameters) = (graph::semaphores(given.extSemArray), graph::signals(given.paramsArray));
    Ok(Work::Semaphores(Given::work(driver, &semaphores, &parameters, count)?.into()))
}

/// The work that parameters of waits describe.
pub(super) fn waits(driver: &Driver, given: &CUDA_EXT_SEM_WAIT_NODE_PARAMS) -> DriverResult<Work> {
    let count = given.numExtSems as usize;
    let (semaphores, parameters) = (graph::semaphores(given.extSemArray), graph::waits(given.paramsArray));
    Ok(Work::Semaphores(Given::work(driver, &semaphores, &parameters, count)?.into()))
}

/// The parameters of a node with signals. The lists belong to the node.
pub(super) fn described_signals(work: &SemaphoreWork) -> Option<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS> {
    let known = work.given.downcast_ref::<Given<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>>()?;
    Some(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
        extSemArray: list(&known.semaphores),
        paramsArray: list(&known.parameters.0),
        numExtSems: known.semaphores.len() as u32,
    })
}

/// The parameters of a node with waits. The lists belong to the node.
pub(super) fn described_waits(work: &SemaphoreWork) -> Option<CUDA_EXT_SEM_WAIT_NODE_PARAMS> {
    let known = work.given.downcast_ref::<Given<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>>()?;
    Some(CUDA_EXT_SEM_WAIT_NODE_PARAMS {
        extSemArray: list(&known.semaphores),
        paramsArray: list(&known.parameters.0),
        numExtSems: known.semaphores.len() as u32,
    })
}

fn semaphores_of(work: &Work) -> DriverResult<&SemaphoreWork> {
    match work {
        Work::Semaphores(semaphores) => Ok(semaphores),
        _ => Err(other_kind(work)),
    }
}

pub(crate) fn cuGraphAddExternalSemaphoresSignalNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<'_, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| signals(driver, &given))
}

pub(crate) fn cuGraphExternalSemaphoresSignalNodeGetParams(
    hNode: CUgraphNode,
    params_out: Out<'_, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>,
) -> ApiResult {
    let place = params_out.required("params_out")?;
    let work = driver()?.node_work(node_handle(hNode))?;
    place.set(described_signals(semaphores_of(&work)?).ok_or_else(|| other_kind(&work))?);
    Ok(())
}

pub(crate) fn cuGraphExternalSemaphoresSignalNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_node_work(node_handle(hNode), signals(driver, &given)?)
}

pub(crate) fn cuGraphExecExternalSemaphoresSignalNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_exec_work(Handle::from_raw(hGraphExec.0), node_handle(hNode), signals(driver, &given)?)
}

pub(crate) fn cuGraphAddExternalSemaphoresWaitNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<'_, CUDA_EXT_SEM_WAIT_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| waits(driver, &given))
}

pub(crate) fn cuGraphExternalSemaphoresWaitNodeGetParams(
    hNode: CUgraphNode,
    params_out: Out<'_, CUDA_EXT_SEM_WAIT_NODE_PARAMS>,
) -> ApiResult {
    let place = params_out.required("params_out")?;
    let work = driver()?.node_work(node_handle(hNode))?;
    place.set(described_waits(semaphores_of(&work)?).ok_or_else(|| other_kind(&work))?);
    Ok(())
}

pub(crate) fn cuGraphExternalSemaphoresWaitNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_EXT_SEM_WAIT_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_node_work(node_handle(hNode), waits(driver, &given)?)
}

pub(crate) fn cuGraphExecExternalSemaphoresWaitNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_EXT_SEM_WAIT_NODE_PARAMS>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    let driver = driver()?;
    driver.set_exec_work(Handle::from_raw(hGraphExec.0), node_handle(hNode), waits(driver, &given)?)
}
