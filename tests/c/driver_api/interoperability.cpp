// What the runtime shares with the driver API: the primary context, and device memory, whose addresses are pointers.
#include "check.h"

int main() {
    CUdevice device;
    CUcontext primary, current;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&primary, device));
    CHECK(cuCtxSetCurrent(primary));
    CHECK(cuCtxGetCurrent(&current));
    printf("primary context: %d\n", current == primary);

    CUdeviceptr devPtr;
    float *d_data;
    size_t size = 1024 * sizeof(float);
    CHECK(cuMemAlloc(&devPtr, size));
    d_data = (float *)devPtr;
    CHECK(cuMemsetD32(devPtr, 0x3f800000, 1024));
    // Arithmetic of the pointer is arithmetic of the address.
    float value = 0;
    CHECK(cuMemcpyDtoH(&value, (CUdeviceptr)(d_data + 1023), sizeof value));
    printf("%g, distance %d\n", value, (int)((CUdeviceptr)(d_data + 1023) - devPtr));
    CHECK(cuMemFree((CUdeviceptr)d_data));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
