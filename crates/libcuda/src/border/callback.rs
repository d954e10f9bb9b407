//! The application's own functions: from the address that came in to a closure that the driver can run.
use std::ffi::c_void;
use std::sync::Arc;

use warploom_abi::{
    CUhostFn, CUlogLevel, CUlogsCallback, CUoccupancyB2DSize, CUresult, CUstream, CUstreamCallback, Callback,
};

use warploom_driver::graph::HostWork;

use super::{HostPtr, state};

/// The function at an address that a C caller passed for it.
///
/// # Safety
/// `address` is that of a function of the type `C::Fn`.
unsafe fn function<C: Callback>(address: usize) -> C::Fn {
    const { assert!(size_of::<C::Fn>() == size_of::<*const ()>()) };
    let pointer = std::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: the caller vouches for the type, and the sizes were compared.
    unsafe { std::mem::transmute_copy(&pointer) }
}

fn pointer(data: HostPtr) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(data.addr())
}

/// A host function in a stream (`cuLaunchHostFunc`) or a graph. `callback` must not be NULL.
pub(crate) fn host_function(callback: CUhostFn, data: HostPtr) -> HostWork {
    let call = Arc::new(move || {
        // SAFETY: the C caller promised a function of this type at the address, good as long as it may be called: until it has
        // run in a stream, or for the life of a graph.
        state::during_callback(|| unsafe { function::<CUhostFn>(callback.0)(pointer(data)) });
    });
    HostWork { function: callback.0, data: data.addr(), call }
}

/// A stream callback (`cuStreamAddCallback`), which is told how its stream does. `callback` must not be NULL.
pub(crate) fn stream_callback(
    callback: CUstreamCallback,
    stream: CUstream,
    data: HostPtr,
) -> impl FnOnce(CUresult) + Send + 'static {
    move |status| {
        // SAFETY: as for a host function.
        state::during_callback(|| unsafe { function::<CUstreamCallback>(callback.0)(stream, status, pointer(data)) });
    }
}

/// How much dynamic shared memory a CTA of `size` threads needs, says the application (`cuOccupancyMaxPotentialBlockSize`).
/// `callback` must not be NULL. It runs within the call and may call the driver.
pub(crate) fn shared_memory_of(callback: CUoccupancyB2DSize, size: i32) -> usize {
    // SAFETY: the C caller promised a function of this type at the address.
    unsafe { function::<CUoccupancyB2DSize>(callback.0)(size) }
}

/// Hands one line of the log to the application. It runs within the call that failed and may call the driver.
pub(super) fn log_line(callback: CUlogsCallback, data: HostPtr, text: &str) {
    let mut message = text.as_bytes().to_vec();
    let length = message.len();
    message.push(0);
    let level = CUlogLevel::CU_LOG_LEVEL_ERROR;
    // SAFETY: the C caller promised a function of this type at the address; the message ends in NUL and outlives the call.
    unsafe { function::<CUlogsCallback>(callback.0)(pointer(data), level, message.as_mut_ptr().cast(), length) }
}
