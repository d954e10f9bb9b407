// Properties of a device that hold for all devices, and that agree with its attributes and with the driver.
#include "show.h"

static cudaDeviceProp properties;

static int attribute(cudaDeviceAttr which) {
    int value = -1;
    OK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

#define SAME(field, which) SHOW(properties.field == attribute(which))

int main() {
    CALL(cudaGetDeviceProperties(&properties, 0));
    SHOW(properties.warpSize);
    SHOW(properties.maxThreadsPerBlock);
    SHOW(properties.maxThreadsDim[0]);
    SHOW(properties.maxThreadsDim[1]);
    SHOW(properties.maxThreadsDim[2]);
    SHOW(properties.maxGridSize[0]);
    SHOW(properties.maxGridSize[1]);
    SHOW(properties.maxGridSize[2]);
    SHOW(properties.totalConstMem);
    SHOW(properties.sharedMemPerBlock);
    SHOW(properties.regsPerBlock);
    SHOW(properties.unifiedAddressing);
    SHOW(properties.canMapHostMemory);
    SHOW(properties.managedMemory);
    SHOW(properties.name[0] != 0);
    SHOW(properties.totalGlobalMem > 0);
    SHOW(properties.multiProcessorCount > 0);
    SHOW(properties.concurrentKernels);
    SHOW(properties.memoryPoolsSupported);
    SAME(warpSize, cudaDevAttrWarpSize);
    SAME(multiProcessorCount, cudaDevAttrMultiProcessorCount);
    SAME(major, cudaDevAttrComputeCapabilityMajor);
    SAME(minor, cudaDevAttrComputeCapabilityMinor);
    SAME(maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor);
    SAME(sharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    SAME(sharedMemPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    SAME(reservedSharedMemPerBlock, cudaDevAttrReservedSharedMemoryPerBlock);
    SAME(regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor);
    SAME(maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor);
    SAME(memPitch, cudaDevAttrMaxPitch);
    SAME(textureAlignment, cudaDevAttrTextureAlignment);
    SAME(texturePitchAlignment, cudaDevAttrTexturePitchAlignment);
    SAME(surfaceAlignment, cudaDevAttrSurfaceAlignment);
    SAME(asyncEngineCount, cudaDevAttrAsyncEngineCount);
    SAME(integrated, cudaDevAttrIntegrated);
    SAME(ECCEnabled, cudaDevAttrEccEnabled);
    SAME(pciBusID, cudaDevAttrPciBusId);
    SAME(pciDeviceID, cudaDevAttrPciDeviceId);
    SAME(pciDomainID, cudaDevAttrPciDomainId);
    SAME(tccDriver, cudaDevAttrTccDriver);
    SAME(memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth);
    SAME(l2CacheSize, cudaDevAttrL2CacheSize);
    SAME(persistingL2CacheMaxSize, cudaDevAttrMaxPersistingL2CacheSize);
    SAME(streamPrioritiesSupported, cudaDevAttrStreamPrioritiesSupported);
    SAME(globalL1CacheSupported, cudaDevAttrGlobalL1CacheSupported);
    SAME(localL1CacheSupported, cudaDevAttrLocalL1CacheSupported);
    SAME(isMultiGpuBoard, cudaDevAttrIsMultiGpuBoard);
    SAME(hostNativeAtomicSupported, cudaDevAttrHostNativeAtomicSupported);
    SAME(pageableMemoryAccess, cudaDevAttrPageableMemoryAccess);
    SAME(concurrentManagedAccess, cudaDevAttrConcurrentManagedAccess);
    SAME(computePreemptionSupported, cudaDevAttrComputePreemptionSupported);
    SAME(canUseHostPointerForRegisteredMem, cudaDevAttrCanUseHostPointerForRegisteredMem);
    SAME(cooperativeLaunch, cudaDevAttrCooperativeLaunch);
    SAME(directManagedMemAccessFromHost, cudaDevAttrDirectManagedMemAccessFromHost);
    SAME(accessPolicyMaxWindowSize, cudaDevAttrMaxAccessPolicyWindowSize);
    SAME(hostRegisterSupported, cudaDevAttrHostRegisterSupported);
    SAME(maxTexture1D, cudaDevAttrMaxTexture1DWidth);
    SAME(maxTexture2D[0], cudaDevAttrMaxTexture2DWidth);
    SAME(maxTexture2D[1], cudaDevAttrMaxTexture2DHeight);
    SAME(maxTexture3D[2], cudaDevAttrMaxTexture3DDepth);
    SAME(maxSurface2D[0], cudaDevAttrMaxSurface2DWidth);
    SAME(clusterLaunch, cudaDevAttrClusterLaunch);
    char name[256];
    OK(cuDeviceGetName(name, sizeof name, 0));
    SHOW(strcmp(name, properties.name));
    size_t total;
    OK(cuDeviceTotalMem(&total, 0));
    SHOW(total == properties.totalGlobalMem);
    CUuuid uuid;
    OK(cuDeviceGetUuid(&uuid, 0));
    SHOW(memcmp(&uuid, &properties.uuid, sizeof uuid));
    cudaDeviceProp untouched;
    memset(&untouched, 0x55, sizeof untouched);
    CALL(cudaGetDeviceProperties(&untouched, 1000));
    CALL(cudaGetDeviceProperties(nullptr, 0));
    LAST();
    int value = 77;
    CALL(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)100000, 0));
    CALL(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1000));
    CALL(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
    SHOW(value);
    LAST();
    return 0;
}
