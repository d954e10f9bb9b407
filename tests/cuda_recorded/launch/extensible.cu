// cudaLaunchKernelEx and its attributes.
#include "show.h"

__global__ void add(int *number, int value) { atomicAdd(number, value); }

int main() {
    int *number = zeros<int>(1), value = 3;
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    void *arguments[] = {&number, &value};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3(32);
    config.stream = stream;
    CALL(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    CALL(cudaLaunchKernelEx(&config, add, number, 1000));
    CALL(cudaStreamSynchronize(stream));
    SHOW(at(number));
    cudaLaunchAttribute attributes[3] = {};
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributePriority;
    attributes[1].val.priority = 0;
    attributes[2].id = cudaLaunchAttributeLaunchCompletionEvent;
    attributes[2].val.launchCompletionEvent.event = event;
    config.attrs = attributes;
    config.numAttrs = 3;
    CALL(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    CALL(cudaEventSynchronize(event));
    CALL(cudaStreamSynchronize(stream));
    SHOW(at(number));
    attributes[2].id = cudaLaunchAttributeIgnore;
    CALL(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    config.gridDim = dim3(1 << 20);
    CALL(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    LAST();
    config.gridDim = dim3(0);
    CALL(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    config.gridDim = dim3(1);
    config.dynamicSmemBytes = 1 << 24;
    CALL(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    LAST();
    config.dynamicSmemBytes = 0;
    attributes[0].id = (cudaLaunchAttributeID)99;
    CALL(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    CALL(cudaLaunchKernelExC(&config, nullptr, arguments));
    LAST();
    CALL(cudaStreamSynchronize(stream));
    SHOW(at(number));
    return 0;
}
