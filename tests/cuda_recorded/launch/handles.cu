// Kernels as handles: of the runtime, of the driver, and launched by both.
#include "show.h"

__global__ void add(int *number, int value) { *number += value; }

int main() {
    int *number = zeros<int>(1), value = 5;
    void *arguments[] = {&number, &value};
    cudaFunction_t function = nullptr, again = nullptr;
    cudaKernel_t kernel = nullptr;
    CALL(cudaGetFuncBySymbol(&function, (const void *)add));
    CALL(cudaGetFuncBySymbol(&again, (const void *)add));
    SHOW(function == again);
    CALL(cudaGetKernel(&kernel, (const void *)add));
    SHOW(kernel != nullptr);
    CALL(cuLaunchKernel((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    CALL(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    CALL(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(at(number));
    const char *name = nullptr;
    CALL(cuFuncGetName(&name, (CUfunction)function));
    printf("    %s\n", name);
    CUfunction from_kernel;
    CALL(cuKernelGetFunction(&from_kernel, (CUkernel)kernel));
    SHOW(from_kernel == (CUfunction)function);
    int threads = 0;
    CALL(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (CUfunction)function));
    SHOW(threads);
    CALL(cudaGetFuncBySymbol(&function, (const void *)main));
#if CUDART_VERSION >= 13000
    CALL(cudaGetKernel(&kernel, (const void *)main));
    LAST();
#endif
    return 0;
}
