/* What the programs about graphs share: a context, the kernels, and calls that print what they answer. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "check.h"

static CUcontext context;
static CUmodule module;

static inline const char *name_of(CUresult result) {
    const char *name = "?";
    cuGetErrorName(result, &name);
    return name;
}

/* Prints a call and its answer. */
#define SHOW(call) printf("%s = %s\n", #call, name_of(call))

/* The same for a call with a handle that is no more or never was, or with counts that are not right: NVIDIA's driver takes it
   as it is, and may crash. */
#define STALE(call)                                    \
    do {                                               \
        if (getenv("STALE_HANDLES") != NULL) SHOW(call); \
    } while (0)

static inline void setup(void) {
    CUdevice device;
    setvbuf(stdout, NULL, _IONBF, 0);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, "kernels.ptx"));
}

static inline CUfunction function(const char *name) {
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

/* Device memory with a number of words, all 0. */
static inline CUdeviceptr words(size_t count) {
    CUdeviceptr address;
    CHECK(cuMemAlloc(&address, 4 * count));
    CHECK(cuMemsetD32(address, 0, count));
    return address;
}

static inline unsigned word(CUdeviceptr address) {
    unsigned value;
    CHECK(cuMemcpyDtoH(&value, address, sizeof value));
    return value;
}

/* The parameters of a kernel of one thread. */
static inline CUDA_KERNEL_NODE_PARAMS one_thread(const char *name, void **arguments) {
    CUDA_KERNEL_NODE_PARAMS parameters = {0};
    parameters.func = function(name);
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments;
    return parameters;
}

/* A node that appends a digit to the number at `place`. */
static inline CUgraphNode digit(CUgraph graph, const CUgraphNode *after, size_t count, CUdeviceptr place, unsigned value) {
    CUgraphNode node;
    void *arguments[] = {&place, &place, &value};
    CUDA_KERNEL_NODE_PARAMS parameters = one_thread("digit", arguments);
    CHECK(cuGraphAddKernelNode(&node, graph, after, count, &parameters));
    return node;
}

/* Appends a digit to the number at `place` in a stream. */
static inline void stream_digit(CUstream stream, CUdeviceptr place, unsigned value) {
    void *arguments[] = {&place, &place, &value};
    CHECK(cuLaunchKernel(function("digit"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0));
}

static inline CUDA_MEMCPY3D copy_line(CUmemorytype to, void *to_host, CUdeviceptr to_device, CUmemorytype from,
                                      const void *from_host, CUdeviceptr from_device, size_t bytes) {
    CUDA_MEMCPY3D copy = {0};
    copy.srcMemoryType = from;
    copy.srcHost = from_host;
    copy.srcDevice = from_device;
    copy.dstMemoryType = to;
    copy.dstHost = to_host;
    copy.dstDevice = to_device;
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return copy;
}

#endif
