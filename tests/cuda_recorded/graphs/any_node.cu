// Nodes by the one function that makes all kinds.
#include "graphs.h"

static int calls;
static void CUDART_CB call(void *) { calls++; }

int main() {
    int *numbers = zeros<int>(16), value = 4;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t kernel, set, copy, host, empty, wrong;
    OK(cudaGraphCreate(&graph, 0));
#if CUDART_VERSION >= 13000
#define NODE(node, after, count, parameters) cudaGraphAddNode(node, graph, after, nullptr, count, parameters)
#else
#define NODE(node, after, count, parameters) cudaGraphAddNode(node, graph, after, count, parameters)
#endif
    cudaGraphNodeParams fill = {};
    fill.type = cudaGraphNodeTypeMemset;
    fill.memset.dst = numbers;
    fill.memset.value = 2;
    fill.memset.elementSize = 4;
    fill.memset.width = 16;
    fill.memset.height = 1;
    CALL(NODE(&set, nullptr, 0, &fill));
    void *arguments[] = {&numbers, &value};
    cudaGraphNodeParams launch = {};
    launch.type = cudaGraphNodeTypeKernel;
    launch.kernel.func = (void *)add;
    launch.kernel.gridDim = dim3(1);
    launch.kernel.blockDim = dim3(16);
    launch.kernel.kernelParams = arguments;
    CALL(NODE(&kernel, &set, 1, &launch));
    int result[16] = {};
    cudaGraphNodeParams home = {};
    home.type = cudaGraphNodeTypeMemcpy;
    home.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(numbers, 64, 64, 1);
    home.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(result, 64, 64, 1);
    home.memcpy.copyParams.extent = make_cudaExtent(64, 1, 1);
    home.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
    CALL(NODE(&copy, &kernel, 1, &home));
    cudaGraphNodeParams task = {};
    task.type = cudaGraphNodeTypeHost;
    task.host.fn = call;
    CALL(NODE(&host, &copy, 1, &task));
    cudaGraphNodeParams nothing = {};
    nothing.type = cudaGraphNodeTypeEmpty;
    CALL(NODE(&empty, &host, 1, &nothing));
    show_nodes(graph);
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(result[15]);
    SHOW(calls);
    value = 40;
    CALL(cudaGraphExecNodeSetParams(ready, kernel, &launch));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(result[15]);
    fill.memset.value = 1000;
    CALL(cudaGraphNodeSetParams(set, &fill));
    run_once(graph);
    SHOW(result[15]);
    nothing.type = (cudaGraphNodeType)99;
    CALL(NODE(&wrong, nullptr, 0, &nothing));
    CALL(NODE(&wrong, nullptr, 0, nullptr));
    CALL(NODE(nullptr, nullptr, 0, &task));
    LAST();
    return 0;
}
