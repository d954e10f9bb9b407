//! Nodes that record events and wait for them.
use warploom_abi::{CUevent, CUgraph, CUgraphExec, CUgraphNode};
use warploom_driver::Handle;
use warploom_driver::graph::{NodeKind, Work};

use super::{add, node_handle, other_kind};
use crate::border::{ApiResult, InArray, Out};
use crate::process::driver;

fn event(event: CUevent) -> Handle {
    Handle::from_raw(event.0)
}

/// The event of a node of one of the two kinds.
fn event_of(node: CUgraphNode, place: Out<'_, CUevent>, kind: NodeKind) -> ApiResult {
    let place = place.required("event_out")?;
    match driver()?.node_work(node_handle(node))? {
        Work::WaitEvent(event) if kind == NodeKind::WaitEvent => place.set(CUevent(event.handle().raw())),
        Work::RecordEvent(event) if kind == NodeKind::EventRecord => place.set(CUevent(event.handle().raw())),
        work => return Err(other_kind(&work)),
    }
    Ok(())
}

fn set(node: CUgraphNode, other: CUevent, kind: NodeKind) -> ApiResult {
    let driver = driver()?;
    driver.set_node_work(node_handle(node), driver.event_work(event(other), kind)?)
}

fn set_exec(exec: CUgraphExec, node: CUgraphNode, other: CUevent, kind: NodeKind) -> ApiResult {
    let driver = driver()?;
    driver.set_exec_work(Handle::from_raw(exec.0), node_handle(node), driver.event_work(event(other), kind)?)
}

pub(crate) fn cuGraphAddEventRecordNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    event: CUevent,
) -> ApiResult {
    let event = Handle::from_raw(event.0);
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| driver.event_work(event, NodeKind::EventRecord))
}

pub(crate) fn cuGraphEventRecordNodeGetEvent(hNode: CUgraphNode, event_out: Out<'_, CUevent>) -> ApiResult {
    event_of(hNode, event_out, NodeKind::EventRecord)
}

pub(crate) fn cuGraphEventRecordNodeSetEvent(hNode: CUgraphNode, event: CUevent) -> ApiResult {
    set(hNode, event, NodeKind::EventRecord)
}

pub(crate) fn cuGraphExecEventRecordNodeSetEvent(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    event: CUevent,
) -> ApiResult {
    set_exec(hGraphExec, hNode, event, NodeKind::EventRecord)
}

pub(crate) fn cuGraphAddEventWaitNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    event: CUevent,
) -> ApiResult {
    let event = Handle::from_raw(event.0);
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| driver.event_work(event, NodeKind::WaitEvent))
}

pub(crate) fn cuGraphEventWaitNodeGetEvent(hNode: CUgraphNode, event_out: Out<'_, CUevent>) -> ApiResult {
    event_of(hNode, event_out, NodeKind::WaitEvent)
}

pub(crate) fn cuGraphEventWaitNodeSetEvent(hNode: CUgraphNode, event: CUevent) -> ApiResult {
    set(hNode, event, NodeKind::WaitEvent)
}

pub(crate) fn cuGraphExecEventWaitNodeSetEvent(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    event: CUevent,
) -> ApiResult {
    set_exec(hGraphExec, hNode, event, NodeKind::WaitEvent)
}
