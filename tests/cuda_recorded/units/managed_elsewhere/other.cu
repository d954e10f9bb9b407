#include "show.h"

__managed__ int common = 7;
__managed__ double rows[3] = {1, 2, 3};
static __managed__ int own = 1;
static __global__ void add() { own += common++; }

int other_unit() {
    add<<<1, 1>>>();
    CALL(cudaDeviceSynchronize());
    return own;
}
