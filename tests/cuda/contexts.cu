// Both APIs in one program: contexts, streams, memory, modules cross over; the primary context is retained once.
//= own 1
//= memory 5
//= stream 6
//= module 8
//= primary 1 1
//= reset 0
//= after 1 9
#include "check.h"
#include <cuda.h>
__global__ void add(int *p, int v) { *p += v; }
int main() {
    CUcontext own, now; cuInit(0); cuCtxCreate(&own, 0, 0, 0); int *p, h = 5; OK(cudaMalloc(&p, 4)); cuCtxGetCurrent(&now); printf("own %d\n", now == own);
    cuMemcpyHtoD((CUdeviceptr)p, &h, 4); h = 0; OK(cudaMemcpy(&h, p, 4, cudaMemcpyDefault)); printf("memory %d\n", h);
    CUstream s; cuStreamCreate(&s, 0); add<<<1, 1, 0, s>>>(p, 1); OK(cudaStreamSynchronize(s)); cuMemcpyDtoH(&h, (CUdeviceptr)p, 4); printf("stream %d\n", h);
    cudaFunction_t f; OK(cudaGetFuncBySymbol(&f, (const void *)add)); int v = 2; void *args[] = {&p, &v}; cuLaunchKernel((CUfunction)f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0); cuCtxSynchronize(); OK(cudaMemcpy(&h, p, 4, cudaMemcpyDefault)); printf("module %d\n", h);
    cuCtxDestroy(own); OK(cudaSetDevice(0)); CUcontext primary; cuDevicePrimaryCtxRetain(&primary, 0); cuCtxGetCurrent(&now); unsigned fl; int active; cuDevicePrimaryCtxRelease(0); cuDevicePrimaryCtxGetState(0, &fl, &active); printf("primary %d %d\n", now == primary, active);
    OK(cudaDeviceReset()); cuDevicePrimaryCtxGetState(0, &fl, &active); printf("reset %d\n", active);
    OK(cudaMalloc(&p, 4)); OK(cudaMemset(p, 0, 4)); add<<<1, 1>>>(p, 9); OK(cudaMemcpy(&h, p, 4, cudaMemcpyDefault)); cuDevicePrimaryCtxGetState(0, &fl, &active); printf("after %d %d\n", active, h);
}
