//! The application's own functions: from the address that came in to a closure that the driver can run.
use std::sync::Arc;

use warploom_abi::{
    CUgraphNode, CUgraphNodeParams, CUgraphRecaptureCallback, CUgraphRecaptureStatus, CUhostFn, CUlogLevel,
    CUlogsCallback, CUoccupancyB2DSize, CUresult, CUstream, CUstreamCallback,
};

use warploom_driver::graph::HostWork;

use super::{HostAddress, foreign, state};

/// A host function in a stream (`cuLaunchHostFunc`) or a graph; `kind` says which, for reports. `callback` must not be NULL.
pub(crate) fn host_function(kind: &'static str, callback: CUhostFn, data: HostAddress) -> HostWork {
    let call = Arc::new(move || {
        // SAFETY: the C caller promised a function of this type at the address, good as long as it may be called: until it has
        // run in a stream, or for the life of a graph.
        state::during_callback(|| unsafe {
            foreign::call(kind, callback.0, [data.0, 0, 0, 0, 0]);
        });
    });
    HostWork { function: callback.0, data: data.0, call }
}

/// A stream callback (`cuStreamAddCallback`), which is told how its stream does. `callback` must not be NULL.
pub(crate) fn stream_callback(
    callback: CUstreamCallback,
    stream: CUstream,
    data: HostAddress,
) -> impl FnOnce(CUresult) + Send + 'static {
    move |status| {
        // SAFETY: as for a host function.
        state::during_callback(|| unsafe {
            let arguments = [stream.0, status.0 as usize, data.0, 0, 0];
            foreign::call("a stream callback (cuStreamAddCallback)", callback.0, arguments);
        });
    }
}

/// How much dynamic shared memory a CTA of `size` threads needs, says the application (`cuOccupancyMaxPotentialBlockSize`).
/// `callback` must not be NULL. It runs within the call and may call the driver.
pub(crate) fn shared_memory_of(callback: CUoccupancyB2DSize, size: i32) -> usize {
    // SAFETY: the C caller promised a function of this type at the address.
    unsafe { foreign::call("a callback of cuOccupancyMaxPotentialBlockSize", callback.0, [size as usize, 0, 0, 0, 0]) }
}

/// Asks the application about the parameters that a node had and gets (`cuStreamBeginRecaptureToGraph`). `callback` must not be
/// NULL. It runs within the call that is captured.
pub(crate) fn recaptured(
    callback: CUgraphRecaptureCallback,
    data: HostAddress,
    node: CUgraphNode,
    parameters: [&CUgraphNodeParams; 2],
    status: CUgraphRecaptureStatus,
) -> CUresult {
    let [before, now] = parameters.map(|parameters| std::ptr::from_ref(parameters).expose_provenance());
    // SAFETY: the C caller promised a function of this type at the address, good as long as the capture; the parameters outlive
    // the call.
    let result = unsafe {
        let arguments = [data.0, node.0, before, now, status.0 as usize];
        foreign::call("a callback of cuStreamBeginRecaptureToGraph", callback.0, arguments)
    };
    CUresult(result as u32)
}

/// Hands one line of the log to the application. It runs within the call that failed and may call the driver.
pub(super) fn log_line(callback: CUlogsCallback, data: HostAddress, text: &str) {
    let mut message = text.as_bytes().to_vec();
    let length = message.len();
    message.push(0);
    let level = CUlogLevel::CU_LOG_LEVEL_ERROR;
    // SAFETY: the C caller promised a function of this type at the address; the message ends in NUL and outlives the call.
    unsafe {
        let arguments = [data.0, level.0 as usize, message.as_mut_ptr().expose_provenance(), length, 0];
        foreign::call("a callback of cuLogsRegisterCallback", callback.0, arguments);
    }
}
