// A cooperative launch on several devices, of which there is one here.
// toolkit: 12, as that of 13 does not have it
#include "show.h"

__global__ void set(int *number, int value) { *number = value; }

int main() {
    int *number = zeros<int>(1), value = 7;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    void *arguments[] = {&number, &value};
    cudaLaunchParams launches[2] = {};
    launches[0].func = (void *)set;
    launches[0].gridDim = dim3(1);
    launches[0].blockDim = dim3(1);
    launches[0].args = arguments;
    launches[0].stream = stream;
    launches[1] = launches[0];
    CALL(cudaLaunchCooperativeKernelMultiDevice(launches, 1, 0));
    LAST();
    CALL(cudaDeviceSynchronize());
    SHOW(at(number));
    CALL(cudaLaunchCooperativeKernelMultiDevice(launches, 2, 0));
    CALL(cudaLaunchCooperativeKernelMultiDevice(launches, 0, 0));
    CALL(cudaLaunchCooperativeKernelMultiDevice(nullptr, 1, 0));
    CALL(cudaLaunchCooperativeKernelMultiDevice(launches, 1, 9));
    launches[0].stream = nullptr;
    CALL(cudaLaunchCooperativeKernelMultiDevice(launches, 1, 0));
    LAST();
    return 0;
}
