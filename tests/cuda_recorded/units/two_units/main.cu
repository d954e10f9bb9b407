// Two translation units with kernels and variables of the same names, each seen by its own unit only.
#include "show.h"

static __device__ int number = 1;
static __global__ void change(int *out) { *out = ++number; }
template <typename T> __global__ void common(T *out) { *out += 1; }
void other_unit(int *out);

int main() {
    int *out = zeros<int>(1), value = 0;
    change<<<1, 1>>>(out);
    SHOW(at(out));
    other_unit(out);
    change<<<1, 1>>>(out);
    SHOW(at(out));
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    common<int><<<1, 1>>>(out);
    SHOW(at(out));
    LAST();
    return 0;
}
