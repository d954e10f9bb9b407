// Launches: templates, structures by value, dynamic shared memory, two and three dimensions, cooperative, with attributes.
//= sum 499500
//= structure 7 2.5 3
//= reversed 63 0
//= 3d 4095
//= cooperative 2016
//= extended 77
//= name 1
//= missing cudaErrorMissingConfiguration
#include "check.h"
#include <cooperative_groups.h>
#include <cstring>

template <typename T> __global__ void add_to(T *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, (T)i);
}
struct Mixed { char c; double d; short s[3]; };
__global__ void take(Mixed m, double *out) { out[0] = m.c; out[1] = m.d; out[2] = m.s[2]; }
__global__ void reverse(int *p) { extern __shared__ int s[]; s[threadIdx.x] = threadIdx.x; __syncthreads(); p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }
__global__ void count3(int *p) { int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y * blockDim.z + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; p[i] = i; }
__global__ void together(int *p) {
    p[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x * blockDim.x + threadIdx.x;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) { int sum = 0; for (int i = 0; i < 64; i++) sum += p[i]; p[0] = sum; }
}
__global__ void set(int *p, int value) { *p = value; }
extern "C" __host__ cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);

int main() {
    int *p, h[4096]; double *d, hd[3];
    OK(cudaMalloc(&p, sizeof h)); OK(cudaMalloc(&d, sizeof hd));
    OK(cudaMemset(p, 0, sizeof h));
    add_to<<<8, 128>>>(p, 1000);
    OK(cudaMemcpy(h, p, 4, cudaMemcpyDeviceToHost)); printf("sum %d\n", h[0]);
    Mixed m = {7, 2.5, {1, 2, 3}}; take<<<1, 1>>>(m, d);
    OK(cudaMemcpy(hd, d, sizeof hd, cudaMemcpyDefault)); printf("structure %g %g %g\n", hd[0], hd[1], hd[2]);
    reverse<<<1, 64, 256>>>(p); OK(cudaGetLastError());
    OK(cudaMemcpy(h, p, 256, cudaMemcpyDefault)); printf("reversed %d %d\n", h[0], h[63]);
    count3<<<dim3(4, 4, 4), dim3(4, 4, 4)>>>(p);
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDefault)); printf("3d %d\n", h[4095]);
    void *a[] = {&p}; OK(cudaLaunchCooperativeKernel((const void *)together, dim3(2), dim3(32), a, 0, 0));
    OK(cudaMemcpy(h, p, 4, cudaMemcpyDefault)); printf("cooperative %d\n", h[0]);
    cudaLaunchConfig_t c = {}; c.gridDim = 1; c.blockDim = 1; OK(cudaLaunchKernelEx(&c, set, p, 77));
    OK(cudaMemcpy(h, p, 4, cudaMemcpyDefault)); printf("extended %d\n", h[0]);
    const char *name; OK(cudaFuncGetName(&name, (const void *)set)); printf("name %d\n", strstr(name, "set") != 0);
    dim3 g, b; size_t s; cudaStream_t t; printf("missing "); TELL(__cudaPopCallConfiguration(&g, &b, &s, &t));
}
