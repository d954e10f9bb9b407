// The runtime's context is the primary one of the device, which the driver API sees, shares and counts.
#include "show.h"

static void state() {
    unsigned flags = 99;
    int active = 99;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    printf("    flags %u, active %d\n", flags, active);
}

int main() {
    CUcontext current = nullptr, primary = nullptr;
    CUdevice device = 99;
    OK(cuInit(0));
    CALL(cudaSetDevice(0));
    CALL(cuCtxGetCurrent(&current));
    SHOW(current != nullptr);
    CALL(cuDevicePrimaryCtxRetain(&primary, 0));
    SHOW(primary == current);
    CALL(cuCtxGetDevice(&device));
    SHOW(device);
    state();
    CALL(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
    unsigned flags = 0;
    CALL(cudaGetDeviceFlags(&flags));
    SHOW(flags);
    state();
    int *memory = zeros<int>(4);
    CALL(cuDevicePrimaryCtxRelease(0));
    state();
    SHOW(at(memory));
    CALL(cudaDeviceReset());
    state();
    CALL(cuDevicePrimaryCtxRelease(0));
    CALL(cudaMalloc(&memory, 16));
    state();
    CALL(cuDevicePrimaryCtxReset(0));
    state();
    CALL(cudaMalloc(&memory, 16));
    LAST();
    state();
    CALL(cuCtxSetCurrent(nullptr));
    CALL(cudaFree(nullptr));
    CALL(cuCtxGetCurrent(&current));
    SHOW(current != nullptr);
    return 0;
}
