// Linked device code of several units in a program with the runtime library linked into it.
// nvcc: -rdc=true -cudart static
#include "show.h"

extern __device__ int elsewhere(int value);
extern __device__ int table[8];
extern __constant__ float factor;
__device__ int (*callback)(int) = elsewhere;
__global__ void kernel_elsewhere(int *out);

__global__ void use(int *out) {
    out[0] = elsewhere(5);
    out[1] = table[3];
    out[2] = (int)(factor * 10);
    out[3] = callback(7);
    table[4] = 99;
}

int main() {
    int *out = zeros<int>(8), value = 0, more = 1000;
    use<<<1, 1>>>(out);
    LAST();
    for (int index = 0; index < 4; index++) SHOW(at(out, index));
    CALL(cudaMemcpyFromSymbol(&value, table, sizeof value, 4 * sizeof value));
    SHOW(value);
    CALL(cudaMemcpyToSymbol(table, &more, sizeof more, 3 * sizeof more));
    kernel_elsewhere<<<1, 1>>>(out);
    SHOW(at(out));
    size_t size = 0;
    CALL(cudaGetSymbolSize(&size, table));
    SHOW(size);
    LAST();
    return 0;
}
