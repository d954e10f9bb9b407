/* Launches three kernels of a library with many: the arguments are pairs of a fat binary and a kernel. Prints what they store, the bytes
 * of the fat binaries that are in memory then, and the microseconds from the first call of the runtime to the first result. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const void *stand_in(int binary, int kernel);
size_t resident(void);

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

static void check(cudaError_t answer) {
    if (answer != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", cudaGetErrorName(answer), cudaGetErrorString(answer));
        exit(1);
    }
}

int main(int count, char **arguments) {
    const double start = now();
    double first = 0;
    int *place, stored;
    dim3 one = {1, 1, 1};
    check(cudaMalloc((void **)&place, sizeof *place));
    for (int i = 1; i + 1 < count; i += 2) {
        void *parameters[] = {&place};
        check(cudaLaunchKernel(stand_in(atoi(arguments[i]), atoi(arguments[i + 1])), one, one, parameters, 0, NULL));
        check(cudaMemcpy(&stored, place, sizeof stored, cudaMemcpyDeviceToHost));
        if (i == 1) first = now() - start;
        printf("%d ", stored);
    }
    printf("%zu %.0f\n", resident(), first);
    return 0;
}
