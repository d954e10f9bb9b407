// Objects of the host that use the device before main and after it.
#include "show.h"

__device__ int number = 4;
__global__ void add(int value) { number += value; }

struct Early {
    int *memory = nullptr;
    Early() {
        CALL(cudaMalloc(&memory, 64));
        add<<<1, 1>>>(10);
        CALL(cudaMemset(memory, 1, 64));
    }
    ~Early() { CALL(cudaFree(memory)); }
};

int main() {
    static Early early;
    int value = 0;
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    SHOW(at(early.memory));
    return 0;
}
