// A context that the driver API made current is the one that the runtime works in.
#include "show.h"

__device__ int counter = 7;
__global__ void add(int *numbers, int value) { numbers[threadIdx.x] += value; }

int main() {
    CUcontext own, current;
    CALL(cuInit(0));
#if CUDA_VERSION >= 13000
    OK(cuCtxCreate(&own, nullptr, 0, 0));
#else
    OK(cuCtxCreate(&own, 0, 0));
#endif
    int *numbers = nullptr, host[64];
    CALL(cudaMalloc(&numbers, sizeof host));
    CALL(cuCtxGetCurrent(&current));
    SHOW(current == own);
    CUcontext home;
    CALL(cuPointerGetAttribute(&home, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)numbers));
    SHOW(home == own);
    CALL(cudaMemset(numbers, 0, sizeof host));
    add<<<1, 64>>>(numbers, 3);
    CALL(cudaMemcpy(host, numbers, sizeof host, cudaMemcpyDeviceToHost));
    SHOW(host[63]);
    int value = 70;
    CALL(cudaMemcpyToSymbol(counter, &value, sizeof value));
    int active = 9;
    unsigned flags;
    CALL(cuDevicePrimaryCtxGetState(0, &flags, &active));
    SHOW(active);
    // Without a context the runtime takes the primary one, with variables of its own.
    CALL(cuCtxPopCurrent(&current));
    CALL(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    SHOW(value);
    CALL(cuCtxGetCurrent(&current));
    SHOW(current != own && current != nullptr);
    CALL(cuDevicePrimaryCtxGetState(0, &flags, &active));
    SHOW(active);
    CALL(cuCtxSetCurrent(own));
    CALL(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    SHOW(value);
    CALL(cudaSetDevice(0));
    CALL(cuCtxGetCurrent(&current));
    SHOW(current != own);
    CALL(cudaMemcpy(host, numbers, sizeof host, cudaMemcpyDeviceToHost));
    SHOW(host[0]);
    CALL(cuCtxDestroy(own));
    CALL(cudaDeviceSynchronize());
    LAST();
    return 0;
}
