//! Execution control: launches, and what is known and set of kernels.
use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use warploom_abi::runtime::*;
use warploom_abi::{CUfunc_cache, CUfunction, CUfunction_attribute, CUhostFn, CUkernel, CUlaunchConfig};

use super::device::attribute;
use crate::border::{DefaultStream, In, InArray, InOut, Out, Passed, version};
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};
use crate::{binaries, context};

/// The kernel that a function of the host program stands for, with a context to run it in.
pub(crate) fn kernel(func: &Passed<'_, c_void>) -> ApiResult<CUkernel> {
    context::ensure()?;
    binaries::kernel(func.addr() as usize)
}

/// The driver takes kernels wherever it takes functions, and uses those of the current context.
pub(crate) fn function(kernel: CUkernel) -> CUfunction {
    CUfunction(kernel.0)
}

pub fn cudaLaunchKernel(
    default: DefaultStream,
    func: Passed<'_, c_void>,
    gridDim: dim3,
    blockDim: dim3,
    args: Passed<'_, *mut c_void>,
    sharedMem: usize,
    stream: cudaStream_t,
) -> ApiResult {
    launch(kernel(&func)?, gridDim, blockDim, &args, sharedMem, default.stream(stream))
}

#[inline(always)]
pub(crate) fn launch(
    kernel: CUkernel,
    grid: dim3,
    block: dim3,
    args: &Passed<'_, *mut c_void>,
    shared_memory: usize,
    stream: cudaStream_t,
) -> ApiResult {
    let shared_memory = bytes(shared_memory)?;
    let (function, extra) = (function(kernel), std::ptr::null_mut());
    driver!(cuLaunchKernel_v4000(
        function,
        grid.x,
        grid.y,
        grid.z,
        block.x,
        block.y,
        block.z,
        shared_memory,
        stream,
        args.get(),
        extra
    ))
    .map_err(|failure| configured(failure, grid, block))
}

/// The driver counts dynamic shared memory in 32 bits.
fn bytes(shared_memory: usize) -> ApiResult<u32> {
    u32::try_from(shared_memory).map_err(|_| {
        Failure::invalid_value(format!("{shared_memory} bytes of shared memory are more than any device has"))
    })
}

/// Runtime 12 says more clearly than the driver and runtime 13 that a grid or its blocks are too large or empty.
#[cold]
fn configured(failure: Failure, grid: dim3, block: dim3) -> Failure {
    if failure.code != cudaError::cudaErrorInvalidValue || version() >= 13_000 {
        return failure;
    }
    let Ok(device) = context::current_device().and_then(context::device) else { return failure };
    let most = |number| attribute(device, number).ok().and_then(|value| u32::try_from(value).ok()).unwrap_or(u32::MAX);
    let outside = |sizes: [u32; 3], first: u32| {
        sizes.into_iter().zip(first..).any(|(size, number)| size == 0 || size > most(number))
    };
    let threads = [block.x, block.y, block.z].into_iter().map(u64::from).product::<u64>();
    if outside([block.x, block.y, block.z], 2) || outside([grid.x, grid.y, grid.z], 5) || threads > u64::from(most(1)) {
        let reason = format!("the device has no room for a grid of {grid:?} with blocks of {block:?}");
        return Failure::new(cudaError::cudaErrorInvalidConfiguration, reason);
    }
    failure
}

pub fn cudaLaunchKernelExC(
    default: DefaultStream,
    config: In<'_, cudaLaunchConfig_t>,
    func: Passed<'_, c_void>,
    args: Passed<'_, *mut c_void>,
) -> ApiResult {
    let config = config.get("config")?;
    let kernel = kernel(&func)?;
    let launch = driver_config(&config, default)?;
    driver!(cuLaunchKernelEx_v11060(&launch, function(kernel), args.get(), std::ptr::null_mut()))
        .map_err(|failure| configured(failure, config.gridDim, config.blockDim))
}

/// Both APIs have the same launch attributes.
pub(crate) fn driver_config(config: &cudaLaunchConfig_t, default: DefaultStream) -> ApiResult<CUlaunchConfig> {
    Ok(CUlaunchConfig {
        gridDimX: config.gridDim.x,
        gridDimY: config.gridDim.y,
        gridDimZ: config.gridDim.z,
        blockDimX: config.blockDim.x,
        blockDimY: config.blockDim.y,
        blockDimZ: config.blockDim.z,
        sharedMemBytes: bytes(config.dynamicSmemBytes)?,
        hStream: default.stream(config.stream),
        attrs: config.attrs.cast(),
        numAttrs: config.numAttrs,
    })
}

pub fn cudaLaunchCooperativeKernel(
    default: DefaultStream,
    func: Passed<'_, c_void>,
    gridDim: dim3,
    blockDim: dim3,
    args: Passed<'_, *mut c_void>,
    sharedMem: usize,
    stream: cudaStream_t,
) -> ApiResult {
    let function = function(kernel(&func)?);
    let (grid, block, shared_memory, stream) = (gridDim, blockDim, bytes(sharedMem)?, default.stream(stream));
    driver!(cuLaunchCooperativeKernel_v9000(
        function,
        grid.x,
        grid.y,
        grid.z,
        block.x,
        block.y,
        block.z,
        shared_memory,
        stream,
        args.get()
    ))
    .map_err(|failure| configured(failure, grid, block))
}

/// On one device it is a cooperative launch; grids of several devices cannot wait for each other.
pub fn cudaLaunchCooperativeKernelMultiDevice(
    launchParamsList: InArray<'_, cudaLaunchParams>,
    numDevices: u32,
    flags: u32,
) -> ApiResult {
    let known = cudaCooperativeLaunchMultiDeviceNoPreSync | cudaCooperativeLaunchMultiDeviceNoPostSync;
    if numDevices == 0 || i64::from(numDevices) > i64::from(context::devices()?) || flags & !known != 0 {
        let reason = format!("launches on {numDevices} devices with flags {flags:#x}");
        return Err(Failure::invalid_value(reason));
    }
    let [launch] = launchParamsList.get(numDevices as usize, "launchParamsList")?[..] else {
        let reason = "cooperative launches on several devices are not implemented";
        return Err(Failure::new(cudaError::cudaErrorNotSupported, reason));
    };
    if launch.stream == cudaStream_t::NULL {
        return Err(Failure::new(
            cudaError::cudaErrorInvalidResourceHandle,
            "the stream of a launch is the default one",
        ));
    }
    let cudaLaunchParams { func, gridDim, blockDim, args, sharedMem, stream } = launch;
    let (func, args) = (Passed::of(func), Passed::of(args));
    cudaLaunchCooperativeKernel(DefaultStream::Legacy, func, gridDim, blockDim, args, sharedMem, stream)
}

pub fn cudaLaunchHostFunc(
    default: DefaultStream,
    stream: cudaStream_t,
    r#fn: cudaHostFn_t,
    userData: Passed<'_, c_void>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLaunchHostFunc_v10000(default.stream(stream), CUhostFn(r#fn.0), userData.get()))
}

pub fn cudaLaunchHostFunc_v2(
    default: DefaultStream,
    stream: cudaStream_t,
    r#fn: cudaHostFn_t,
    userData: Passed<'_, c_void>,
    syncMode: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLaunchHostFunc_v13010(default.stream(stream), CUhostFn(r#fn.0), userData.get(), syncMode))
}

/// The kernel and the device whose attributes are asked for or set.
fn kernel_here(func: &Passed<'_, c_void>) -> ApiResult<(CUkernel, i32)> {
    let kernel = kernel(func)?;
    Ok((kernel, context::device(context::current_device()?)?))
}

/// Where the structure of runtime 11 ends: it knows nothing of clusters.
const ATTRIBUTES_END_11: usize = offset_of!(cudaFuncAttributes, clusterDimMustBeSet);

pub fn cudaFuncGetAttributes(attr: Out<'_, cudaFuncAttributes>, func: Passed<'_, c_void>) -> ApiResult {
    let place = attr.required("attr")?;
    let (kernel, device) = kernel_here(&func)?;
    let get = |number| -> ApiResult<i32> {
        let mut value = 0;
        driver!(cuKernelGetAttribute_v12000(&mut value, CUfunction_attribute(number), kernel, device))?;
        Ok(value)
    };
    let size = |number| get(number).map(|bytes| usize::try_from(bytes).unwrap_or_default());
    let told = cudaFuncAttributes {
        maxThreadsPerBlock: get(0)?,
        sharedSizeBytes: size(1)?,
        constSizeBytes: size(2)?,
        localSizeBytes: size(3)?,
        numRegs: get(4)?,
        ptxVersion: get(5)?,
        binaryVersion: get(6)?,
        cacheModeCA: get(7)?,
        maxDynamicSharedSizeBytes: get(8)?,
        preferredShmemCarveout: get(9)?,
        clusterDimMustBeSet: get(10)?,
        requiredClusterWidth: get(11)?,
        requiredClusterHeight: get(12)?,
        requiredClusterDepth: get(13)?,
        nonPortableClusterSizeAllowed: get(14)?,
        clusterSchedulingPolicyPreference: get(15)?,
        ..Default::default()
    };
    if version() < 12_000 {
        place.set_start::<ATTRIBUTES_END_11>(&told);
    } else {
        place.set(told);
    }
    Ok(())
}

pub fn cudaFuncSetAttribute(func: Passed<'_, c_void>, attr: cudaFuncAttribute, value: i32) -> ApiResult {
    check_settable(attr)?;
    let (kernel, device) = kernel_here(&func)?;
    driver!(cuKernelSetAttribute_v12000(CUfunction_attribute(attr.0), value, kernel, device))
}

/// Which attributes a program sets is asked before of which function.
pub(crate) fn check_settable(attr: cudaFuncAttribute) -> ApiResult {
    if attr < cudaFuncAttribute::cudaFuncAttributeMaxDynamicSharedMemorySize
        || attr >= cudaFuncAttribute::cudaFuncAttributeMax
    {
        return Err(Failure::invalid_value(format!("{attr:?} cannot be set")));
    }
    Ok(())
}

pub fn cudaFuncSetCacheConfig(func: Passed<'_, c_void>, cacheConfig: cudaFuncCache) -> ApiResult {
    let (kernel, device) = kernel_here(&func)?;
    driver!(cuKernelSetCacheConfig_v12000(kernel, CUfunc_cache(cacheConfig.0), device)).map_err(|failure| {
        // As recorded, the older runtime looks for the function itself.
        let older = version() < 13000 && failure.code == cudaError::cudaErrorInvalidResourceHandle;
        if older { Failure { code: cudaError::cudaErrorInvalidDeviceFunction, ..failure } } else { failure }
    })
}

pub fn cudaFuncGetName(name: Out<'_, *const c_char>, func: Passed<'_, c_void>) -> ApiResult {
    let place = name.required("name")?;
    let kernel = kernel(&func)?;
    let mut text = std::ptr::null();
    driver!(cuKernelGetName_v12030(&mut text, kernel))?;
    place.set(text);
    Ok(())
}

pub fn cudaFuncGetParamInfo(
    func: Passed<'_, c_void>,
    paramIndex: usize,
    paramOffset: Passed<'_, usize>,
    paramSize: Passed<'_, usize>,
) -> ApiResult {
    let kernel = kernel(&func)?;
    driver!(cuKernelGetParamInfo_v12040(kernel, paramIndex, paramOffset.get(), paramSize.get()))
}

pub fn cudaFuncGetParamCount(func: Passed<'_, c_void>, paramCount: Passed<'_, usize>) -> ApiResult {
    let kernel = kernel(&func)?;
    driver!(cuKernelGetParamCount_v13020(kernel, paramCount.get()))
}

/// Devices compute in double precision: nothing is converted.
pub fn cudaSetDoubleForDevice(d: InOut<'_, f64>) -> ApiResult {
    d.get("d").map(|_| ())
}

/// As for the device.
pub fn cudaSetDoubleForHost(d: InOut<'_, f64>) -> ApiResult {
    d.get("d").map(|_| ())
}
