// What newer programs do not call any more.
#include "show.h"

__global__ void set(int *number, int value) { *number = value; }

int main() {
    int *number = zeros<int>(1), value = 7;
    cudaSharedMemConfig config;
    CALL(cudaFuncSetSharedMemConfig((const void *)set, cudaSharedMemBankSizeEightByte));
    CALL(cudaFuncSetSharedMemConfig((const void *)set, (cudaSharedMemConfig)9));
    CALL(cudaFuncSetSharedMemConfig(nullptr, cudaSharedMemBankSizeFourByte));
    LAST();
    CALL(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    CALL(cudaDeviceGetSharedMemConfig(&config));
    SHOW(config);
    void *arguments[] = {&number, &value};
    CALL(cudaLaunchKernel((const void *)set, dim3(1), dim3(1), arguments, 0, nullptr));
    SHOW(at(number));
    return 0;
}
