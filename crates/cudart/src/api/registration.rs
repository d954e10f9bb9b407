//! Registration of compiled host code, and how it launches its kernels. The compiler writes these calls: what it declares of them
//! stands in `crt/host_runtime.h` and `crt/device_functions.h`.
use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;

use smallvec::SmallVec;
use warploom_abi::CUkernel;
use warploom_abi::runtime::*;

use super::execution::launch;
use crate::border::{DefaultStream, Out, Passed};
use crate::failure::{ApiResult, Failure};
use crate::{binaries, context};

/// The configuration in angle brackets, between its evaluation and the launch, which may be nested.
#[derive(Clone, Copy)]
struct Configuration {
    grid: dim3,
    block: dim3,
    shared_memory: usize,
    stream: cudaStream_t,
}

thread_local! {
    /// Launches that have been begun, the innermost one last: mostly one. Without a destructor, as destructors of the program's own objects launch when a thread ends,
    /// behind ours: where no launch is begun inside of another's arguments there is nothing to free.
    static CONFIGURATIONS: ManuallyDrop<RefCell<SmallVec<[Configuration; 2]>>> =
        const { ManuallyDrop::new(RefCell::new(SmallVec::new_const())) };
}

pub fn __cudaRegisterFatBinary(fatCubin: Passed<'_, c_void>) -> *mut *mut c_void {
    let handle = binaries::register(fatCubin.addr() as usize);
    std::ptr::with_exposed_provenance_mut(handle)
}

/// Nothing is loaded yet: there is nothing to finish.
pub fn __cudaRegisterFatBinaryEnd(_fatCubinHandle: Passed<'_, *mut c_void>) {}

pub fn __cudaUnregisterFatBinary(fatCubinHandle: Passed<'_, *mut c_void>) {
    binaries::unregister(fatCubinHandle.addr() as usize);
}

/// The bounds of the launch are in the device code as well.
#[expect(clippy::too_many_arguments, reason = "as the compiler declares it")]
pub fn __cudaRegisterFunction(
    fatCubinHandle: Passed<'_, *mut c_void>,
    hostFun: Passed<'_, c_char>,
    _deviceFun: Passed<'_, c_char>,
    deviceName: Passed<'_, c_char>,
    _thread_limit: i32,
    _tid: Passed<'_, uint3>,
    _bid: Passed<'_, uint3>,
    _bDim: Passed<'_, dim3>,
    _gDim: Passed<'_, dim3>,
    _wSize: Passed<'_, i32>,
) {
    let (handle, function) = (fatCubinHandle.addr() as usize, hostFun.addr() as usize);
    binaries::register_kernel(handle, function, deviceName.addr() as usize);
}

#[expect(clippy::too_many_arguments, reason = "as the compiler declares it")]
pub fn __cudaRegisterVar(
    fatCubinHandle: Passed<'_, *mut c_void>,
    hostVar: Passed<'_, c_char>,
    _deviceAddress: Passed<'_, c_char>,
    deviceName: Passed<'_, c_char>,
    _ext: i32,
    _size: usize,
    _constant: i32,
    _global: i32,
) {
    let (handle, variable) = (fatCubinHandle.addr() as usize, hostVar.addr() as usize);
    binaries::register_variable(handle, variable, deviceName.addr() as usize, false);
}

#[expect(clippy::too_many_arguments, reason = "as the compiler declares it")]
pub fn __cudaRegisterManagedVar(
    fatCubinHandle: Passed<'_, *mut c_void>,
    hostVarPtrAddress: Passed<'_, *mut c_void>,
    _deviceAddress: Passed<'_, c_char>,
    deviceName: Passed<'_, c_char>,
    _ext: i32,
    _size: usize,
    _constant: i32,
    _global: i32,
) {
    let (handle, variable) = (fatCubinHandle.addr() as usize, hostVarPtrAddress.addr() as usize);
    binaries::register_managed(handle, variable, deviceName.addr() as usize);
}

/// `norm` is the mode that texels are read in (`cudaTextureReadMode`); the number of dimensions is in the device code as well.
pub fn __cudaRegisterTexture(
    fatCubinHandle: Passed<'_, *mut c_void>,
    hostVar: Passed<'_, textureReference>,
    _deviceAddress: Passed<'_, *const c_void>,
    deviceName: Passed<'_, c_char>,
    _dim: i32,
    norm: i32,
    _ext: i32,
) {
    let (handle, texture) = (fatCubinHandle.addr() as usize, hostVar.addr() as usize);
    let read_mode = cudaTextureReadMode(norm.cast_unsigned());
    binaries::register_texture(handle, texture, deviceName.addr() as usize, read_mode);
}

pub fn __cudaRegisterSurface(
    fatCubinHandle: Passed<'_, *mut c_void>,
    hostVar: Passed<'_, surfaceReference>,
    _deviceAddress: Passed<'_, *const c_void>,
    deviceName: Passed<'_, c_char>,
    _dim: i32,
    _ext: i32,
) {
    let (handle, surface) = (fatCubinHandle.addr() as usize, hostVar.addr() as usize);
    binaries::register_surface(handle, surface, deviceName.addr() as usize);
}

pub fn __cudaRegisterHostVar(
    fatCubinHandle: Passed<'_, *mut c_void>,
    deviceName: Passed<'_, c_char>,
    _hostVar: Passed<'_, c_char>,
    _size: usize,
) {
    binaries::register_host(fatCubinHandle.addr() as usize, deviceName.addr() as usize);
}

/// Called before the host program first touches a managed variable. What fails stays unset, and the program crashes there as it
/// would with NVIDIA's runtime; the next call says why.
pub fn __cudaInitModule(fatCubinHandle: Passed<'_, *mut c_void>) -> c_char {
    let initialized = context::ensure().and_then(|()| binaries::initialize(fatCubinHandle.addr() as usize));
    if let Err(failure) = initialized {
        crate::border::remember("__cudaInitModule", &failure);
        return 0;
    }
    1
}

/// 0: the launch goes ahead.
pub fn __cudaPushCallConfiguration(gridDim: dim3, blockDim: dim3, sharedMem: usize, stream: cudaStream_t) -> u32 {
    let configuration = Configuration { grid: gridDim, block: blockDim, shared_memory: sharedMem, stream };
    CONFIGURATIONS.with(|stack| stack.borrow_mut().push(configuration));
    0
}

pub fn __cudaPopCallConfiguration(
    gridDim: Out<'_, dim3>,
    blockDim: Out<'_, dim3>,
    sharedMem: Out<'_, usize>,
    stream: Passed<'_, c_void>,
) -> ApiResult {
    let stream = stream.result::<cudaStream_t>().required("stream")?;
    let (grid, block) = (gridDim.required("gridDim")?, blockDim.required("blockDim")?);
    let shared_memory = sharedMem.required("sharedMem")?;
    let configuration = CONFIGURATIONS.with(|stack| stack.borrow_mut().pop()).ok_or_else(|| {
        Failure::new(cudaError::cudaErrorMissingConfiguration, "no launch was configured on this thread")
    })?;
    grid.set(configuration.grid);
    block.set(configuration.block);
    shared_memory.set(configuration.shared_memory);
    stream.set(configuration.stream);
    Ok(())
}

/// The compiler's stand-in of a kernel asks once and keeps the answer. If the kernel cannot be had now, that is its own address, with
/// which every launch tries again and says why not.
pub fn __cudaGetKernel(kernel: Out<'_, CUkernel>, entry: Passed<'_, c_void>) -> ApiResult {
    let place = kernel.required("kernel")?;
    let address = entry.addr() as usize;
    let found = context::devices().and_then(|_| binaries::kernel(address));
    place.set(*found.as_ref().unwrap_or(&CUkernel(address)));
    found.map(|_| ())
}

pub fn __cudaLaunchKernel(
    default: DefaultStream,
    kernel: CUkernel,
    gridDim: dim3,
    blockDim: dim3,
    args: Passed<'_, *mut c_void>,
    sharedMem: usize,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    launch(binaries::kernel(kernel.0)?, gridDim, blockDim, &args, sharedMem, default.stream(stream))
}
