// Errors of one interface and of the other: each keeps to itself what is not a fault.
#include "show.h"

__global__ void trap() { __trap(); }

int main() {
    OK(cudaFree(nullptr));
    CUdeviceptr address;
    CALL(cuMemAlloc(&address, 0));
    CALL(cudaGetLastError());
    CALL(cudaMalloc(nullptr, 4));
    CALL(cuMemAlloc(&address, 16));
    LAST();
    CUcontext nothing = nullptr;
    CALL(cuCtxSetCurrent(nothing));
    CALL(cuMemAlloc(&address, 16));
    CALL(cudaGetLastError());
    CALL(cudaFree(nullptr));
    trap<<<1, 1>>>();
    CALL(cuCtxSynchronize());
    CALL(cudaGetLastError());
    CALL(cudaDeviceSynchronize());
    CALL(cuMemAlloc(&address, 16));
    CALL(cudaPeekAtLastError());
    return 0;
}
