/* A kernel that goes wrong in the way that the argument names; what follows is answered, and the process lives. */
#include "expect.h"

#include <stdbool.h>

static const char PTX[] =
    ".version 7.0\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".file 1 \"/src/scale.cu\"\n"
    ".visible .global .align 4 .b8 table[64];\n"
    ".visible .entry scale(.param .u64 data, .param .u32 step) {\n"
    "    .reg .b64 %d<4>;\n    .reg .b32 %r<6>;\n"
    "    .loc 1 7 0\n"
    "    ld.param.u64 %d1, [data];\n"
    "    ld.param.u32 %r4, [step];\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "    mul.wide.u32 %d2, %r1, %r4;\n"
    "    add.u64 %d1, %d1, %d2;\n"
    "    .loc 1 9 5\n"
    "    ld.global.u32 %r5, [%d1];\n"
    "    st.global.u32 [%d1], %r5;\n"
    "    ret;\n}\n"
    ".func inner(.param .b64 at) {\n    .reg .b64 %d;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %d, [at];\n    mov.u32 %r, 1;\n"
    "    st.u32 [%d], %r;\n    ret;\n}\n"
    ".visible .entry calls(.param .u64 data, .param .u32 step) {\n    .reg .b64 %d;\n"
    "    ld.param.u64 %d, [data];\n"
    "    { .param .b64 at; st.param.b64 [at], %d; call.uni inner, (at); }\n    ret;\n}\n";

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    CUmodule module;
    CUfunction scale, calls;
    CUdeviceptr data = 0, table;
    CUstream stream;
    size_t pitch, bytes;
    unsigned step = 4, threads = 32, ctas = 1, local = 0;
    void *parameters[] = {&data, &step};
    start();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&scale, module, "scale"));
    OK(cuModuleGetFunction(&calls, module, "calls"));
    OK(cuModuleGetGlobal(&table, &bytes, module, "table"));
    OK(cuStreamCreate(&stream, 0));
    if (strcmp(mode, "beyond") == 0) {
        OK(cuMemAlloc(&data, 512 * 4));
        ctas = 17;
    } else if (strcmp(mode, "pitched") == 0) {
        OK(cuMemAllocPitch(&data, &pitch, 100, 4, 4));
        step = 512, threads = 8;
    } else if (strcmp(mode, "managed") == 0) {
        OK(cuMemAllocManaged(&data, 1024, CU_MEM_ATTACH_GLOBAL));
        data -= 16;
    } else if (strcmp(mode, "pooled") == 0) {
        OK(cuMemAllocAsync(&data, 4096, stream));
        OK(cuMemFreeAsync(data, stream));
    } else if (strcmp(mode, "dumped") == 0) {
        /* To a file as well: the second argument. */
        bool enabled = true;
        bytes = strlen(arguments[2]) + 1;
        OK(cuCoredumpSetAttribute(CU_COREDUMP_FILE, arguments[2], &bytes));
        bytes = sizeof enabled;
        OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &enabled, &bytes));
    } else if (strcmp(mode, "freed") == 0) {
        OK(cuMemAlloc(&data, 4096));
        OK(cuMemFree(data));
    } else if (strcmp(mode, "misaligned") == 0) {
        OK(cuMemAlloc(&data, 4096));
        data += 2;
    } else if (strcmp(mode, "variable") == 0) {
        data = table + 256;
    } else if (strcmp(mode, "host") == 0) {
        data = (CUdeviceptr)&local;
    } else if (strcmp(mode, "in_function") == 0) {
        scale = calls;
        data = 8;
    }
    OK(cuLaunchKernel(scale, ctas, 1, 1, threads, 1, 1, 0, stream, parameters, NULL));
    CUresult result = cuStreamSynchronize(stream);
    if (result == CUDA_SUCCESS) {
        puts("not noticed");
        return 0;
    }
    HOLDS(result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_MISALIGNED_ADDRESS);
    /* Everything fails with the same code from now on, also in a new context. */
    CUcontext another;
    CUdeviceptr more;
    HOLDS(cuMemAlloc(&more, 16) == result);
    HOLDS(cuCtxCreate(&another, NULL, 0, 0) == result);
    HOLDS(cuStreamQuery(stream) == result);
    int devices = 0;
    OK(cuDeviceGetCount(&devices));
    puts("lives");
    return 0;
}
