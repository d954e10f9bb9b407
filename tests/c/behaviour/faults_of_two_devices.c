/* A fault on one device ends the work of that device, and of no other. Needs two devices. */
#include "expect.h"
#include <sched.h>

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry store(.param .u64 at, .param .u32 value) {\n"
    "    .reg .b64 %d;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %d, [at];\n    ld.param.u32 %r, [value];\n    st.global.u32 [%d], %r;\n    ret;\n}\n";

struct device {
    CUcontext context;
    CUstream stream;
    CUfunction store, waits;
    CUdeviceptr data;
};

static void set_up(struct device *device, int ordinal) {
    CUmodule module;
    OK(cuCtxCreate(&device->context, NULL, 0, ordinal));
    OK(cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&device->store, module, "store"));
    OK(cuModuleLoadData(&module, WAITS));
    OK(cuModuleGetFunction(&device->waits, module, "waits"));
    OK(cuMemAlloc(&device->data, 64));
    OK(cuMemsetD32(device->data, 0, 16));
}

static void store(struct device *device, CUdeviceptr at, unsigned value) {
    void *parameters[] = {&at, &value};
    OK(cuLaunchKernel(device->store, 1, 1, 1, 1, 1, 1, 0, device->stream, parameters, NULL));
}

/* Everything that a program does in a context. */
static void works(struct device *device, int ordinal, unsigned value) {
    unsigned got = 0;
    CUevent event;
    CUstream stream;
    CUlibrary library;
    CUcontext another;
    CUdeviceptr more;
    OK(cuCtxSetCurrent(device->context));
    store(device, device->data + 4, value);
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, device->stream));
    OK(cuEventSynchronize(event));
    OK(cuMemcpyDtoHAsync(&got, device->data + 4, 4, device->stream));
    OK(cuStreamSynchronize(device->stream));
    HOLDS(got == value);
    OK(cuMemAlloc(&more, 1024));
    OK(cuMemsetD8Async(more, 1, 1024, device->stream));
    OK(cuMemFreeAsync(more, device->stream));
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamDestroy(stream));
    OK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryUnload(library));
    OK(cuCtxCreate(&another, NULL, 0, ordinal));
    OK(cuCtxDestroy(another));
    OK(cuCtxSetCurrent(device->context));
    OK(cuCtxSynchronize());
}

/* And nothing of it, but for what names the other device. */
static void fails(struct device *device, int ordinal, CUresult code) {
    CUevent event;
    CUlibrary library;
    CUcontext another;
    CUdeviceptr more;
    OK(cuCtxSetCurrent(device->context));
    HOLDS(cuStreamQuery(device->stream) == code);
    HOLDS(cuCtxSynchronize() == code);
    HOLDS(cuMemAlloc(&more, 16) == code);
    HOLDS(cuEventCreate(&event, 0) == code);
    HOLDS(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0) == code);
    HOLDS(cuCtxCreate(&another, NULL, 0, ordinal) == code);
    HOLDS(cuDevicePrimaryCtxRetain(&another, ordinal) == code);
}

/* Holds a stream until the number is not 0. */
static void CUDA_CB held(void *number) {
    while (!*(volatile int *)number) sched_yield();
}

int main(void) {
    int go = 0;
    struct device first, second;
    unsigned got[2] = {0, 0};
    CUevent behind;
    start();
    set_up(&first, 0);
    set_up(&second, 1);

    /* A kernel of the second device runs, and work behind it waits, while the first one faults. */
    CUdeviceptr address = (CUdeviceptr)flag;
    void *parameters[] = {&address};
    OK(cuLaunchKernel(second.waits, 1, 1, 1, 1, 1, 1, 0, second.stream, parameters, NULL));
    store(&second, second.data, 11);
    OK(cuCtxSetCurrent(first.context));
    OK(cuEventCreate(&behind, 0));
    /* What follows the fault is issued before it happens: later calls would answer with it. */
    OK(cuLaunchHostFunc(first.stream, held, &go));
    store(&first, first.data, 10);
    store(&first, 8, 0);
    OK(cuEventRecord(behind, first.stream));
    *(volatile int *)&go = 1;
    IS(ILLEGAL_ADDRESS, cuStreamSynchronize(first.stream));
    fails(&first, 0, CUDA_ERROR_ILLEGAL_ADDRESS);

    OK(cuCtxSetCurrent(second.context));
    IS(NOT_READY, cuStreamQuery(second.stream));
    release();
    OK(cuStreamSynchronize(second.stream));
    OK(cuMemcpyDtoH(got, second.data, 4));
    HOLDS(got[0] == 11);
    works(&second, 1, 12);
    OK(cuCtxSetCurrent(first.context));
    IS(ILLEGAL_ADDRESS, cuEventQuery(behind));

    /* Each keeps its own error. */
    OK(cuCtxSetCurrent(second.context));
    store(&second, second.data + 2, 0);
    IS(MISALIGNED_ADDRESS, cuStreamSynchronize(second.stream));
    fails(&second, 1, CUDA_ERROR_MISALIGNED_ADDRESS);
    fails(&first, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    puts("done");
    return 0;
}
