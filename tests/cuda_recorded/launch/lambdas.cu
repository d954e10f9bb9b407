// Kernels that take functions of the device without a name.
// nvcc: --extended-lambda
#include "show.h"

template <typename F> __global__ void each(int *numbers, F function) { numbers[threadIdx.x] = function(numbers[threadIdx.x]); }

template <typename F> static void apply(int *numbers, F function) {
    each<<<1, 32>>>(numbers, function);
    LAST();
}

int main() {
    int *numbers = zeros<int>(32), factor = 3;
    float offset = 2.5f;
    apply(numbers, [=] __device__(int) { return (int)threadIdx.x; });
    apply(numbers, [=] __device__(int value) { return value * factor; });
    apply(numbers, [=] __host__ __device__(int value) { return (int)(value + offset); });
    SHOW(at(numbers, 31));
    SHOW(at(numbers));
    return 0;
}
