/* Kernels with an instruction that is not executed yet, beside one that runs. */
#include "behaviour/expect.h"

static const char KERNELS[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry asks(.param .u64 surface) {\n    .reg .b64 %d;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %d, [surface];\n    mov.u32 %r, 0;\n"
    "    suq.array_size.b32 %r, [%d];\n    ret;\n}\n"
    ".visible .entry runs() { ret; }\n";

int main(void) {
    CUmodule module;
    CUfunction asks, runs;
    unsigned long long surface = 0;
    void *parameters[] = {&surface};
    start();
    OK(cuModuleLoadData(&module, KERNELS));
    OK(cuModuleGetFunction(&asks, module, "asks"));
    OK(cuModuleGetFunction(&runs, module, "runs"));
    for (int i = 0; i < 3; i++) IS(NOT_SUPPORTED, cuLaunchKernel(asks, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuLaunchKernel(runs, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    puts("done");
    return 0;
}
