// What the programs about graphs share: kernels that leave a trace of their order, and graphs as text.
#ifndef GRAPHS_H
#define GRAPHS_H

#include "show.h"

static __global__ void append(unsigned long long *number, unsigned digit) { *number = *number * 10 + digit; }
static __global__ void add(int *numbers, int value) { numbers[threadIdx.x] += value; }

// The parameters of a kernel of one thread.
static inline cudaKernelNodeParams one_thread(const void *kernel, void **arguments) {
    cudaKernelNodeParams parameters = {};
    parameters.func = (void *)kernel;
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(1);
    parameters.kernelParams = arguments;
    return parameters;
}

// A node that appends a digit.
static inline cudaGraphNode_t digit(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                    unsigned long long *number, unsigned value) {
    cudaGraphNode_t node;
    void *arguments[] = {&number, &value};
    cudaKernelNodeParams parameters = one_thread((const void *)append, arguments);
    OK(cudaGraphAddKernelNode(&node, graph, after, count, &parameters));
    return node;
}

// Prints the kinds of a graph's nodes, and how many edges it has.
static inline void show_nodes(cudaGraph_t graph) {
    cudaGraphNode_t nodes[64];
    size_t count = 64, edges = 0;
    OK(cudaGraphGetNodes(graph, nodes, &count));
#if CUDART_VERSION >= 13000
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
    printf("    nodes");
    for (size_t index = 0; index < count; index++) {
        cudaGraphNodeType type;
        OK(cudaGraphNodeGetType(nodes[index], &type));
        printf(" %d", (int)type);
    }
    printf(", %zu edges\n", edges);
}

// Makes a graph ready, launches it, waits, and takes it away again.
static inline void run_once(cudaGraph_t graph) {
    cudaGraphExec_t ready;
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaStreamSynchronize(nullptr));
    CALL(cudaGraphExecDestroy(ready));
}

#endif
