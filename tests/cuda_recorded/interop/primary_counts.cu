// Who uses a primary context is counted, also where it is reset meanwhile: by the driver API, and by the runtime.
#include "show.h"

static CUcontext primary;

static void state() {
    unsigned flags = 99;
    int active = 99;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    printf("    active %d\n", active);
    fflush(stdout);
}

static void retain() {
    CUcontext context = nullptr;
    CALL(cuDevicePrimaryCtxRetain(&context, 0));
    SHOW(context == primary);
    state();
}

static void release() {
    CALL(cuDevicePrimaryCtxRelease(0));
    state();
}

static void reset() {
    CALL(cuDevicePrimaryCtxReset(0));
    state();
}

static void begin(const char *what) {
    printf("%s\n", what);
    cuCtxSetCurrent(nullptr);
    while (cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS) {
    }
    cudaGetLastError();
    state();
}

// What the thread can do with its context.
static void use() {
    CUdeviceptr memory;
    CALL(cuMemAlloc(&memory, 16));
    CUcontext now = nullptr;
    CALL(cuCtxGetCurrent(&now));
    SHOW(now == primary);
}

int main() {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    begin("nobody");
    release();
    reset();
    release();
    begin("two");
    retain(), retain();
    reset();
    release(), release(), release();
    begin("one before, one behind");
    retain();
    reset();
    retain();
    release(), release(), release();
    begin("reset twice");
    retain(), retain();
    reset(), reset();
    retain();
    release(), release(), release(), release();
    begin("current meanwhile");
    retain();
    CALL(cuCtxSetCurrent(primary));
    use();
    reset();
    use();
    retain();
    use();
    release();
    use();
    release();
    use();
    begin("the runtime");
    CALL(cudaFree(nullptr));
    state();
    release();
    CALL(cudaFree(nullptr));
    state();
    release(), release();
    begin("the runtime and a reset by the driver");
    CALL(cudaFree(nullptr));
    reset();
    CALL(cudaFree(nullptr));
    state();
    release(), release(), release();
    begin("the runtime and two resets by the driver");
    CALL(cudaFree(nullptr));
    reset();
    CALL(cudaFree(nullptr));
    reset();
    CALL(cudaFree(nullptr));
    state();
    release(), release(), release(), release();
    begin("a reset by the driver and one by the runtime");
    CALL(cudaFree(nullptr));
    reset();
    CALL(cudaDeviceReset());
    state();
    release(), release();
    begin("a reset by the runtime and one by the driver");
    CALL(cudaFree(nullptr));
    CALL(cudaDeviceReset());
    state();
    reset();
    release();
    begin("another user of what the runtime resets");
    retain();
    CALL(cudaFree(nullptr));
    CALL(cudaDeviceReset());
    state();
    release(), release();
    begin("another user of what the runtime resets and uses again");
    retain();
    CALL(cudaFree(nullptr));
    CALL(cudaDeviceReset());
    CALL(cudaFree(nullptr));
    state();
    release(), release(), release();
    begin("a reset by the runtime, which never used it");
    retain();
    CALL(cudaDeviceReset());
    state();
    release(), release();
    begin("two resets by the runtime");
    retain(), retain(), retain();
    CALL(cudaDeviceReset());
    CALL(cudaDeviceReset());
    state();
    release(), release(), release(), release();
    return 0;
}
