// Managed variables of one unit that another unit's host and device code uses.
// nvcc: -rdc=true
#include "show.h"

extern __managed__ int common;
extern __managed__ double rows[3];
__global__ void change() {
    common += 5;
    rows[2] *= 2;
}
int other_unit();

int main() {
    SHOW(common);
    change<<<1, 1>>>();
    CALL(cudaDeviceSynchronize());
    SHOW(common);
    SHOW_REAL(rows[2]);
    common = 50;
    SHOW(other_unit());
    SHOW(common);
    return 0;
}
