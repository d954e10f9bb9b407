// Profiler control, which a program may use with no profiler there.
#include "show.h"

// Declared in cuda_profiler_api.h, which comes in a package of its own.
extern "C" cudaError_t CUDARTAPI cudaProfilerStart();
extern "C" cudaError_t CUDARTAPI cudaProfilerStop();

__global__ void empty() {}

int main() {
    CALL(cudaProfilerStart());
    empty<<<1, 1>>>();
    CALL(cudaProfilerStop());
    CALL(cudaProfilerStop());
    CALL(cudaDeviceSynchronize());
    LAST();
    return 0;
}
