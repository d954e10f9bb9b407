/* An image that a link gave, loaded with as many threads as the machine has processors. */
#include "check.h"
#include "read_file.h"

#define BUFFER_SIZE 8192

int main(void) {
    CUcontext context;
    CUlinkState link;
    void *cubinCode;
    size_t cubinSize;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0));
    CHECK(cuLinkCreate(0, NULL, NULL, &link));
    CHECK(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "myModule.ptx", 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &cubinCode, &cubinSize));

    CUmodule cuModule;
    CUjit_option options[3];
    void *values[3];
    char error_log[BUFFER_SIZE] = "";
    int err;
    options[0] = CU_JIT_ERROR_LOG_BUFFER;
    values[0] = (void *)error_log;
    options[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    values[1] = (void *)BUFFER_SIZE;
    options[2] = CU_JIT_BINARY_LOADER_THREAD_COUNT;
    for (size_t threads = 0; threads < 3; threads++) {
        values[1] = (void *)BUFFER_SIZE;
        values[2] = (void *)threads;
        err = cuModuleLoadDataEx(&cuModule, cubinCode, 3, options, values);
        if (err != CUDA_SUCCESS) {
            printf("Link error:\n%s\n", error_log);
            return 1;
        }
        CUfunction kernel;
        CHECK(cuModuleGetFunction(&kernel, cuModule, "MyKernel"));
        CHECK(cuModuleUnload(cuModule));
        printf("%d threads: loaded\n", (int)threads);
    }
    CHECK(cuLinkDestroy(link));
    CHECK(cuCtxDestroy(context));
    return 0;
}
