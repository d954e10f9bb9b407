//! Stream management: captures that go through the nodes of a graph again.
use std::collections::BTreeMap;
use std::ffi::c_void;

use parking_lot::Mutex;
use warploom_abi::runtime::*;
use warploom_abi::{
    CUgraph, CUgraphNode, CUgraphNodeParams, CUgraphRecaptureCallback, CUresult, CUstream, CUstreamCaptureMode,
};

use super::graph_any_node::runtime_parameters;
use crate::border::{DefaultStream, In};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

/// A program's callback and what it is called with, by their addresses.
type Asked = (usize, usize);

/// What the driver is given in place of the program's callbacks. Each stays for the process: the driver does not say when a capture
/// has ended, and programs have few.
static ASKED: Mutex<BTreeMap<Asked, &'static Asked>> = Mutex::new(BTreeMap::new());

pub fn cudaStreamBeginRecaptureToGraph(
    default: DefaultStream,
    stream: CUstream,
    mode: cudaStreamCaptureMode,
    graph: CUgraph,
    callbackData: In<'_, cudaGraphRecaptureCallbackData>,
) -> ApiResult {
    let given = callbackData.optional();
    context::ensure()?;
    let (stream, mode) = (default.stream(stream), CUstreamCaptureMode(mode.0));
    let asked = given.filter(|given| given.callbackFunc.0 != 0);
    let (function, data) = asked.map_or((CUgraphRecaptureCallback::default(), std::ptr::null_mut()), |given| {
        let asked = (given.callbackFunc.0, given.userData.expose_provenance());
        let kept: *const Asked = *ASKED.lock().entry(asked).or_insert_with(|| Box::leak(Box::new(asked)));
        (CUgraphRecaptureCallback(recaptured as *const () as usize), kept.cast_mut().cast::<c_void>())
    });
    driver!(cuStreamBeginRecaptureToGraph_v13030(stream, mode, graph, function, data))
}

/// Asks the program in the runtime's terms. Both APIs number statuses and errors alike.
unsafe extern "C-unwind" fn recaptured(
    data: *mut c_void,
    node: CUgraphNode,
    before: *const CUgraphNodeParams,
    now: *const CUgraphNodeParams,
    status: u32,
) -> u32 {
    // SAFETY: the driver calls with what was given to it, which stays for the process, and with two nodes' parameters.
    let ((function, data), before, now) = unsafe { (*data.cast::<Asked>(), &*before, &*now) };
    let parameters = runtime_parameters(before).and_then(|before| Ok((before, runtime_parameters(now)?)));
    let (before, now) = match parameters {
        Ok(parameters) => parameters,
        Err(failure) => {
            crate::border::remember("cudaStreamBeginRecaptureToGraph", &failure);
            return CUresult::CUDA_ERROR_UNKNOWN.0;
        }
    };
    type Callback = unsafe extern "C-unwind" fn(
        usize,
        CUgraphNode,
        *const cudaGraphNodeParams,
        *const cudaGraphNodeParams,
        u32,
    ) -> u32;
    // SAFETY: the program promised a function of this type at the address, good as long as the capture.
    unsafe {
        let function: Callback = std::mem::transmute(std::ptr::with_exposed_provenance::<c_void>(function));
        function(data, node, &raw const before, &raw const now, status)
    }
}
