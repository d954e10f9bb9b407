//! Structures of graph nodes: unions, and lists behind pointers, in both directions.
use std::ffi::c_void;

use warploom_abi::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, CUDA_CHILD_GRAPH_NODE_PARAMS,
    CUDA_CONDITIONAL_NODE_PARAMS, CUDA_EVENT_RECORD_NODE_PARAMS, CUDA_EVENT_WAIT_NODE_PARAMS,
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2, CUDA_EXT_SEM_WAIT_NODE_PARAMS,
    CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    CUDA_HOST_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, CUDA_MEM_ALLOC_NODE_PARAMS_v1,
    CUDA_MEM_ALLOC_NODE_PARAMS_v2, CUDA_MEM_FREE_NODE_PARAMS, CUDA_MEMCPY_BATCH_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS,
    CUDA_MEMSET_NODE_PARAMS_v2, CUcontext, CUdeviceptr, CUevent, CUexternalSemaphore, CUgraphNodeParams,
    CUgraphNodeParams_anonymous0, CUgraphNodeType, CUmemAccessDesc, CUmemcpyAttributes, CUstreamBatchMemOpParams,
};
use warploom_driver::{DriverError, DriverResult, ErrorCode};

use super::{HostPtr, InArray, arg};

/// The parameters of a node, by its kind.
pub(crate) enum NodeParameters {
    Kernel(CUDA_KERNEL_NODE_PARAMS_v2),
    Copy(CUDA_MEMCPY_NODE_PARAMS),
    Copies(CUDA_MEMCPY_BATCH_NODE_PARAMS),
    Fill(CUDA_MEMSET_NODE_PARAMS_v2),
    Host(CUDA_HOST_NODE_PARAMS_v2),
    Graph(CUDA_CHILD_GRAPH_NODE_PARAMS),
    Empty,
    WaitEvent(CUevent),
    RecordEvent(CUevent),
    Alloc(CUDA_MEM_ALLOC_NODE_PARAMS_v1),
    Free(CUdeviceptr),
    Signals(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS),
    Waits(CUDA_EXT_SEM_WAIT_NODE_PARAMS),
    Batch(CUDA_BATCH_MEM_OP_NODE_PARAMS_v1),
    Conditional(CUDA_CONDITIONAL_NODE_PARAMS),
}

/// How many bytes of the union nodes of a kind use.
fn used(kind: CUgraphNodeType) -> usize {
    type Kind = CUgraphNodeType;
    match kind {
        Kind::CU_GRAPH_NODE_TYPE_KERNEL => size_of::<CUDA_KERNEL_NODE_PARAMS_v3>(),
        Kind::CU_GRAPH_NODE_TYPE_MEMCPY => size_of::<CUDA_MEMCPY_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_MEMCPY_BATCH => size_of::<CUDA_MEMCPY_BATCH_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_MEMSET => size_of::<CUDA_MEMSET_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_HOST => size_of::<CUDA_HOST_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_GRAPH => size_of::<CUDA_CHILD_GRAPH_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_EMPTY => 0,
        Kind::CU_GRAPH_NODE_TYPE_WAIT_EVENT => size_of::<CUDA_EVENT_WAIT_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_EVENT_RECORD => size_of::<CUDA_EVENT_RECORD_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC => size_of::<CUDA_MEM_ALLOC_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_MEM_FREE => size_of::<CUDA_MEM_FREE_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL => size_of::<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => size_of::<CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => size_of::<CUDA_BATCH_MEM_OP_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL => size_of::<CUDA_CONDITIONAL_NODE_PARAMS>(),
        _ => size_of::<CUgraphNodeParams_anonymous0>(),
    }
}

/// The parameters in the structure that is common to all kinds.
///
/// # Errors
/// `InvalidValue` for reserved members that are not 0 and unknown kinds, `NotSupported` for kinds that do not work yet.
pub(crate) fn node_parameters(given: &CUgraphNodeParams) -> DriverResult<NodeParameters> {
    type Kind = CUgraphNodeType;
    if given.reserved0 != [0; 3] || given.reserved2 != 0 {
        return Err(DriverError::invalid_value("reserved members of nodeParams must be 0"));
    }
    let union = &given.anonymous0;
    // SAFETY: all members are plain numbers and addresses, which are bytes.
    let bytes = unsafe { union.bytes_of_union };
    if bytes[used(given.r#type)..].iter().any(|byte| *byte != 0) {
        let reason = format!("what {:?} does not use of nodeParams must be 0", given.r#type);
        return Err(DriverError::invalid_value(reason));
    }
    // SAFETY: the number says which member the program wrote, and all members are plain numbers and addresses.
    Ok(unsafe {
        match given.r#type {
            Kind::CU_GRAPH_NODE_TYPE_KERNEL => {
                let kernel = union.kernel;
                NodeParameters::Kernel(CUDA_KERNEL_NODE_PARAMS_v2 {
                    func: kernel.func,
                    gridDimX: kernel.gridDimX,
                    gridDimY: kernel.gridDimY,
                    gridDimZ: kernel.gridDimZ,
                    blockDimX: kernel.blockDimX,
                    blockDimY: kernel.blockDimY,
                    blockDimZ: kernel.blockDimZ,
                    sharedMemBytes: kernel.sharedMemBytes,
                    kernelParams: kernel.kernelParams,
                    extra: kernel.extra,
                    kern: kernel.kern,
                    ctx: kernel.ctx,
                })
            }
            Kind::CU_GRAPH_NODE_TYPE_MEMCPY => NodeParameters::Copy(union.memcpy),
            Kind::CU_GRAPH_NODE_TYPE_MEMCPY_BATCH => NodeParameters::Copies(union.memcpyBatch),
            Kind::CU_GRAPH_NODE_TYPE_MEMSET => NodeParameters::Fill(union.memset),
            Kind::CU_GRAPH_NODE_TYPE_HOST => NodeParameters::Host(union.host),
            Kind::CU_GRAPH_NODE_TYPE_GRAPH => NodeParameters::Graph(union.graph),
            Kind::CU_GRAPH_NODE_TYPE_EMPTY => NodeParameters::Empty,
            Kind::CU_GRAPH_NODE_TYPE_WAIT_EVENT => NodeParameters::WaitEvent(union.eventWait.event),
            Kind::CU_GRAPH_NODE_TYPE_EVENT_RECORD => NodeParameters::RecordEvent(union.eventRecord.event),
            Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
                let alloc = union.alloc;
                NodeParameters::Alloc(CUDA_MEM_ALLOC_NODE_PARAMS_v1 {
                    poolProps: alloc.poolProps,
                    accessDescs: alloc.accessDescs,
                    accessDescCount: alloc.accessDescCount,
                    bytesize: alloc.bytesize,
                    dptr: alloc.dptr,
                })
            }
            Kind::CU_GRAPH_NODE_TYPE_MEM_FREE => NodeParameters::Free(union.free.dptr),
            Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL => {
                let second = union.extSemSignal;
                NodeParameters::Signals(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
                    extSemArray: second.extSemArray,
                    paramsArray: second.paramsArray,
                    numExtSems: second.numExtSems,
                })
            }
            Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
                let second = union.extSemWait;
                NodeParameters::Waits(CUDA_EXT_SEM_WAIT_NODE_PARAMS {
                    extSemArray: second.extSemArray,
                    paramsArray: second.paramsArray,
                    numExtSems: second.numExtSems,
                })
            }
            Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => {
                let batch = union.memOp;
                NodeParameters::Batch(CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 {
                    ctx: batch.ctx,
                    count: batch.count,
                    paramArray: batch.paramArray,
                    flags: batch.flags,
                })
            }
            Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL => NodeParameters::Conditional(union.conditional),
            CUgraphNodeType(15..=18) => {
                let reason = format!("{:?} is not supported", given.r#type);
                return Err(DriverError::new(ErrorCode::NotSupported, reason));
            }
            unknown => return Err(DriverError::invalid_value(format!("{} is no kind of node", unknown.0))),
        }
    })
}

/// The list of parameters in the structure of a kernel node.
pub(crate) fn pointers(list: *mut *mut c_void) -> InArray<'static, HostPtr> {
    // SAFETY: the C caller promised that the members of its structure are good for the call.
    unsafe { arg(list) }
}

/// The operations in the structure of a batch.
pub(crate) fn operations(list: *mut CUstreamBatchMemOpParams) -> InArray<'static, CUstreamBatchMemOpParams> {
    // SAFETY: as for `pointers`.
    unsafe { arg(list) }
}

/// The lists in the structure of a batch of copies.
pub(crate) struct CopyLists {
    pub(crate) dsts: InArray<'static, CUdeviceptr>,
    pub(crate) srcs: InArray<'static, CUdeviceptr>,
    pub(crate) sizes: InArray<'static, usize>,
    pub(crate) attributes: InArray<'static, CUmemcpyAttributes>,
    pub(crate) starts: InArray<'static, usize>,
}

/// As for the others.
pub(crate) fn copies(given: &CUDA_MEMCPY_BATCH_NODE_PARAMS) -> CopyLists {
    // SAFETY: as for `pointers`.
    unsafe {
        CopyLists {
            dsts: arg(given.dsts),
            srcs: arg(given.srcs),
            sizes: arg(given.sizes),
            attributes: arg(given.attrs),
            starts: arg(given.attrsIdxs),
        }
    }
}

/// The context of a batch of copies.
pub(crate) fn context_of_copies(given: &CUDA_MEMCPY_BATCH_NODE_PARAMS) -> CUcontext {
    // SAFETY: both members of the union are handles.
    unsafe { given.anonymous0.ctx }
}

/// The semaphores in the structure of a node.
pub(crate) fn semaphores(list: *mut CUexternalSemaphore) -> InArray<'static, CUexternalSemaphore> {
    // SAFETY: as for `pointers`.
    unsafe { arg(list) }
}

/// What they are signalled with.
pub(crate) fn signals(
    list: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
) -> InArray<'static, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> {
    // SAFETY: as for `pointers`.
    unsafe { arg(list) }
}

/// What of them is waited for.
pub(crate) fn waits(
    list: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
) -> InArray<'static, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> {
    // SAFETY: as for `pointers`.
    unsafe { arg(list) }
}

/// What semaphores are used with, kept for as long as a program may ask for it.
pub(crate) struct KeptParameters<T>(pub(crate) Vec<T>);

// SAFETY: numbers, and addresses that nothing follows.
unsafe impl Send for KeptParameters<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> {}
// SAFETY: as above.
unsafe impl Sync for KeptParameters<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> {}
// SAFETY: as above.
unsafe impl Send for KeptParameters<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> {}
// SAFETY: as above.
unsafe impl Sync for KeptParameters<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> {}

/// The access descriptions in the structure of an allocation.
pub(crate) fn accesses(list: *const CUmemAccessDesc) -> InArray<'static, CUmemAccessDesc> {
    // SAFETY: as for `pointers`.
    unsafe { arg(list) }
}
