// A kernel of a graph that faults.
#include "graphs.h"

__global__ void trap() { __trap(); }

int main() {
    unsigned long long *number = zeros<unsigned long long>(1);
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node;
    cudaKernelNodeParams launch = one_thread((const void *)trap, nullptr);
    CALL(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
    digit(graph, &node, 1, number, 1);
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaGetLastError());
    CALL(cudaPeekAtLastError());
    return 0;
}
