// A program with the runtime library linked into it, which is the compiler's default.
// nvcc: -cudart static
#include "show.h"

__device__ int number = 3;
__global__ void multiply(int *out, int value) { out[threadIdx.x] = value * number + threadIdx.x; }

int main() {
    int *out = nullptr, host[32], more = 10;
    CALL(cudaMalloc(&out, sizeof host));
    multiply<<<1, 32>>>(out, 7);
    LAST();
    CALL(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    SHOW(host[31]);
    CALL(cudaMemcpyToSymbol(number, &more, sizeof more));
    multiply<<<1, 32>>>(out, 7);
    CALL(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    SHOW(host[31]);
    CALL(cudaFree(out));
    CALL(cudaSetDevice(1000));
    LAST();
    return 0;
}
