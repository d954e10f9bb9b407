/* Two PTX texts, the second with a function that the first calls, become one module. The wall time and the sizes of the
   logs come back in the slots of the values. */
#include "check.h"
#include "read_file.h"

#define BUFFER_SIZE 8192

int main(void) {
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0));

    CUmodule cuModule;
    CUjit_option options[6];
    void *values[6];
    float walltime;
    char error_log[BUFFER_SIZE] = "", info_log[BUFFER_SIZE] = "";
    char *PTXCode0 = read_file("caller.ptx", NULL);
    char *PTXCode1 = read_file("callee.ptx", NULL);
    CUlinkState linkState;
    int err;
    void *cubin;
    size_t cubinSize;
    options[0] = CU_JIT_WALL_TIME;
    values[0] = 0;
    options[1] = CU_JIT_INFO_LOG_BUFFER;
    values[1] = (void *)info_log;
    options[2] = CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES;
    values[2] = (void *)BUFFER_SIZE;
    options[3] = CU_JIT_ERROR_LOG_BUFFER;
    values[3] = (void *)error_log;
    options[4] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    values[4] = (void *)BUFFER_SIZE;
    options[5] = CU_JIT_LOG_VERBOSE;
    values[5] = (void *)1;
    CHECK(cuLinkCreate(6, options, values, &linkState));
    err = cuLinkAddData(linkState, CU_JIT_INPUT_PTX, (void *)PTXCode0, strlen(PTXCode0) + 1, 0, 0, 0, 0);
    if (err != CUDA_SUCCESS) printf("Link error:\n%s\n", error_log);
    err = cuLinkAddData(linkState, CU_JIT_INPUT_PTX, (void *)PTXCode1, strlen(PTXCode1) + 1, 0, 0, 0, 0);
    if (err != CUDA_SUCCESS) printf("Link error:\n%s\n", error_log);
    CHECK(cuLinkComplete(linkState, &cubin, &cubinSize));
    memcpy(&walltime, &values[0], sizeof walltime);
    printf("ELF image: %d\n", cubinSize > 4 && memcmp(cubin, "\177ELF", 4) == 0);
    printf("time: %d, errors: '%s'\n", walltime >= 0 && walltime < 60000, error_log);
    fprintf(stderr, "Link completed in %fms. Linker Output:\n%s\n", walltime, info_log);
    CHECK(cuModuleLoadData(&cuModule, cubin));
    CHECK(cuLinkDestroy(linkState));

    CUfunction kernel;
    CUdeviceptr result;
    unsigned x = 6, y = 0;
    void *args[] = {&result, &x};
    CHECK(cuModuleGetFunction(&kernel, cuModule, "caller"));
    CHECK(cuMemAlloc(&result, sizeof y));
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    CHECK(cuMemcpyDtoH(&y, result, sizeof y));
    printf("%u, called %u time\n", y >> 8, y & 255);

    /* Without the second text the function is missing, and the log says so. */
    values[4] = (void *)BUFFER_SIZE;
    values[2] = (void *)BUFFER_SIZE;
    CHECK(cuLinkCreate(6, options, values, &linkState));
    CHECK(cuLinkAddData(linkState, CU_JIT_INPUT_PTX, (void *)PTXCode0, strlen(PTXCode0) + 1, "caller.ptx", 0, 0, 0));
    err = cuLinkComplete(linkState, &cubin, &cubinSize);
    printf("alone: %d, %s", err == CUDA_ERROR_INVALID_SOURCE, error_log);
    CHECK(cuLinkDestroy(linkState));
    free(PTXCode0);
    free(PTXCode1);
    CHECK(cuCtxDestroy(context));
    return 0;
}
