// When a process's primary context comes into being, and which calls do without it.
#include "show.h"

static bool active() {
    unsigned flags;
    int on;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &on));
    return on != 0;
}

int main() {
    int count = 0, device = -1, version = 0;
    CUcontext context = nullptr;
    CALL(cudaRuntimeGetVersion(&version));
    SHOW(version / 1000 == CUDART_VERSION / 1000);
    CALL(cudaGetDeviceCount(&count));
    SHOW(count > 0);
    CALL(cuInit(0));
    CALL(cudaGetDevice(&device));
    SHOW(device);
    CALL(cuCtxGetCurrent(&context));
    SHOW(context == nullptr);
    CALL(cudaPeekAtLastError());
    SHOW(active());
    cudaDeviceProp properties;
    CALL(cudaGetDeviceProperties(&properties, 0));
    int value = 0;
    CALL(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    SHOW(value);
    SHOW(active());
    CALL(cudaFree(nullptr));
    SHOW(active());
    CALL(cuCtxGetCurrent(&context));
    SHOW(context != nullptr);
    CUcontext primary;
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    SHOW(primary == context);
    OK(cuDevicePrimaryCtxRelease(0));
    CALL(cudaDeviceReset());
    SHOW(active());
    CALL(cuCtxGetCurrent(&context));
    SHOW(context == primary);
    CALL(cudaFree(nullptr));
    SHOW(active());
    LAST();
    return 0;
}
