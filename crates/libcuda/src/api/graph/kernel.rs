//! Kernel nodes. The first ABI version of the parameters ends before the members for kernels of libraries.
use std::collections::BTreeMap;

use warploom_abi::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v2, CUcontext, CUfunction, CUgraph, CUgraphExec, CUgraphNode,
    CUkernel, CUkernelNodeAttrID, CUkernelNodeAttrValue,
};
use warploom_driver::graph::{KernelWork, Work};
use warploom_driver::launch::LaunchShape;
use warploom_driver::stream::AttributeValue;
use warploom_driver::{Driver, DriverResult, Handle};

use super::super::execution::parameters;
use super::{add, check_context, node_handle, other_kind};
use crate::border::{ApiResult, In, InArray, InOut, Out, graph::pointers, members};
use crate::process::driver;

/// The second version of first parameters.
fn widened(first: &CUDA_KERNEL_NODE_PARAMS_v1) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func: first.func,
        gridDimX: first.gridDimX,
        gridDimY: first.gridDimY,
        gridDimZ: first.gridDimZ,
        blockDimX: first.blockDimX,
        blockDimY: first.blockDimY,
        blockDimZ: first.blockDimZ,
        sharedMemBytes: first.sharedMemBytes,
        kernelParams: first.kernelParams,
        extra: first.extra,
        ..CUDA_KERNEL_NODE_PARAMS_v2::default()
    }
}

/// The work that parameters describe, with attributes that hold already.
pub(super) fn work(
    driver: &Driver,
    given: &CUDA_KERNEL_NODE_PARAMS_v2,
    attributes: BTreeMap<u32, AttributeValue>,
) -> DriverResult<Work> {
    if given.ctx != CUcontext::NULL {
        check_context(driver, given.ctx)?;
    }
    // A kernel counts where no function is given.
    let handle = Handle::from_raw(if given.func == CUfunction::NULL { given.kern.0 } else { given.func.0 });
    let function = driver.launchable(handle)?;
    let kernel = if handle == function.handle() { Handle::NULL } else { handle };
    let shape = LaunchShape {
        grid: [given.gridDimX, given.gridDimY, given.gridDimZ],
        cta: [given.blockDimX, given.blockDimY, given.blockDimZ],
        cluster: None,
        dynamic_shared: given.sharedMemBytes,
        cooperative: false,
    };
    let parameters = parameters(&function, &pointers(given.kernelParams), &pointers(given.extra))?;
    driver.kernel_work(&function, kernel, shape, parameters, attributes, None)
}

/// The parameters of a node. The lists belong to the node.
pub(super) fn described(work: &KernelWork) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    let [gridDimX, gridDimY, gridDimZ] = work.shape.grid;
    let [blockDimX, blockDimY, blockDimZ] = work.shape.cta;
    let (func, kern) = if work.kernel.is_null() {
        (CUfunction(work.function.handle().raw()), CUkernel::NULL)
    } else {
        (CUfunction::NULL, CUkernel(work.kernel.raw()))
    };
    let kernelParams = if work.pointers.is_empty() {
        std::ptr::null_mut()
    } else {
        std::ptr::with_exposed_provenance_mut(work.pointers.as_ptr().expose_provenance())
    };
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func,
        gridDimX,
        gridDimY,
        gridDimZ,
        blockDimX,
        blockDimY,
        blockDimZ,
        sharedMemBytes: work.shape.dynamic_shared,
        kernelParams,
        extra: std::ptr::null_mut(),
        kern,
        ctx: CUcontext(match &work.green {
            Some(green) => green.handle().raw(),
            None => work.function.module().context().handle().raw(),
        }),
    }
}

fn kernel_of(driver: &Driver, node: CUgraphNode) -> DriverResult<std::sync::Arc<KernelWork>> {
    match driver.node_work(node_handle(node))? {
        Work::Kernel(kernel) => Ok(kernel),
        work => Err(other_kind(&work)),
    }
}

pub(crate) fn cuGraphAddKernelNode(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> ApiResult {
    let given = widened(&nodeParams.get("nodeParams")?);
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| work(driver, &given, BTreeMap::new()))
}

pub(crate) fn cuGraphAddKernelNode_v2(
    phGraphNode: Out<'_, CUgraphNode>,
    hGraph: CUgraph,
    dependencies: InArray<'_, CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<'_, CUDA_KERNEL_NODE_PARAMS_v2>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    add(phGraphNode, hGraph, &dependencies, numDependencies, |driver| work(driver, &given, BTreeMap::new()))
}

pub(crate) fn cuGraphKernelNodeGetParams(
    hNode: CUgraphNode,
    nodeParams: Out<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> ApiResult {
    let place = nodeParams.required("nodeParams")?;
    let found = described(&*kernel_of(driver()?, hNode)?);
    place.set(CUDA_KERNEL_NODE_PARAMS_v1 {
        func: if found.func == CUfunction::NULL { CUfunction(found.kern.0) } else { found.func },
        gridDimX: found.gridDimX,
        gridDimY: found.gridDimY,
        gridDimZ: found.gridDimZ,
        blockDimX: found.blockDimX,
        blockDimY: found.blockDimY,
        blockDimZ: found.blockDimZ,
        sharedMemBytes: found.sharedMemBytes,
        kernelParams: found.kernelParams,
        extra: found.extra,
    });
    Ok(())
}

pub(crate) fn cuGraphKernelNodeGetParams_v2(
    hNode: CUgraphNode,
    nodeParams: Out<'_, CUDA_KERNEL_NODE_PARAMS_v2>,
) -> ApiResult {
    let place = nodeParams.required("nodeParams")?;
    place.set(described(&*kernel_of(driver()?, hNode)?));
    Ok(())
}

/// The work that other parameters make of a node of a graph; its attributes stay.
pub(super) fn changed(driver: &Driver, node: CUgraphNode, given: &CUDA_KERNEL_NODE_PARAMS_v2) -> DriverResult<Work> {
    let attributes = kernel_of(driver, node)?.attributes.clone();
    work(driver, given, attributes)
}

/// Gives a node other parameters.
fn set(node: CUgraphNode, given: &CUDA_KERNEL_NODE_PARAMS_v2) -> ApiResult {
    let driver = driver()?;
    driver.set_node_work(node_handle(node), changed(driver, node, given)?)
}

pub(crate) fn cuGraphKernelNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> ApiResult {
    set(hNode, &widened(&nodeParams.get("nodeParams")?))
}

pub(crate) fn cuGraphKernelNodeSetParams_v2(
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_KERNEL_NODE_PARAMS_v2>,
) -> ApiResult {
    set(hNode, &nodeParams.get("nodeParams")?)
}

/// Gives a node of an instance other parameters; its attributes are those of the graph's node.
fn set_exec(exec: CUgraphExec, node: CUgraphNode, given: &CUDA_KERNEL_NODE_PARAMS_v2) -> ApiResult {
    let driver = driver()?;
    let exec = Handle::from_raw(exec.0);
    driver.graph_exec(exec)?;
    driver.set_exec_work(exec, node_handle(node), changed(driver, node, given)?)
}

pub(crate) fn cuGraphExecKernelNodeSetParams(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_KERNEL_NODE_PARAMS_v1>,
) -> ApiResult {
    set_exec(hGraphExec, hNode, &widened(&nodeParams.get("nodeParams")?))
}

pub(crate) fn cuGraphExecKernelNodeSetParams_v2(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: In<'_, CUDA_KERNEL_NODE_PARAMS_v2>,
) -> ApiResult {
    set_exec(hGraphExec, hNode, &nodeParams.get("nodeParams")?)
}

pub(crate) fn cuGraphKernelNodeGetAttribute(
    hNode: CUgraphNode,
    attr: CUkernelNodeAttrID,
    value_out: Out<'_, CUkernelNodeAttrValue>,
) -> ApiResult {
    let place = value_out.required("value_out")?;
    let bytes_of_union = kernel_of(driver()?, hNode)?.attribute(attr.0)?;
    place.set(CUkernelNodeAttrValue { bytes_of_union });
    Ok(())
}

pub(crate) fn cuGraphKernelNodeSetAttribute(
    hNode: CUgraphNode,
    attr: CUkernelNodeAttrID,
    place: InOut<'_, CUkernelNodeAttrValue>,
) -> ApiResult {
    let value = members::attribute_value(&place.get("value")?);
    let driver = driver()?;
    let kernel = kernel_of(driver, hNode)?;
    let mut attributes = kernel.attributes.clone();
    attributes.insert(attr.0, value);
    driver.set_node_work(node_handle(hNode), driver.with_attributes_of(&kernel, attributes)?)?;
    if attr == CUkernelNodeAttrID::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE {
        // The pointer is to const, and the node's name is written there all the same, as documented.
        let bytes_of_union = kernel_of(driver, hNode)?.attribute(attr.0)?;
        place.set(CUkernelNodeAttrValue { bytes_of_union });
    }
    Ok(())
}

pub(crate) fn cuGraphKernelNodeCopyAttributes(dst: CUgraphNode, src: CUgraphNode) -> ApiResult {
    let driver = driver()?;
    let (source, kernel) = (kernel_of(driver, src)?, kernel_of(driver, dst)?);
    source.refuse_updatable("give its attributes to another")?;
    kernel.refuse_updatable("have those of another")?;
    let attributes = source.attributes.clone();
    driver.set_node_work(node_handle(dst), driver.with_attributes_of(&kernel, attributes)?)
}
