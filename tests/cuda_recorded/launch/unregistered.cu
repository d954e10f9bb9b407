// Functions of the host program that are no kernels, where a kernel is wanted.
#include "show.h"

__global__ void kernel(int *place) { *place = 1; }

static void host_function(int *) {}

int main() {
    const void *no_kernel = (const void *)host_function;
    int *place = zeros<int>(1);
    void *arguments[] = {&place};
    CALL(cudaLaunchKernel(no_kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    LAST();
    CALL(cudaLaunchCooperativeKernel(no_kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    LAST();
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    CALL(cudaLaunchKernelExC(&config, no_kernel, arguments));
    LAST();

    cudaFuncAttributes attributes;
    CALL(cudaFuncGetAttributes(&attributes, no_kernel));
    CALL(cudaFuncSetAttribute(no_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    CALL(cudaFuncSetCacheConfig(no_kernel, cudaFuncCachePreferL1));
    const char *name = nullptr;
    CALL(cudaFuncGetName(&name, no_kernel));
    size_t offset, size;
    CALL(cudaFuncGetParamInfo(no_kernel, 0, &offset, &size));
    int blocks;
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, no_kernel, 32, 0));
    CALL(cudaOccupancyAvailableDynamicSMemPerBlock(&size, no_kernel, 1, 32));
    CALL(cudaOccupancyMaxPotentialClusterSize(&blocks, no_kernel, &config));
    cudaFunction_t function;
    CALL(cudaGetFuncBySymbol(&function, no_kernel));
    LAST();

    cudaGraph_t graph;
    cudaGraphNode_t node, good;
    OK(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams wrong = {}, right = {};
    wrong.gridDim = wrong.blockDim = dim3(1);
    wrong.kernelParams = arguments;
    right = wrong;
    wrong.func = (void *)no_kernel;
    right.func = (void *)kernel;
    CALL(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &wrong));
    LAST();
    OK(cudaGraphAddKernelNode(&good, graph, nullptr, 0, &right));
    CALL(cudaGraphKernelNodeSetParams(good, &wrong));
    LAST();
    cudaGraphNodeParams any = {cudaGraphNodeTypeKernel};
    any.kernel.func = (void *)no_kernel;
    any.kernel.gridDim = any.kernel.blockDim = dim3(1);
    any.kernel.kernelParams = arguments;
#if CUDART_VERSION >= 13000
    CALL(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &any));
#else
    CALL(cudaGraphAddNode(&node, graph, nullptr, 0, &any));
#endif
    LAST();
    CALL(cudaGraphNodeSetParams(good, &any));
    LAST();
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphExecKernelNodeSetParams(exec, good, &wrong));
    LAST();
    CALL(cudaGraphExecNodeSetParams(exec, good, &any));
    LAST();
    size_t count;
    OK(cudaGraphGetNodes(graph, nullptr, &count));
    SHOW(count);
    CALL(cudaGraphLaunch(exec, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(at(place));
    return 0;
}
