//! Graph management: nodes that compute, copy and set, which the driver describes in its own terms.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D, CUarray, CUcontext, CUkernel, CUmemorytype};

use super::memory::pointer;
use super::memory_copy::{from_symbol, to_symbol};
use super::memory_copy_3d::{driver_copy, element_of};
use crate::border::{In, Out, Passed};
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};
use crate::{binaries, context};

/// The context that nodes are made for.
fn context_of_nodes() -> ApiResult<CUcontext> {
    context::ensure()?;
    context::current()
}

/// What the driver runs for a kernel node.
pub(crate) fn driver_kernel(parameters: &cudaKernelNodeParams) -> ApiResult<CUDA_KERNEL_NODE_PARAMS_v2> {
    let context = context_of_nodes()?;
    let kernel = binaries::kernel_of_node(parameters.func.expose_provenance())?;
    Ok(CUDA_KERNEL_NODE_PARAMS_v2 {
        gridDimX: parameters.gridDim.x,
        gridDimY: parameters.gridDim.y,
        gridDimZ: parameters.gridDim.z,
        blockDimX: parameters.blockDim.x,
        blockDimY: parameters.blockDim.y,
        blockDimZ: parameters.blockDim.z,
        sharedMemBytes: parameters.sharedMemBytes,
        kernelParams: parameters.kernelParams,
        extra: parameters.extra,
        kern: kernel,
        ctx: context,
        ..Default::default()
    })
}

pub fn cudaGraphAddKernelNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    pNodeParams: In<'_, cudaKernelNodeParams>,
) -> ApiResult {
    let kernel = driver_kernel(&pNodeParams.get("pNodeParams")?)?;
    let (node, after) = (pGraphNode.get(), pDependencies.get());
    driver!(cuGraphAddKernelNode_v12000(node, graph, after, numDependencies, &kernel))
}

/// The kernel is told as what stands for it in the host program.
pub fn cudaGraphKernelNodeGetParams(node: cudaGraphNode_t, pNodeParams: Out<'_, cudaKernelNodeParams>) -> ApiResult {
    let place = pNodeParams.required("pNodeParams")?;
    context::devices()?;
    let mut kernel = CUDA_KERNEL_NODE_PARAMS_v2::default();
    driver!(cuGraphKernelNodeGetParams_v12000(node, &mut kernel))?;
    let func = match kernel.kern {
        CUkernel::NULL => binaries::stand_in_of_function(kernel.func),
        kernel => binaries::stand_in(kernel),
    };
    place.set(cudaKernelNodeParams {
        func: std::ptr::with_exposed_provenance_mut(func),
        gridDim: dim3 { x: kernel.gridDimX, y: kernel.gridDimY, z: kernel.gridDimZ },
        blockDim: dim3 { x: kernel.blockDimX, y: kernel.blockDimY, z: kernel.blockDimZ },
        sharedMemBytes: kernel.sharedMemBytes,
        kernelParams: kernel.kernelParams,
        extra: kernel.extra,
    });
    Ok(())
}

pub fn cudaGraphKernelNodeSetParams(node: cudaGraphNode_t, pNodeParams: In<'_, cudaKernelNodeParams>) -> ApiResult {
    let kernel = driver_kernel(&pNodeParams.get("pNodeParams")?)?;
    driver!(cuGraphKernelNodeSetParams_v12000(node, &kernel))
}

pub fn cudaGraphExecKernelNodeSetParams(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    pNodeParams: In<'_, cudaKernelNodeParams>,
) -> ApiResult {
    let kernel = driver_kernel(&pNodeParams.get("pNodeParams")?)?;
    driver!(cuGraphExecKernelNodeSetParams_v12000(hGraphExec, node, &kernel))
}

/// A node copies something.
pub(crate) fn copy_of_node(parameters: &cudaMemcpy3DParms) -> ApiResult<CUDA_MEMCPY3D> {
    driver_copy(parameters)?.ok_or_else(|| Failure::invalid_value("the copy of a node is empty"))
}

/// A copy of bytes without rows.
fn line(dst: *mut c_void, src: *mut c_void, count: usize, kind: cudaMemcpyKind) -> ApiResult<CUDA_MEMCPY3D> {
    let at = |ptr| cudaPitchedPtr { ptr, ..Default::default() };
    copy_of_node(&cudaMemcpy3DParms {
        srcPtr: at(src),
        dstPtr: at(dst),
        extent: cudaExtent { width: count, height: 1, depth: 1 },
        kind,
        ..Default::default()
    })
}

pub fn cudaGraphAddMemcpyNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    pCopyParams: In<'_, cudaMemcpy3DParms>,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = copy_of_node(&pCopyParams.get("pCopyParams")?)?;
    let (node, after) = (pGraphNode.get(), pDependencies.get());
    driver!(cuGraphAddMemcpyNode_v10000(node, graph, after, numDependencies, &copy, context))
}

pub fn cudaGraphMemcpyNodeSetParams(node: cudaGraphNode_t, pNodeParams: In<'_, cudaMemcpy3DParms>) -> ApiResult {
    context::ensure()?;
    let copy = copy_of_node(&pNodeParams.get("pNodeParams")?)?;
    driver!(cuGraphMemcpyNodeSetParams_v10000(node, &copy))
}

pub fn cudaGraphExecMemcpyNodeSetParams(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    pNodeParams: In<'_, cudaMemcpy3DParms>,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = copy_of_node(&pNodeParams.get("pNodeParams")?)?;
    driver!(cuGraphExecMemcpyNodeSetParams_v10020(hGraphExec, node, &copy, context))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaGraphAddMemcpyNode1D(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    dst: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = line(dst.get(), src.get(), count, kind)?;
    let (node, after) = (pGraphNode.get(), pDependencies.get());
    driver!(cuGraphAddMemcpyNode_v10000(node, graph, after, numDependencies, &copy, context))
}

pub fn cudaGraphMemcpyNodeSetParams1D(
    node: cudaGraphNode_t,
    dst: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    context::ensure()?;
    let copy = line(dst.get(), src.get(), count, kind)?;
    driver!(cuGraphMemcpyNodeSetParams_v10000(node, &copy))
}

pub fn cudaGraphExecMemcpyNodeSetParams1D(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    dst: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = line(dst.get(), src.get(), count, kind)?;
    driver!(cuGraphExecMemcpyNodeSetParams_v10020(hGraphExec, node, &copy, context))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaGraphAddMemcpyNodeToSymbol(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    symbol: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = line(to_symbol(&symbol, (offset, count), kind)?.get(), src.get(), count, kind)?;
    let (node, after) = (pGraphNode.get(), pDependencies.get());
    driver!(cuGraphAddMemcpyNode_v10000(node, graph, after, numDependencies, &copy, context))
}

pub fn cudaGraphMemcpyNodeSetParamsToSymbol(
    node: cudaGraphNode_t,
    symbol: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    context::ensure()?;
    let copy = line(to_symbol(&symbol, (offset, count), kind)?.get(), src.get(), count, kind)?;
    driver!(cuGraphMemcpyNodeSetParams_v10000(node, &copy))
}

pub fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    symbol: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = line(to_symbol(&symbol, (offset, count), kind)?.get(), src.get(), count, kind)?;
    driver!(cuGraphExecMemcpyNodeSetParams_v10020(hGraphExec, node, &copy, context))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaGraphAddMemcpyNodeFromSymbol(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    dst: Passed<'_, c_void>,
    symbol: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = line(dst.get(), from_symbol(&symbol, (offset, count), kind)?.get(), count, kind)?;
    let (node, after) = (pGraphNode.get(), pDependencies.get());
    driver!(cuGraphAddMemcpyNode_v10000(node, graph, after, numDependencies, &copy, context))
}

pub fn cudaGraphMemcpyNodeSetParamsFromSymbol(
    node: cudaGraphNode_t,
    dst: Passed<'_, c_void>,
    symbol: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    context::ensure()?;
    let copy = line(dst.get(), from_symbol(&symbol, (offset, count), kind)?.get(), count, kind)?;
    driver!(cuGraphMemcpyNodeSetParams_v10000(node, &copy))
}

pub fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    dst: Passed<'_, c_void>,
    symbol: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let context = context_of_nodes()?;
    let copy = line(dst.get(), from_symbol(&symbol, (offset, count), kind)?.get(), count, kind)?;
    driver!(cuGraphExecMemcpyNodeSetParams_v10020(hGraphExec, node, &copy, context))
}

/// What a caller described as this copy; nobody keeps how much of a row was used (`xsize`). Widths of copies with arrays count elements, and heights too: those of blocks are as many texels as they hold.
pub(crate) fn runtime_copy(copy: &CUDA_MEMCPY3D) -> ApiResult<cudaMemcpy3DParms> {
    let host = |kind| kind == CUmemorytype::CU_MEMORYTYPE_HOST;
    let unified = [copy.srcMemoryType, copy.dstMemoryType].contains(&CUmemorytype::CU_MEMORYTYPE_UNIFIED);
    let kind = match (host(copy.srcMemoryType), host(copy.dstMemoryType)) {
        _ if unified => cudaMemcpyKind::cudaMemcpyDefault,
        (true, true) => cudaMemcpyKind::cudaMemcpyHostToHost,
        (true, false) => cudaMemcpyKind::cudaMemcpyHostToDevice,
        (false, true) => cudaMemcpyKind::cudaMemcpyDeviceToHost,
        (false, false) => cudaMemcpyKind::cudaMemcpyDeviceToDevice,
    };
    let element = element_of([copy.srcArray, copy.dstArray])?;
    let source = if host(copy.srcMemoryType) { copy.srcHost.cast_mut() } else { pointer(copy.srcDevice) };
    let target = if host(copy.dstMemoryType) { copy.dstHost } else { pointer(copy.dstDevice) };
    let texels = |bytes: usize| bytes / element.bytes * element.side;
    let position = |array, x, y, z| match array {
        CUarray::NULL => cudaPos { x, y, z },
        _ => cudaPos { x: texels(x), y: y * element.side, z },
    };
    Ok(cudaMemcpy3DParms {
        srcArray: copy.srcArray,
        srcPos: position(copy.srcArray, copy.srcXInBytes, copy.srcY, copy.srcZ),
        srcPtr: cudaPitchedPtr { ptr: source, pitch: copy.srcPitch, xsize: 0, ysize: copy.srcHeight },
        dstArray: copy.dstArray,
        dstPos: position(copy.dstArray, copy.dstXInBytes, copy.dstY, copy.dstZ),
        dstPtr: cudaPitchedPtr { ptr: target, pitch: copy.dstPitch, xsize: 0, ysize: copy.dstHeight },
        extent: cudaExtent { width: texels(copy.WidthInBytes), height: copy.Height * element.side, depth: copy.Depth },
        kind,
    })
}

pub fn cudaGraphMemcpyNodeGetParams(node: cudaGraphNode_t, pNodeParams: Out<'_, cudaMemcpy3DParms>) -> ApiResult {
    let place = pNodeParams.required("pNodeParams")?;
    context::devices()?;
    let mut copy = CUDA_MEMCPY3D::default();
    driver!(cuGraphMemcpyNodeGetParams_v10000(node, &mut copy))?;
    place.set(runtime_copy(&copy)?);
    Ok(())
}

pub fn cudaGraphAddMemsetNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    pMemsetParams: Passed<'_, cudaMemsetParams>,
) -> ApiResult {
    let context = context_of_nodes()?;
    let (node, after, memset) = (pGraphNode.get(), pDependencies.get(), pMemsetParams.cast());
    driver!(cuGraphAddMemsetNode_v10000(node, graph, after, numDependencies, memset, context))
}

pub fn cudaGraphExecMemsetNodeSetParams(
    hGraphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    pNodeParams: Passed<'_, cudaMemsetParams>,
) -> ApiResult {
    let context = context_of_nodes()?;
    driver!(cuGraphExecMemsetNodeSetParams_v10020(hGraphExec, node, pNodeParams.cast(), context))
}

pub fn cudaGraphConditionalHandleCreate(
    pHandle_out: Passed<'_, cudaGraphConditionalHandle>,
    graph: cudaGraph_t,
    defaultLaunchValue: u32,
    flags: u32,
) -> ApiResult {
    let context = context_of_nodes()?;
    driver!(cuGraphConditionalHandleCreate_v12030(pHandle_out.get(), graph, context, defaultLaunchValue, flags))
}

/// A conditional handle for a context that is named, or the thread's.
pub fn cudaGraphConditionalHandleCreate_v2(
    pHandle_out: Passed<'_, cudaGraphConditionalHandle>,
    graph: cudaGraph_t,
    ctx: cudaExecutionContext_t,
    defaultLaunchValue: u32,
    flags: u32,
) -> ApiResult {
    let own = context_of_nodes()?;
    let context = if ctx == cudaExecutionContext_t::NULL { own } else { CUcontext(ctx.0) };
    driver!(cuGraphConditionalHandleCreate_v12030(pHandle_out.get(), graph, context, defaultLaunchValue, flags))
}
