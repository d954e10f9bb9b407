// What is known of kernels and set for them; occupancy.
//= static 400 dynamic 48 threads 128
//= raised 1
//= occupancy 1
//= block 1
//= parameters 8 4 4
//= kernel 1
#include "check.h"
#include <cuda.h>
__global__ void __launch_bounds__(128) bounded(int *p) { __shared__ int s[100]; s[threadIdx.x % 100] = 1; __syncthreads(); *p = s[0]; }
__global__ void dynamic(int *p) { extern __shared__ int s[]; s[0] = 1; *p = s[0]; }
__global__ void two(int *p, int v) { *p = v; }
int main() {
    int *p, n, v, h = 0; OK(cudaMalloc(&p, 4)); cudaFuncAttributes a; OK(cudaFuncGetAttributes(&a, bounded));
    printf("static %zu dynamic %d threads %d\n", a.sharedSizeBytes, (a.maxDynamicSharedSizeBytes + (int)a.sharedSizeBytes) / 1024, a.maxThreadsPerBlock);
    OK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000)); dynamic<<<1, 1, 60000>>>(p); OK(cudaGetLastError()); OK(cudaMemcpy(&h, p, 4, cudaMemcpyDefault)); printf("raised %d\n", h);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, two, 256, 0)); printf("occupancy %d\n", n > 0);
    OK(cudaOccupancyMaxPotentialBlockSize(&n, &v, two)); printf("block %d\n", n > 0 && v >= 32);
    size_t offset, size, first; OK(cudaFuncGetParamInfo((const void *)two, 1, &offset, &size)); size_t start; OK(cudaFuncGetParamInfo((const void *)two, 0, &start, &first)); printf("parameters %zu %zu %d\n", offset, size, (int)first / 2);
    cudaKernel_t kernel; OK(cudaGetKernel(&kernel, (const void *)two)); int *q = p; v = 5; void *args[] = {&q, &v}; CUresult r = cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, 0, args, 0); OK(cudaMemcpy(&h, p, 4, cudaMemcpyDefault)); printf("kernel %d\n", r == CUDA_SUCCESS && h == 5);
}
