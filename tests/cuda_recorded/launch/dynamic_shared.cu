// Shared memory whose size the launch gives, and more of it than there is without asking.
#include "show.h"

__global__ void turn_round(int *numbers) {
    extern __shared__ int scratch[];
    scratch[threadIdx.x] = numbers[threadIdx.x];
    __syncthreads();
    numbers[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

template <typename T> __global__ void sum(T *numbers) {
    extern __shared__ __align__(16) unsigned char raw[];
    T *scratch = (T *)raw;
    scratch[threadIdx.x] = numbers[threadIdx.x];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) numbers[0] = scratch[0];
}

__global__ void far(int *result, int index) {
    extern __shared__ int scratch[];
    scratch[index] = 42;
    *result = scratch[index];
}

int main() {
    int host[256];
    for (int index = 0; index < 256; index++) host[index] = index;
    int *numbers = zeros<int>(256);
    OK(cudaMemcpy(numbers, host, sizeof host, cudaMemcpyHostToDevice));
    turn_round<<<1, 256, sizeof host>>>(numbers);
    LAST();
    SHOW(at(numbers));
    sum<int><<<1, 256, sizeof host>>>(numbers);
    SHOW(at(numbers));
    double *reals = zeros<double>(128);
    double halves[128];
    for (double &value : halves) value = 0.5;
    OK(cudaMemcpy(reals, halves, sizeof halves, cudaMemcpyHostToDevice));
    sum<double><<<1, 128, sizeof halves>>>(reals);
    SHOW_REAL(at(reals));
    far<<<1, 1, 60000>>>(numbers, 14999);
    LAST();
    CALL(cudaFuncSetAttribute(far, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    far<<<1, 1, 60000>>>(numbers, 14999);
    LAST();
    SHOW(at(numbers));
    CALL(cudaFuncSetAttribute(far, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 24));
    CALL(cudaFuncSetAttribute(far, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
    CALL(cudaFuncSetAttribute(far, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    CALL(cudaFuncSetAttribute(far, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
    LAST();
    cudaFuncAttributes attributes;
    CALL(cudaFuncGetAttributes(&attributes, far));
    SHOW(attributes.maxDynamicSharedSizeBytes);
    SHOW(attributes.preferredShmemCarveout);
    CALL(cudaFuncSetCacheConfig(far, cudaFuncCachePreferShared));
    LAST();
    return 0;
}
