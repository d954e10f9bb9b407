// A primary context that the driver API resets: the runtime starts again with whatever is called next.
#include "show.h"

__device__ int number = 5;
__global__ void set(int value) { number = value; }

static void reset() {
    OK(cuDevicePrimaryCtxReset(0));
    printf("reset\n");
}

int main() {
    int value = 0;
    CUcontext before, after;
    set<<<1, 1>>>(9);
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    CALL(cuCtxGetCurrent(&before));
    reset();
    set<<<1, 1>>>(11);
    LAST();
    CALL(cudaMemcpyFromSymbol(&value, number, sizeof value));
    SHOW(value);
    CALL(cuCtxGetCurrent(&after));
    SHOW(before == after);
    return 0;
}
