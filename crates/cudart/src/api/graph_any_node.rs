//! Graph management: nodes of any kind, described by one structure. Most kinds look alike in both APIs.
use warploom_abi::runtime::*;
use warploom_abi::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, CUDA_MEMCPY_NODE_PARAMS, CUcontext, CUfunction,
    CUgraphNodeParams, CUgraphNodeParams_anonymous0, CUgraphNodeType, CUkernel,
};

use super::graph_node::{copy_of_node, runtime_copy};
use crate::border::{In, InOut, Out, Passed};
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};
use crate::{binaries, context};

type Kind = cudaGraphNodeType;
type FunctionType = cudaKernelFunctionType;

/// The context that a node names, or the thread's.
fn context_of(named: cudaExecutionContext_t) -> ApiResult<CUcontext> {
    if named == cudaExecutionContext_t::NULL { context::current() } else { Ok(CUcontext(named.0)) }
}

fn driver_kernel(given: &cudaKernelNodeParamsV2) -> ApiResult<CUDA_KERNEL_NODE_PARAMS_v3> {
    // SAFETY: all members of the union are addresses, valid for all bits.
    let function = unsafe { given.anonymous0.func }.expose_provenance();
    let (func, kern) = match given.functionType {
        FunctionType::cudaKernelFunctionTypeFunction => (CUfunction(function), CUkernel::NULL),
        _ => (CUfunction::NULL, binaries::kernel_of_node(function)?),
    };
    Ok(CUDA_KERNEL_NODE_PARAMS_v3 {
        func,
        gridDimX: given.gridDim.x,
        gridDimY: given.gridDim.y,
        gridDimZ: given.gridDim.z,
        blockDimX: given.blockDim.x,
        blockDimY: given.blockDim.y,
        blockDimZ: given.blockDim.z,
        sharedMemBytes: given.sharedMemBytes,
        kernelParams: given.kernelParams,
        extra: given.extra,
        kern,
        ctx: context_of(given.ctx)?,
    })
}

/// What the driver makes of a node's parameters. A context must be current.
fn driver_parameters(given: &cudaGraphNodeParams) -> ApiResult<CUgraphNodeParams> {
    let union = &given.anonymous0;
    // SAFETY: all members of the unions are numbers and addresses, valid for all bits, and of kinds that are not named both APIs
    // have the same structure.
    let anonymous0 = unsafe {
        let mut bytes = CUgraphNodeParams_anonymous0 { bytes_of_union: union.bytes_of_union };
        match given.r#type {
            Kind::cudaGraphNodeTypeKernel => bytes.kernel = driver_kernel(&union.kernel)?,
            Kind::cudaGraphNodeTypeMemcpy => {
                // The driver's takes more room: it does not see what is behind this one.
                if union.bytes_of_union[size_of::<cudaMemcpyNodeParams>()..].iter().any(|byte| *byte != 0) {
                    return Err(Failure::invalid_value("what copies do not use of nodeParams must be 0"));
                }
                let cudaMemcpyNodeParams { flags, reserved, ctx, copyParams } = union.memcpy;
                let copyParams = copy_of_node(&copyParams)?;
                bytes.memcpy = CUDA_MEMCPY_NODE_PARAMS { flags, reserved, copyCtx: context_of(ctx)?, copyParams };
            }
            Kind::cudaGraphNodeTypeMemset => bytes.memset.ctx = context_of(union.memset.ctx)?,
            Kind::cudaGraphNodeTypeConditional => bytes.conditional.ctx = context_of(union.conditional.ctx)?,
            _ => {}
        }
        bytes
    };
    Ok(CUgraphNodeParams {
        r#type: CUgraphNodeType(given.r#type.0),
        reserved0: given.reserved0,
        anonymous0,
        reserved2: given.reserved2,
    })
}

/// Adds a node; what the driver tells of it in the parameters goes back to the caller.
fn add(
    nodeParams: &InOut<'_, cudaGraphNodeParams>,
    add: impl FnOnce(&mut CUgraphNodeParams) -> ApiResult,
) -> ApiResult {
    let mut given = nodeParams.get("nodeParams")?;
    context::ensure()?;
    let mut parameters = driver_parameters(&given)?;
    add(&mut parameters)?;
    // SAFETY: as for `driver_parameters`.
    unsafe {
        match given.r#type {
            Kind::cudaGraphNodeTypeMemAlloc => {
                given.anonymous0.alloc.dptr = super::memory::pointer(parameters.anonymous0.alloc.dptr);
            }
            Kind::cudaGraphNodeTypeConditional => {
                let CUDA_CONDITIONAL_NODE_PARAMS { phGraph_out, .. } = parameters.anonymous0.conditional;
                given.anonymous0.conditional.phGraph_out = phGraph_out;
            }
            _ => return Ok(()),
        }
    }
    nodeParams.set(given);
    Ok(())
}

pub fn cudaGraphAddNode(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    numDependencies: usize,
    nodeParams: InOut<'_, cudaGraphNodeParams>,
) -> ApiResult {
    let (node, after) = (pGraphNode.get(), pDependencies.get());
    add(&nodeParams, |parameters| driver!(cuGraphAddNode_v12020(node, graph, after, numDependencies, &mut *parameters)))
}

pub fn cudaGraphAddNode_v2(
    pGraphNode: Passed<'_, cudaGraphNode_t>,
    graph: cudaGraph_t,
    pDependencies: Passed<'_, cudaGraphNode_t>,
    dependencyData: Passed<'_, cudaGraphEdgeData>,
    numDependencies: usize,
    nodeParams: InOut<'_, cudaGraphNodeParams>,
) -> ApiResult {
    let (node, after, edges) = (pGraphNode.get(), pDependencies.get(), dependencyData.cast());
    add(&nodeParams, |parameters| {
        driver!(cuGraphAddNode_v12030(node, graph, after, edges, numDependencies, &mut *parameters))
    })
}

pub fn cudaGraphNodeSetParams(node: cudaGraphNode_t, nodeParams: In<'_, cudaGraphNodeParams>) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    context::ensure()?;
    let mut parameters = driver_parameters(&given)?;
    driver!(cuGraphNodeSetParams_v12020(node, &mut parameters))
}

pub fn cudaGraphExecNodeSetParams(
    graphExec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    nodeParams: In<'_, cudaGraphNodeParams>,
) -> ApiResult {
    let given = nodeParams.get("nodeParams")?;
    context::ensure()?;
    let mut parameters = driver_parameters(&given)?;
    driver!(cuGraphExecNodeSetParams_v12020(graphExec, node, &mut parameters))
}

fn runtime_kernel(kernel: &CUDA_KERNEL_NODE_PARAMS_v3) -> cudaKernelNodeParamsV2 {
    let (func, functionType) = if kernel.kern == CUkernel::NULL {
        match binaries::stand_in_of_function(kernel.func) {
            function if function == kernel.func.0 => (function, FunctionType::cudaKernelFunctionTypeFunction),
            entry => (entry, FunctionType::cudaKernelFunctionTypeDeviceEntry),
        }
    } else {
        match binaries::stand_in(kernel.kern) {
            handle if handle == kernel.kern.0 => (handle, FunctionType::cudaKernelFunctionTypeKernel),
            entry => (entry, FunctionType::cudaKernelFunctionTypeDeviceEntry),
        }
    };
    let func = std::ptr::with_exposed_provenance_mut(func);
    cudaKernelNodeParamsV2 {
        anonymous0: cudaKernelNodeParamsV2_anonymous0 { func },
        gridDim: dim3 { x: kernel.gridDimX, y: kernel.gridDimY, z: kernel.gridDimZ },
        blockDim: dim3 { x: kernel.blockDimX, y: kernel.blockDimY, z: kernel.blockDimZ },
        sharedMemBytes: kernel.sharedMemBytes,
        kernelParams: kernel.kernelParams,
        extra: kernel.extra,
        ctx: cudaExecutionContext_t(kernel.ctx.0),
        functionType,
    }
}

/// A node's parameters in the runtime's terms. The kernel is told as what stands for it in the host program, and as what that is.
pub(super) fn runtime_parameters(parameters: &CUgraphNodeParams) -> ApiResult<cudaGraphNodeParams> {
    let kind = cudaGraphNodeType(parameters.r#type.0);
    let union = &parameters.anonymous0;
    // SAFETY: as for `driver_parameters`.
    let anonymous0 = unsafe {
        let mut bytes = cudaGraphNodeParams_anonymous0 { bytes_of_union: union.bytes_of_union };
        match kind {
            Kind::cudaGraphNodeTypeKernel => bytes.kernel = runtime_kernel(&union.kernel),
            Kind::cudaGraphNodeTypeMemcpy => {
                let CUDA_MEMCPY_NODE_PARAMS { flags, reserved, copyCtx, copyParams } = union.memcpy;
                let (ctx, copyParams) = (cudaExecutionContext_t(copyCtx.0), runtime_copy(&copyParams)?);
                bytes.memcpy = cudaMemcpyNodeParams { flags, reserved, ctx, copyParams };
            }
            _ => {}
        }
        bytes
    };
    Ok(cudaGraphNodeParams { r#type: kind, anonymous0, ..Default::default() })
}

pub fn cudaGraphNodeGetParams(node: cudaGraphNode_t, nodeParams: Out<'_, cudaGraphNodeParams>) -> ApiResult {
    let place = nodeParams.required("nodeParams")?;
    context::ensure()?;
    let mut parameters = CUgraphNodeParams::default();
    driver!(cuGraphNodeGetParams_v13020(node, &mut parameters))?;
    place.set(runtime_parameters(&parameters)?);
    Ok(())
}
