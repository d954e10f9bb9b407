/* Local memory of kernels counts as device memory while launches hold it, and only then. Needs a device with 1 GiB and 2 multiprocessors. */
#include "expect.h"

static const char LOCAL[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry keeps(.param .u64 flag) {\n"
    "    .local .align 4 .b8 own[65536];\n    .reg .b64 %d<3>;\n    .reg .b32 %r;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d0, [flag];\n    mov.u64 %d1, own;\n    st.local.u32 [%d1+4096], 1;\n"
    "AGAIN:\n    ld.volatile.global.u32 %r, [%d0];\n    setp.eq.u32 %p, %r, 0;\n    @%p bra AGAIN;\n    ret;\n}\n";

enum { LOCAL_BYTES = 65536 };

static size_t free_now(void) {
    size_t free, total;
    OK(cuMemGetInfo(&free, &total));
    return free;
}

int main(void) {
    CUmodule module;
    CUfunction keeps;
    CUstream streams[2];
    start();
    OK(cuModuleLoadData(&module, LOCAL));
    OK(cuModuleGetFunction(&keeps, module, "keeps"));
    for (int i = 0; i < 2; i++) OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    CUdeviceptr address = (CUdeviceptr)flag;
    void *parameters[] = {&address};
    size_t before = free_now();
    *flag = 0;
    OK(cuLaunchKernel(keeps, 2, 1, 1, 32, 1, 1, 0, streams[0], parameters, NULL));
    HOLDS(before - free_now() == 64 * (size_t)LOCAL_BYTES);
    /* Launches share it, the larger one takes the difference; never more than the threads that are resident at once. */
    OK(cuLaunchKernel(keeps, 1, 1, 1, 32, 1, 1, 0, streams[1], parameters, NULL));
    HOLDS(before - free_now() == 64 * (size_t)LOCAL_BYTES);
    OK(cuLaunchKernel(keeps, 3, 1, 1, 32, 1, 1, 0, streams[1], parameters, NULL));
    HOLDS(before - free_now() == 96 * (size_t)LOCAL_BYTES);
    OK(cuLaunchKernel(keeps, 1000, 1, 1, 32, 1, 1, 0, streams[1], parameters, NULL));
    HOLDS(before - free_now() == 2 * 2048 * (size_t)LOCAL_BYTES);
    release();
    OK(cuCtxSynchronize());
    HOLDS(free_now() == before);
    /* What is not there cannot be held. */
    CUdeviceptr most;
    OK(cuMemAlloc(&most, before - (1 << 20)));
    IS(OUT_OF_MEMORY, cuLaunchKernel(keeps, 2, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemFree(most));
    OK(cuLaunchKernel(keeps, 2, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    OK(cuCtxSynchronize());
    puts("done");
    return 0;
}
