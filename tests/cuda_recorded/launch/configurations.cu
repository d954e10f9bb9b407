// Launches that can be, and those that cannot.
#include "show.h"

__global__ void count(int *number) { atomicAdd(number, 1); }
__global__ void __launch_bounds__(128) narrow(int *number) { atomicAdd(number, 1); }

static int *number;

static void launch(const void *kernel, dim3 grid, dim3 block, size_t shared) {
    void *arguments[] = {&number};
    cudaError_t result = cudaLaunchKernel(kernel, grid, block, arguments, shared, nullptr);
    printf("(%u, %u, %u) x (%u, %u, %u), %zu bytes = %s, %s\n", grid.x, grid.y, grid.z, block.x, block.y, block.z, shared,
           name_of(result), name_of(cudaGetLastError()));
}

int main() {
    number = zeros<int>(1);
    const void *kernel = (const void *)count;
    launch(kernel, 1, 1, 0);
    launch(kernel, dim3(2, 3, 4), dim3(5, 6, 7), 0);
    launch(kernel, 1, 1024, 0);
    launch(kernel, 1, 1025, 0);
    launch(kernel, 1, dim3(32, 32, 2), 0);
    launch(kernel, 1, dim3(1, 1, 64), 0);
    launch(kernel, 1, dim3(1, 1, 65), 0);
    launch(kernel, 0, 1, 0);
    launch(kernel, 1, 0, 0);
    launch(kernel, dim3(1, 0, 1), 1, 0);
    launch(kernel, dim3(1, 65535, 1), 1, 0);
    launch(kernel, dim3(1, 65536, 1), 1, 0);
    launch(kernel, dim3(1, 1, 65536), 1, 0);
    launch(kernel, dim3(0x80000000u, 1, 1), 1, 0);
    launch(kernel, 1, 1, 49152);
    launch(kernel, 1, 1, 49153);
    launch((const void *)narrow, 1, 128, 0);
    launch((const void *)narrow, 1, 129, 0);
    launch((const void *)main, 1, 1, 0);
    CALL(cudaDeviceSynchronize());
    SHOW(at(number));
    return 0;
}
