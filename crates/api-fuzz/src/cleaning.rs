//! Destroys everything that a round may have left, so that what is still taken afterwards is a leak.

use warploom_abi::CUresult;

use crate::driver::Driver;
use crate::pool::Pool;
use crate::scene::Scene;

/// By kind, in an order in which nothing is destroyed before what stands on it: the function whose first argument is the object.
const DESTROYERS: [(&str, &str); 21] = [
    ("CUlogsCallbackHandle", "cuLogsUnregisterCallback"),
    ("CUgraphExec", "cuGraphExecDestroy"),
    ("CUgraph", "cuGraphDestroy"),
    ("CUlinkState", "cuLinkDestroy"),
    ("CUtexref", "cuTexRefDestroy"),
    ("CUtexObject_v1", "cuTexObjectDestroy"),
    ("CUsurfObject_v1", "cuSurfObjectDestroy"),
    ("CUarray", "cuArrayDestroy"),
    ("CUmipmappedArray", "cuMipmappedArrayDestroy"),
    ("CUevent", "cuEventDestroy_v2"),
    ("CUdeviceptr_v2", "cuMemFree_v2"),
    ("host address", "cuMemFreeHost"),
    ("CUmemoryPool", "cuMemPoolDestroy"),
    ("CUmemGenericAllocationHandle_v1", "cuMemRelease"),
    ("CUmodule", "cuModuleUnload"),
    ("CUlibrary", "cuLibraryUnload"),
    ("CUstream", "cuStreamDestroy_v2"),
    ("CUuserObject", "cuUserObjectRelease"),
    ("CUgreenCtx", "cuGreenCtxDestroy"),
    ("CUexternalMemory", "cuDestroyExternalMemory"),
    ("CUexternalSemaphore", "cuDestroyExternalSemaphore"),
];

/// Devices that there may be.
const DEVICES: u64 = 2;

/// The handles of the legacy stream and of a thread's own.
const DEFAULT_STREAMS: [u64; 2] = [1, 2];

/// Sizes that ranges of virtual addresses have.
const RANGES: [u64; 3] = [2 << 20, 4 << 20, 8 << 20];

/// See the head of the file. What is destroyed already answers with an error, which is of no interest here.
pub(crate) fn destroy_everything(driver: &Driver, pool: &mut Pool, scene: &Scene) {
    // Most objects can be destroyed only while their own context is current, and a context may be current on the stack only.
    let primary = driver.ask("cuDevicePrimaryCtxRetain", |output| vec![output, 0]);
    let contexts: Vec<u64> = pool.all("CUcontext").iter().copied().chain(primary).collect();
    // A capture anywhere keeps memory from being freed.
    for context in &contexts {
        driver.call("cuCtxSetCurrent", &[*context]);
        for stream in pool.all("CUstream").iter().copied().chain(DEFAULT_STREAMS).collect::<Vec<u64>>() {
            if let Some(graph) = driver.ask("cuStreamEndCapture", |output| vec![stream, output]) {
                pool.add("CUgraph", graph);
            }
        }
    }
    for context in contexts {
        if driver.call("cuCtxSetCurrent", &[context]) == CUresult::CUDA_SUCCESS {
            driver.call("cuCtxSynchronize", &[]);
            destroy_objects(driver, pool);
        }
    }
    for context in pool.all("CUcontext") {
        driver.call("cuCtxDestroy_v2", &[*context]);
    }
    for page in (scene.host.address()..scene.host.address() + scene.host.size()).step_by(4096) {
        driver.call("cuMemHostUnregister", &[page as u64]);
    }
    for device in 0..DEVICES {
        while driver.call("cuDevicePrimaryCtxRelease_v2", &[device]) == CUresult::CUDA_SUCCESS {}
        // What pools keep for their next use.
        if let Some(pool) = driver.ask("cuDeviceGetDefaultMemPool", |output| vec![output, device]) {
            driver.call("cuDeviceSetMemPool", &[device, pool]);
            driver.call("cuMemPoolTrimTo", &[pool, 0]);
        }
        driver.call("cuDeviceGraphMemTrim", &[device]);
    }
    while driver.ask("cuCtxPopCurrent_v2", |output| vec![output]).is_some() {}
    pool.clear();
    scene.forget_kept();
}

fn destroy_objects(driver: &Driver, pool: &Pool) {
    for address in pool.all("CUdeviceptr_v2") {
        for size in RANGES {
            driver.call("cuMemUnmap", &[*address, size]);
            driver.call("cuMemAddressFree", &[*address, size]);
        }
    }
    for (kind, symbol) in DESTROYERS {
        for value in pool.all(kind) {
            // What is counted is released as often as it was retained.
            while driver.call(symbol, &[*value, 1]) == CUresult::CUDA_SUCCESS && symbol.ends_with("Release") {}
        }
    }
}
