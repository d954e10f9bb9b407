//! Nodes that allocate and free memory, and what graphs have allocated.
use warploom_abi::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUdevice, CUdeviceptr, CUgraph, CUgraphMem_attribute, CUgraphNode, CUmemAccessDesc,
    CUmemAllocationHandleType, CUmemAllocationType, CUmemPoolProps,
};
use warploom_driver::graph::{AllocWork, Work};
use warploom_driver::memory::{Location, location_kind};
use warploom_driver::{Driver, DriverError, DriverResult, ErrorCode};

use super::super::memory_pool::place_of;
use super::{add, node_handle, other_kind};
use crate::border::{ApiResult, HostPtr, InArray, InOut, Out, graph, members};
use crate::process::driver;

/// What of a description cannot be found out from the allocation.
struct Described {
    location: Location,
    accesses: Vec<CUmemAccessDesc>,
}

/// The work that parameters describe.
pub(super) fn work(driver: &Driver, given: &CUDA_MEM_ALLOC_NODE_PARAMS) -> DriverResult<Work> {
    let properties = &given.poolProps;
    // As recorded, what pools cannot be is a wrong value, and what graphs cannot have of pools is not supported.
    let place = place_of(properties.location, properties.allocType)?;
    driver.check_pool(place, 0, properties.handleTypes.0)?;
    let (managed, location) = (place.managed, place.location);
    if properties.handleTypes != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE {
        let reason = "memory of graphs cannot be shared between processes";
        return Err(DriverError::new(ErrorCode::NotSupported, reason));
    }
    if location.kind != location_kind::DEVICE {
        return Err(DriverError::new(ErrorCode::NotSupported, "memory of graphs is on a device"));
    }
    // One for each device is all that there can be to say.
    if given.accessDescCount > driver.devices().len() {
        return Err(DriverError::invalid_value(format!("{} descriptions of access", given.accessDescCount)));
    }
    let accesses = graph::accesses(given.accessDescs).get(given.accessDescCount, "accessDescs")?;
    for access in &accesses {
        let place = members::location(access.location);
        if place.kind != location_kind::DEVICE {
            return Err(DriverError::invalid_value("access to memory of graphs is that of devices"));
        }
        driver.device(place.id)?;
    }
    driver.alloc_work(location.id, given.bytesize as u64, managed, Box::new(Described { location, accesses }))
}

/// The address that an allocation has got as a node.
pub(super) fn address(work: &Work) -> CUdeviceptr {
    if let Work::Alloc(alloc) = work { alloc.address() } else { 0 }
}

/// The parameters of a node. The list belongs to the node.
pub(super) fn described(alloc: &AllocWork) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    let known = alloc.given.downcast_ref::<Described>();
    // A captured allocation has no description: it is on its stream's device.
    let captured = Location { kind: location_kind::DEVICE, id: i32::try_from(alloc.ordinal).unwrap_or(0) };
    let location = known.map_or(captured, |known| known.location);
    let accesses = known.map_or(&[][..], |known| known.accesses.as_slice());
    CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps {
            allocType: if alloc.managed {
                CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED
            } else {
                CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED
            },
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: members::c_location(location),
            ..CUmemPoolProps::default()
        },
        accessDescs: std::ptr::with_exposed_provenance(accesses.as_ptr().expose_provenance()),
        accessDescCount: accesses.len(),
        bytesize: alloc.size as usize,
        dptr: alloc.address(),
    }
}

pub(crate) fn cuGraphAddMemAllocNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: InOut<'_, CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> ApiResult {
    let mut given = nodeParams.get("nodeParams")?;
    let mut added = None;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| {
        let work = work(driver, &given)?;
        added = Some(work.clone());
        Ok(work)
    })?;
    given.dptr = added.as_ref().map_or(0, address);
    nodeParams.set(given);
    Ok(())
}

pub(crate) fn cuGraphMemAllocNodeGetParams(
    hNode: CUgraphNode,
    params_out: Out<'_, CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> ApiResult {
    let place = params_out.required("params_out")?;
    match driver()?.node_work(node_handle(hNode))? {
        Work::Alloc(alloc) => place.set(described(&alloc)),
        work => return Err(other_kind(&work)),
    }
    Ok(())
}

pub(crate) fn cuGraphAddMemFreeNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    dptr: CUdeviceptr,
) -> ApiResult {
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| driver.free_work(dptr))
}

pub(crate) fn cuGraphMemFreeNodeGetParams(hNode: CUgraphNode, dptr_out: Out<'_, CUdeviceptr>) -> ApiResult {
    let place = dptr_out.required("dptr_out")?;
    match driver()?.node_work(node_handle(hNode))? {
        Work::Free(free) => place.set(free.address),
        work => return Err(other_kind(&work)),
    }
    Ok(())
}

pub(crate) fn cuDeviceGraphMemTrim(device: CUdevice) -> ApiResult {
    driver()?.trim_graph_memory(device)
}

pub(crate) fn cuDeviceGetGraphMemAttribute(device: CUdevice, attr: CUgraphMem_attribute, value: HostPtr) -> ApiResult {
    let figures = driver()?.graph_memory_use(device)?;
    let figure = match attr {
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT
        | CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => figures.bytes,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => figures.used_high,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => figures.reserved_high,
        _ => return Err(DriverError::invalid_value(format!("{} is no attribute of graph memory", attr.0))),
    };
    value.write("value", figure)
}

/// The high-water marks can be reset, and nothing else be set.
pub(crate) fn cuDeviceSetGraphMemAttribute(device: CUdevice, attr: CUgraphMem_attribute, value: HostPtr) -> ApiResult {
    driver()?.device(device)?;
    let reserved = match attr {
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => false,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => true,
        _ => return Err(DriverError::invalid_value(format!("attribute {} cannot be set", attr.0))),
    };
    if value.read_bytes("value", size_of::<u64>())?.iter().any(|byte| *byte != 0) {
        return Err(DriverError::invalid_value("a high-water mark can only be set to 0"));
    }
    driver()?.reset_graph_memory_high(device, reserved)
}
