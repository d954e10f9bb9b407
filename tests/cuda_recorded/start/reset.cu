// cudaDeviceReset takes all away that belongs to the device, and the next call starts again.
#include "show.h"

__device__ int number = 5;
__global__ void set(int value) { number = value; }

int main() {
    int value = 0;
    set<<<1, 1>>>(9);
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    int *memory = zeros<int>(4);
    cudaStream_t stream;
    CALL(cudaStreamCreate(&stream));
    CALL(cudaDeviceReset());
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, memory));
    SHOW(attributes.type);
    set<<<1, 1>>>(11);
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    int *again = nullptr;
    CALL(cudaMalloc(&again, 16));
    CALL(cudaDeviceReset());
    CALL(cudaDeviceReset());
    CALL(cudaDeviceSynchronize());
    LAST();
    return 0;
}
