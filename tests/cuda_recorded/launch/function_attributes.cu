// What a kernel needs, as far as it does not depend on the device.
#include "show.h"

__constant__ int constants[64];
__global__ void plain(int *p) { *p = constants[1]; }
__global__ void __launch_bounds__(96) bounded(int *p) { *p = 1; }
__global__ void shared(int *p) {
    __shared__ int scratch[1000];
    scratch[threadIdx.x] = *p;
    __syncthreads();
    *p = scratch[threadIdx.x ^ 1];
}

static void show(const char *name, const void *kernel) {
    cudaFuncAttributes attributes;
    printf("%s\n", name);
    CALL(cudaFuncGetAttributes(&attributes, kernel));
    SHOW(attributes.maxThreadsPerBlock);
    SHOW(attributes.sharedSizeBytes);
    SHOW(attributes.numRegs > 0);
    SHOW(attributes.ptxVersion);
    SHOW(attributes.binaryVersion >= attributes.ptxVersion);
    SHOW(attributes.cacheModeCA);
    SHOW(attributes.maxDynamicSharedSizeBytes);
    SHOW(attributes.preferredShmemCarveout);
}

int main() {
    show("plain", (const void *)plain);
    show("bounded", (const void *)bounded);
    show("shared", (const void *)shared);
    const char *name = nullptr;
    CALL(cudaFuncGetName(&name, (const void *)bounded));
    printf("    %s\n", name);
    size_t offset = 9, size = 9;
    CALL(cudaFuncGetParamInfo((const void *)plain, 0, &offset, &size));
    SHOW(offset);
    SHOW(size);
    CALL(cudaFuncGetParamInfo((const void *)plain, 1, &offset, &size));
    LAST();
    return 0;
}
