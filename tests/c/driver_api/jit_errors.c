/* PTX in a string, compiled for the device of the current context; what is wrong with it stands in a buffer. */
#include "check.h"
#include "read_file.h"

#include <stdint.h>

#define BUFFER_SIZE 8192

static int load(const char *PTXCode) {
    CUmodule cuModule;
    CUjit_option options[3];
    void *values[3];
    char error_log[BUFFER_SIZE] = "";
    int err;
    options[0] = CU_JIT_ERROR_LOG_BUFFER;
    values[0] = (void *)error_log;
    options[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    values[1] = (void *)BUFFER_SIZE;
    options[2] = CU_JIT_TARGET_FROM_CUCONTEXT;
    values[2] = 0;
    err = cuModuleLoadDataEx(&cuModule, PTXCode, 3, options, values);
    if (err != CUDA_SUCCESS) {
        const char *name;
        cuGetErrorName((CUresult)err, &name);
        printf("%s:\n%s\n", name, error_log);
        printf("length: %d\n", (uintptr_t)values[1] == strlen(error_log));
    } else {
        printf("loaded\n");
        CHECK(cuModuleUnload(cuModule));
    }
    return err;
}

int main(void) {
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0));
    char *good = read_file("myModule.ptx", NULL);
    load(good);
    load(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() {\n  bogus;\n  ret;\n}\n");
    free(good);
    CHECK(cuCtxDestroy(context));
    return 0;
}
