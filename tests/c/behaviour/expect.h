/* What the programs of this folder share: a call that must answer a certain code, a condition that must hold, and a kernel
   that waits. */
#ifndef EXPECT_H
#define EXPECT_H

#include "check.h"

static inline void expect(CUresult result, CUresult expected, const char *what, int line) {
    const char *name = "?", *wanted = "?";
    if (result == expected) return;
    cuGetErrorName(result, &name);
    cuGetErrorName(expected, &wanted);
    fprintf(stderr, "line %d: %s answers %s, not %s\n", line, what, name, wanted);
    exit(1);
}

#define IS(code, call) expect((call), CUDA_ERROR_##code, #call, __LINE__)
#define OK(call) expect((call), CUDA_SUCCESS, #call, __LINE__)
#define HOLDS(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

/* A kernel that runs until the number at its parameter is not 0. */
static const char WAITS[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry waits(.param .u64 flag) {\n"
    "    .reg .b64 %d;\n    .reg .b32 %r;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d, [flag];\n"
    "AGAIN:\n    ld.volatile.global.u32 %r, [%d];\n    setp.eq.u32 %p, %r, 0;\n    @%p bra AGAIN;\n    ret;\n}\n";

/* A context, the kernel, and a flag for it in pinned memory. */
static CUcontext context;
static CUfunction waits;
static volatile unsigned *flag;

static inline void start(void) {
    CUmodule module;
    CUdevice device;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, WAITS));
    OK(cuModuleGetFunction(&waits, module, "waits"));
    OK(cuMemHostAlloc((void **)&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP));
}

/* Keeps a stream busy until `release`. */
static inline void hold(CUstream stream) {
    CUdeviceptr address = (CUdeviceptr)flag;
    void *parameters[] = {&address};
    *flag = 0;
    OK(cuLaunchKernel(waits, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static inline void release(void) { *flag = 1; }

#endif
