/* A module from a file, and a handle of one of its kernels. */
#include "check.h"

int main(void) {
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0));

    CUmodule cuModule;
    CHECK(cuModuleLoad(&cuModule, "myModule.ptx"));
    CUfunction myKernel;
    CHECK(cuModuleGetFunction(&myKernel, cuModule, "MyKernel"));

    const char *name = "";
    CHECK(cuFuncGetName(&name, myKernel));
    printf("%s\n", name);
    CUmodule missing;
    printf("no such file: %d\n", cuModuleLoad(&missing, "other.ptx") == CUDA_ERROR_FILE_NOT_FOUND);
    CUfunction other;
    printf("no such kernel: %d\n", cuModuleGetFunction(&other, cuModule, "Other") == CUDA_ERROR_NOT_FOUND);
    CHECK(cuModuleUnload(cuModule));
    CHECK(cuCtxDestroy(context));
    return 0;
}
