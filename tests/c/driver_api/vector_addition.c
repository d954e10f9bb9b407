/* Vector addition from cuInit to the result, the PTX in a file of the working folder. The context is created as toolkits
   before 13.0 do, without a structure of parameters. */
#include "check.h"

int main(int argc, char **argv) {
    int N = argc > 1 ? atoi(argv[1]) : 1000;
    size_t size = (size_t)N * sizeof(float);
    float *h_A = malloc(size), *h_B = malloc(size), *h_C = malloc(size);
    for (int i = 0; i < N; i++) {
        h_A[i] = (float)i;
        h_B[i] = 0.5f * (float)i;
        h_C[i] = -1;
    }

    /* Both fail without a device, and leave the count as it is. */
    cuInit(0);
    int deviceCount = 0;
    cuDeviceGetCount(&deviceCount);
    if (deviceCount == 0) {
        printf("There is no device supporting CUDA.\n");
        exit(0);
    }
    CUdevice cuDevice;
    CHECK(cuDeviceGet(&cuDevice, 0));
    CUcontext cuContext;
    CHECK(cuCtxCreate(&cuContext, 0, cuDevice));
    CUmodule cuModule;
    CHECK(cuModuleLoad(&cuModule, "VecAdd.ptx"));

    CUdeviceptr d_A, d_B, d_C;
    CHECK(cuMemAlloc(&d_A, size));
    CHECK(cuMemAlloc(&d_B, size));
    CHECK(cuMemAlloc(&d_C, size));
    CHECK(cuMemcpyHtoD(d_A, h_A, size));
    CHECK(cuMemcpyHtoD(d_B, h_B, size));

    CUfunction vecAdd;
    CHECK(cuModuleGetFunction(&vecAdd, cuModule, "VecAdd"));
    int threadsPerBlock = 256;
    int blocksPerGrid = (N + threadsPerBlock - 1) / threadsPerBlock;
    void *args[] = {&d_A, &d_B, &d_C, &N};
    CHECK(cuLaunchKernel(vecAdd, blocksPerGrid, 1, 1, threadsPerBlock, 1, 1, 0, 0, args, 0));

    CHECK(cuMemcpyDtoH(h_C, d_C, size));
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += h_C[i] != h_A[i] + h_B[i];
    printf("%d sums, %d wrong\n", N, wrong);

    CHECK(cuMemFree(d_A));
    CHECK(cuMemFree(d_B));
    CHECK(cuMemFree(d_C));
    CHECK(cuModuleUnload(cuModule));
    CHECK(cuCtxDestroy(cuContext));
    free(h_A);
    free(h_B);
    free(h_C);
    return wrong != 0;
}
