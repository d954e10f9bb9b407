#include "show.h"

static __device__ int number = 100;
static __global__ void change(int *out) { *out = --number; }
template <typename T> __global__ void common(T *out) { *out += 1; }

void other_unit(int *out) {
    int value = 0;
    change<<<1, 1>>>(out);
    SHOW(at(out));
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    common<int><<<1, 1>>>(out);
    SHOW(at(out));
}
