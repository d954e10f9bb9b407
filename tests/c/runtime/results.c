/* Calls that fail, and who looks at their results: one case for each argument. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) \
    do { \
        if ((call) != cudaSuccess) exit(1); \
    } while (0)

/* As a launch by the compiler's code: a function without a result. */
__attribute__((noinline)) static void launch(void) {
    static char no_kernel;
    dim3 one = {1, 1, 1};
    cudaLaunchKernel(&no_kernel, one, one, NULL, 0, NULL);
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    CHECK(cudaFree(NULL));
    if (strcmp(name, "dropped") == 0 || strcmp(name, "asked") == 0 || strcmp(name, "overwritten") == 0) {
        cudaSetDevice(99);
    } else if (strcmp(name, "launched") == 0 || strcmp(name, "launch_asked") == 0) {
        launch();
    } else if (strcmp(name, "looked") == 0) {
        if (cudaSetDevice(99) != cudaErrorInvalidDevice) return 1;
    } else {
        return 1;
    }
    CHECK(cudaDeviceSynchronize());
    if (strstr(name, "asked") != NULL && cudaGetLastError() == cudaSuccess) return 1;
    if (strcmp(name, "overwritten") == 0) {
        if (cudaMalloc(NULL, 16) != cudaErrorInvalidValue) return 1;
        if (cudaGetLastError() != cudaErrorInvalidValue) return 1;
    }
    puts("done");
    return 0;
}
