// Modules of the driver API next to the program's own code.
#include "show.h"

static const char TEXT[] = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .global .align 4 .u32 number = 3;
.visible .entry twice(.param .u64 place) {
    .reg .b64 %d;
    .reg .b32 %r;
    ld.param.u64 %d, [place];
    ld.global.u32 %r, [%d];
    add.u32 %r, %r, %r;
    st.global.u32 [%d], %r;
    ret;
}
)";

__global__ void add(int *number, int value) { *number += value; }

int main() {
    int *number = zeros<int>(1);
    CUmodule module;
    CUfunction twice;
    CALL(cuModuleLoadData(&module, TEXT));
    CALL(cuModuleGetFunction(&twice, module, "twice"));
    void *arguments[] = {&number};
    add<<<1, 1>>>(number, 21);
    CALL(cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    SHOW(at(number));
    CUdeviceptr variable;
    size_t bytes;
    CALL(cuModuleGetGlobal(&variable, &bytes, module, "number"));
    CALL(cudaMemcpy(number, (void *)variable, bytes, cudaMemcpyDefault));
    SHOW(at(number));
    cudaFunction_t function;
    CALL(cudaGetFuncBySymbol(&function, (const void *)add));
    CUmodule home;
    CALL(cuFuncGetModule(&home, function));
    SHOW(home != module);
    CALL(cuModuleUnload(module));
    LAST();
    return 0;
}
