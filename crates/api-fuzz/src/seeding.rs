//! Objects made as the manual says, for random calls to act upon: hardly any random call makes a texture or a graph of kernels.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use fastrand::Rng;
use warploom_abi::types::*;

use crate::descriptors::FILE;
use crate::driver::Driver;
use crate::pool::Pool;
use crate::scene::{Scene, callback};

/// Bytes of a range of virtual addresses: the granularity of all drivers.
const RANGE: u64 = 2 << 20;

fn address_of<T>(value: &T) -> u64 {
    std::ptr::from_ref(value).expose_provenance() as u64
}

/// Seeds with the driver's current context.
pub(crate) struct Seeding<'a> {
    pub(crate) driver: &'a Driver,
    pub(crate) pool: &'a mut Pool,
    pub(crate) scene: &'a Scene,
}

impl Seeding<'_> {
    /// Makes objects of some kinds. What fails, because a kernel has faulted or memory is short, is not there.
    pub(crate) fn some(&mut self, rng: &mut Rng) {
        for size in [256, 4096, 1 << 20] {
            self.make("CUdeviceptr_v2", "cuMemAlloc_v2", |output| vec![output, size]);
        }
        let kinds =
            [Self::module, Self::arrays, Self::graph, Self::range, Self::streams, Self::memory_nodes, Self::imports];
        for kind in kinds {
            if rng.bool() {
                kind(self);
            }
        }
    }

    /// Keeps what a function makes.
    fn make(&mut self, kind: &'static str, symbol: &str, arguments: impl FnOnce(u64) -> Vec<u64>) -> Option<u64> {
        let made = self.driver.ask(symbol, arguments)?;
        self.pool.add(kind, made);
        Some(made)
    }

    fn module(&mut self) {
        let image = self.scene.first_image().address;
        let Some(module) = self.make("CUmodule", "cuModuleLoadData", |output| vec![output, image]) else { return };
        for name in [c"nothing", c"arguments", c"shared_sum", c"bounded", c"busy"] {
            self.make("CUfunction", "cuModuleGetFunction", |output| {
                vec![output, module, name.as_ptr().expose_provenance() as u64]
            });
        }
        let name = c"tex".as_ptr().expose_provenance() as u64;
        self.make("CUtexref", "cuModuleGetTexRef", |output| vec![output, module, name]);
        self.make("CUlibrary", "cuLibraryLoadData", |output| vec![output, image]);
        self.make("CUlinkState", "cuLinkCreate_v2", |output| vec![0, 0, 0, output]);
    }

    fn arrays(&mut self) {
        let mut shape = CUDA_ARRAY3D_DESCRIPTOR::default();
        (shape.Width, shape.Height, shape.NumChannels, shape.Format) = (32, 16, 1, CUarray_format(0x20));
        // For surfaces as well.
        shape.Flags = 2;
        let shape_at = address_of(&shape);
        let Some(array) = self.make("CUarray", "cuArray3DCreate_v2", |output| vec![output, shape_at]) else { return };
        let mut resource = CUDA_RESOURCE_DESC::default();
        resource.res.array.hArray = CUarray(array as usize);
        let how = CUDA_TEXTURE_DESC::default();
        let (resource, how) = (address_of(&resource), address_of(&how));
        self.make("CUtexObject_v1", "cuTexObjectCreate", |output| vec![output, resource, how]);
        self.make("CUsurfObject_v1", "cuSurfObjectCreate", |output| vec![output, resource]);
    }

    fn graph(&mut self) {
        self.module();
        let Some(function) = self.pool.all("CUfunction").first().copied() else { return };
        let Some(memory) = self.pool.all("CUdeviceptr_v2").last().copied() else { return };
        let Some(graph) = self.make("CUgraph", "cuGraphCreate", |output| vec![output]) else { return };
        let mut launch = CUDA_KERNEL_NODE_PARAMS { func: CUfunction(function as usize), ..Default::default() };
        (launch.gridDimX, launch.gridDimY, launch.gridDimZ) = (2, 1, 1);
        (launch.blockDimX, launch.blockDimY, launch.blockDimZ) = (32, 1, 1);
        let launch = address_of(&launch);
        let kernel = self.make("CUgraphNode", "cuGraphAddKernelNode_v2", |output| vec![output, graph, 0, 0, launch]);
        let before = kernel.unwrap_or_default();
        let (list, count) = (address_of(&before), u64::from(before != 0));
        let mut set = CUDA_MEMSET_NODE_PARAMS::default();
        (set.dst, set.elementSize, set.width, set.height) = (memory as CUdeviceptr, 4, 16, 1);
        let set = address_of(&set);
        let context = self.driver.ask("cuCtxGetCurrent", |output| vec![output]).unwrap_or_default();
        self.make("CUgraphNode", "cuGraphAddMemsetNode", |output| vec![output, graph, list, count, set, context]);
        let function = CUhostFn(callback as extern "C" fn() -> usize as usize);
        let host = CUDA_HOST_NODE_PARAMS { r#fn: function, ..Default::default() };
        let host = address_of(&host);
        self.make("CUgraphNode", "cuGraphAddHostNode", |output| vec![output, graph, list, count, host]);
        self.make("CUgraphNode", "cuGraphAddEmptyNode", |output| vec![output, graph, list, count]);
        let write = CUstreamBatchMemOpParams_v1_writeValue {
            operation: CUstreamBatchMemOpType(2),
            address: memory as CUdeviceptr,
            ..Default::default()
        };
        let mut operation = CUstreamBatchMemOpParams { writeValue: write };
        let batch = CUDA_BATCH_MEM_OP_NODE_PARAMS {
            ctx: CUcontext(context as usize),
            count: 1,
            paramArray: &raw mut operation,
            ..Default::default()
        };
        let batch = address_of(&batch);
        self.make("CUgraphNode", "cuGraphAddBatchMemOpNode", |output| vec![output, graph, list, count, batch]);
        self.semaphore_nodes(graph);
        self.make("CUgraphExec", "cuGraphInstantiateWithFlags", |output| vec![output, graph]);
    }

    fn semaphore_nodes(&mut self, graph: u64) {
        let Some(semaphore) = self.pool.all("CUexternalSemaphore").last().copied() else { return };
        let mut semaphore = CUexternalSemaphore(semaphore as usize);
        let (signal, wait) = Default::default();
        let signals = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
            extSemArray: &raw mut semaphore,
            paramsArray: &raw const signal,
            numExtSems: 1,
        };
        let waits = CUDA_EXT_SEM_WAIT_NODE_PARAMS {
            extSemArray: &raw mut semaphore,
            paramsArray: &raw const wait,
            numExtSems: 1,
        };
        let (signals, waits) = (address_of(&signals), address_of(&waits));
        let symbols =
            [("cuGraphAddExternalSemaphoresSignalNode", signals), ("cuGraphAddExternalSemaphoresWaitNode", waits)];
        for (symbol, parameters) in symbols {
            self.make("CUgraphNode", symbol, |output| vec![output, graph, 0, 0, parameters]);
        }
    }

    fn range(&mut self) {
        let mut properties = CUmemAllocationProp::default();
        (properties.r#type, properties.location.r#type) = (CUmemAllocationType(1), CUmemLocationType(1));
        let properties = address_of(&properties);
        let Some(range) = self.make("CUdeviceptr_v2", "cuMemAddressReserve", |output| vec![output, RANGE]) else {
            return;
        };
        let kind = "CUmemGenericAllocationHandle_v1";
        let Some(memory) = self.make(kind, "cuMemCreate", |output| vec![output, RANGE, properties]) else { return };
        let mut access = CUmemAccessDesc::default();
        (access.location.r#type, access.flags) = (CUmemLocationType(1), CUmemAccess_flags(3));
        self.driver.call("cuMemMap", &[range, RANGE, 0, memory, 0]);
        self.driver.call("cuMemSetAccess", &[range, RANGE, address_of(&access), 1]);
    }

    fn streams(&mut self) {
        self.make("CUstream", "cuStreamCreate", |output| vec![output, 0]);
        let stream = self.make("CUstream", "cuStreamCreate", |output| vec![output, 1]).unwrap_or_default();
        let event = self.make("CUevent", "cuEventCreate", |output| vec![output, 0]).unwrap_or_default();
        self.driver.call("cuEventRecord", &[event, stream]);
        self.make("CUevent", "cuEventCreate", |output| vec![output, 6]);
    }

    fn imports(&mut self) {
        let descriptors = &self.scene.descriptors;
        let (counter, timeline, memory) = (descriptors.counter(), descriptors.timeline(), descriptors.memory());
        // CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, .._TIMELINE_SEMAPHORE_FD
        for (kind, descriptor) in [(1, counter), (9, timeline)] {
            let Some(descriptor) = descriptor else { continue };
            let mut what = CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC::default();
            (what.r#type, what.handle.fd) = (CUexternalSemaphoreHandleType(kind), descriptor.as_raw_fd());
            let what = address_of(&what);
            self.import("CUexternalSemaphore", "cuImportExternalSemaphore", what, descriptor);
        }
        let Some(descriptor) = memory else { return };
        let mut what = CUDA_EXTERNAL_MEMORY_HANDLE_DESC::default();
        (what.r#type, what.handle.fd, what.size) = (CUexternalMemoryHandleType(1), descriptor.as_raw_fd(), FILE);
        let what = address_of(&what);
        let Some(memory) = self.import("CUexternalMemory", "cuImportExternalMemory", what, descriptor) else { return };
        let part = CUDA_EXTERNAL_MEMORY_BUFFER_DESC { offset: 4096, size: 65_536, ..Default::default() };
        let part = address_of(&part);
        self.make("CUdeviceptr_v2", "cuExternalMemoryGetMappedBuffer", |output| vec![output, memory, part]);
    }

    /// A descriptor is the driver's once it is imported.
    fn import(&mut self, kind: &'static str, symbol: &str, what: u64, descriptor: OwnedFd) -> Option<u64> {
        let made = self.make(kind, symbol, |output| vec![output, what])?;
        let _ = descriptor.into_raw_fd();
        Some(made)
    }

    fn memory_nodes(&mut self) {
        let mut properties = CUmemPoolProps::default();
        (properties.allocType, properties.location.r#type) = (CUmemAllocationType(1), CUmemLocationType(1));
        let properties = address_of(&properties);
        let Some(pool) = self.make("CUmemoryPool", "cuMemPoolCreate", |output| vec![output, properties]) else {
            return;
        };
        self.make("CUdeviceptr_v2", "cuMemAllocFromPoolAsync", |output| vec![output, 70_000, pool, 0]);
        self.make("CUdeviceptr_v2", "cuMemAllocAsync", |output| vec![output, 5 << 20, 0]);
        self.make("CUdeviceptr_v2", "cuMemAllocManaged", |output| vec![output, 4096, 1]);
        self.make("host address", "cuMemHostAlloc", |output| vec![output, 4096, 2]);
    }
}
