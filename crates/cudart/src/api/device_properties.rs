//! Device management: `cudaDeviceProp`, which differs between the major versions, and the choice of a device by it.
use warploom_abi::runtime::{cudaDeviceProp, cudaDeviceProp_v12};
use warploom_abi::{CUdevice, CUuuid};

use super::device::attribute;
use crate::border::{In, Out};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

/// Sets fields of a structure to attributes of a device, by number (`cudaDevAttr...`).
macro_rules! from_attributes {
    ($properties:ident, $device:ident: $($field:ident $([$index:literal])? = $attribute:literal,)*) => {
        $($properties.$field $([$index])? = attribute($device, $attribute)?.try_into().unwrap_or_default();)*
    };
}

/// What both layouts have.
macro_rules! fill {
    ($properties:ident, $device:ident) => {
        driver!(cuDeviceGetName_v2000($properties.name.as_mut_ptr(), 256, $device))?;
        driver!(cuDeviceGetUuid_v11040(&mut $properties.uuid, $device))?;
        driver!(cuDeviceTotalMem_v3020(&mut $properties.totalGlobalMem, $device))?;
        from_attributes! { $properties, $device:
            sharedMemPerBlock = 8, regsPerBlock = 12, warpSize = 10, memPitch = 11, maxThreadsPerBlock = 1,
            maxThreadsDim[0] = 2, maxThreadsDim[1] = 3, maxThreadsDim[2] = 4,
            maxGridSize[0] = 5, maxGridSize[1] = 6, maxGridSize[2] = 7,
            totalConstMem = 9, major = 75, minor = 76, textureAlignment = 14, texturePitchAlignment = 51,
            multiProcessorCount = 16, integrated = 18, canMapHostMemory = 19,
            maxTexture1D = 21, maxTexture1DMipmap = 77,
            maxTexture2D[0] = 22, maxTexture2D[1] = 23, maxTexture2DMipmap[0] = 73, maxTexture2DMipmap[1] = 74,
            maxTexture2DLinear[0] = 70, maxTexture2DLinear[1] = 71, maxTexture2DLinear[2] = 72,
            maxTexture2DGather[0] = 45, maxTexture2DGather[1] = 46,
            maxTexture3D[0] = 24, maxTexture3D[1] = 25, maxTexture3D[2] = 26,
            maxTexture3DAlt[0] = 47, maxTexture3DAlt[1] = 48, maxTexture3DAlt[2] = 49, maxTextureCubemap = 52,
            maxTexture1DLayered[0] = 42, maxTexture1DLayered[1] = 43,
            maxTexture2DLayered[0] = 27, maxTexture2DLayered[1] = 28, maxTexture2DLayered[2] = 29,
            maxTextureCubemapLayered[0] = 53, maxTextureCubemapLayered[1] = 54,
            maxSurface1D = 55, maxSurface2D[0] = 56, maxSurface2D[1] = 57,
            maxSurface3D[0] = 58, maxSurface3D[1] = 59, maxSurface3D[2] = 60,
            maxSurface1DLayered[0] = 61, maxSurface1DLayered[1] = 62,
            maxSurface2DLayered[0] = 63, maxSurface2DLayered[1] = 64, maxSurface2DLayered[2] = 65,
            maxSurfaceCubemap = 66, maxSurfaceCubemapLayered[0] = 67, maxSurfaceCubemapLayered[1] = 68,
            surfaceAlignment = 30, concurrentKernels = 31, ECCEnabled = 32,
            pciBusID = 33, pciDeviceID = 34, pciDomainID = 50, tccDriver = 35, asyncEngineCount = 40,
            unifiedAddressing = 41, memoryBusWidth = 37, l2CacheSize = 38, persistingL2CacheMaxSize = 108,
            maxThreadsPerMultiProcessor = 39, streamPrioritiesSupported = 78, globalL1CacheSupported = 79,
            localL1CacheSupported = 80, sharedMemPerMultiprocessor = 81, regsPerMultiprocessor = 82,
            managedMemory = 83, isMultiGpuBoard = 84, multiGpuBoardGroupID = 85, hostNativeAtomicSupported = 86,
            pageableMemoryAccess = 88, concurrentManagedAccess = 89, computePreemptionSupported = 90,
            canUseHostPointerForRegisteredMem = 91, cooperativeLaunch = 95, sharedMemPerBlockOptin = 97,
            pageableMemoryAccessUsesHostPageTables = 100, directManagedMemAccessFromHost = 101,
            maxBlocksPerMultiProcessor = 106, accessPolicyMaxWindowSize = 109, reservedSharedMemPerBlock = 111,
            hostRegisterSupported = 99, sparseCudaArraySupported = 112, hostRegisterReadOnlySupported = 113,
            timelineSemaphoreInteropSupported = 114, memoryPoolsSupported = 115, gpuDirectRDMASupported = 116,
            gpuDirectRDMAFlushWritesOptions = 117, gpuDirectRDMAWritesOrdering = 118,
            memoryPoolSupportedHandleTypes = 119, deferredMappingCudaArraySupported = 121, ipcEventSupported = 125,
            clusterLaunch = 120, unifiedFunctionPointers = 129,
        }
    };
}

/// The layout of runtime 13.
fn properties(device: CUdevice) -> ApiResult<cudaDeviceProp> {
    let mut properties = cudaDeviceProp { uuid: CUuuid::default(), ..cudaDeviceProp::default() };
    fill!(properties, device);
    from_attributes! { properties, device:
        deviceNumaConfig = 130, deviceNumaId = 131, mpsEnabled = 133, hostNumaId = 134,
        gpuPciDeviceID = 139, gpuPciSubsystemID = 140, hostNumaMultinodeIpcSupported = 143,
    }
    Ok(properties)
}

/// The layout of runtime 12.
fn properties_v12(device: CUdevice) -> ApiResult<cudaDeviceProp_v12> {
    let mut properties = cudaDeviceProp_v12 { uuid: CUuuid::default(), ..cudaDeviceProp_v12::default() };
    fill!(properties, device);
    from_attributes! { properties, device:
        clockRate = 13, deviceOverlap = 15, kernelExecTimeoutEnabled = 17, computeMode = 20,
        maxTexture1DLinear = 69, memoryClockRate = 36, singleToDoublePrecisionPerfRatio = 87,
        cooperativeMultiDeviceLaunch = 96,
    }
    Ok(properties)
}

pub fn cudaGetDeviceProperties(prop: Out<'_, cudaDeviceProp>, device: i32) -> ApiResult {
    let place = prop.required("prop")?;
    place.set(properties(context::device(device)?)?);
    Ok(())
}

pub fn cudaGetDeviceProperties_v2(prop: Out<'_, cudaDeviceProp_v12>, device: i32) -> ApiResult {
    let place = prop.required("prop")?;
    place.set(properties_v12(context::device(device)?)?);
    Ok(())
}

/// The structure of CUDA 11 ends before `hostRegisterSupported`.
pub fn cudaGetDeviceProperties_v11(prop: Out<'_, cudaDeviceProp_v12>, device: i32) -> ApiResult {
    const END: usize = std::mem::offset_of!(cudaDeviceProp_v12, hostRegisterSupported);
    let place = prop.required("prop")?;
    place.set_start::<END>(&properties_v12(context::device(device)?)?);
    Ok(())
}

/// The properties by which a device is chosen.
struct Wanted {
    name: [core::ffi::c_char; 256],
    capability: (i32, i32),
    multiprocessors: i32,
    memory: usize,
}

impl Wanted {
    /// How much of this a device has; what is zero is not wanted.
    fn met_by(&self, has: &Wanted) -> usize {
        let met = [
            self.name[0] != 0 && self.name == has.name,
            self.capability != (0, 0) && has.capability >= self.capability,
            self.multiprocessors != 0 && has.multiprocessors >= self.multiprocessors,
            self.memory != 0 && has.memory >= self.memory,
        ];
        met.into_iter().filter(|&met| met).count()
    }
}

macro_rules! wanted {
    ($properties:expr) => {{
        let properties = $properties;
        Wanted {
            name: properties.name,
            capability: (properties.major, properties.minor),
            multiprocessors: properties.multiProcessorCount,
            memory: properties.totalGlobalMem,
        }
    }};
}

pub fn cudaChooseDevice(device: Out<'_, i32>, prop: In<'_, cudaDeviceProp>) -> ApiResult {
    choose(device, &wanted!(prop.get("prop")?))
}

pub fn cudaChooseDevice_v12(device: Out<'_, i32>, prop: In<'_, cudaDeviceProp_v12>) -> ApiResult {
    choose(device, &wanted!(prop.get("prop")?))
}

/// The device that has most of what is wanted; the first of several.
fn choose(place: Out<'_, i32>, wanted: &Wanted) -> ApiResult {
    let place = place.required("device")?;
    let mut best = (0, 0);
    for ordinal in (0..context::devices()?).rev() {
        let met = wanted.met_by(&wanted!(properties(context::device(ordinal)?)?));
        if met >= best.0 {
            best = (met, ordinal);
        }
    }
    place.set(best.1);
    Ok(())
}
