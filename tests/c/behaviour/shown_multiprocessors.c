/* A device may show another number of multiprocessors than it has threads: each green context still has some. `shown_multiprocessors SHOWN`. */
#include "expect.h"

enum { MOST = 64 };

static const char STORES[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry stores(.param .u64 to) {\n"
    "    .reg .b64 %d<3>;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %d0, [to];\n    mov.u32 %r, %ctaid.x;\n    mul.wide.u32 %d1, %r, 4;\n    add.u64 %d0, %d0, %d1;\n"
    "    add.u32 %r, %r, 1;\n    st.global.u32 [%d0], %r;\n    ret;\n}\n";

int main(int count, char **arguments) {
    HOLDS(count == 2);
    unsigned shown = (unsigned)atoi(arguments[1]), parts = MOST;
    CUdevice device;
    CUcontext primary;
    CUmodule module;
    CUfunction stores;
    CUdeviceptr memory;
    CUdevResource all, split[MOST];
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&primary, device));
    OK(cuCtxSetCurrent(primary));
    OK(cuModuleLoadData(&module, STORES));
    OK(cuModuleGetFunction(&stores, module, "stores"));
    OK(cuMemAlloc(&memory, 256));
    OK(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
    HOLDS(all.sm.smCount == shown);
    OK(cuDevSmResourceSplitByCount(split, &parts, &all, NULL, 0, 1));
    HOLDS(parts == shown);
    for (unsigned part = 0; part < parts; part++) {
        CUdevResourceDesc description;
        CUgreenCtx green;
        CUstream stream;
        unsigned seen[64];
        void *parameters[] = {&memory};
        OK(cuDevResourceGenerateDesc(&description, &split[part], 1));
        OK(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
        OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
        OK(cuMemsetD8(memory, 0, 256));
        OK(cuLaunchKernel(stores, 64, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
        OK(cuStreamSynchronize(stream));
        OK(cuMemcpyDtoH(seen, memory, sizeof seen));
        for (unsigned cta = 0; cta < 64; cta++) HOLDS(seen[cta] == cta + 1);
        OK(cuStreamDestroy(stream));
        OK(cuGreenCtxDestroy(green));
    }
    puts("done");
    return 0;
}
