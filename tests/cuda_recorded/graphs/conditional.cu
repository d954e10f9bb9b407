// Graphs that decide while they run.
// toolkit: 13, as that of 12 does not know the kind of a conditional node
// nvcc: -rdc=true
#include "graphs.h"

__global__ void count_down(int *number, cudaGraphConditionalHandle handle) {
    *number -= 1;
    cudaGraphSetConditional(handle, *number > 0);
}
__global__ void decide(cudaGraphConditionalHandle handle, unsigned value) { cudaGraphSetConditional(handle, value); }

int main() {
    int *number = zeros<int>(1), start = 5;
    unsigned long long *trace = zeros<unsigned long long>(1);
    OK(cudaMemcpy(number, &start, sizeof start, cudaMemcpyHostToDevice));
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle again, choice;
    CALL(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    CALL(cudaGraphConditionalHandleCreate(&choice, graph));
#if CUDART_VERSION >= 13000
#define NODE(node, after, count, parameters) cudaGraphAddNode(node, graph, after, nullptr, count, parameters)
#else
#define NODE(node, after, count, parameters) cudaGraphAddNode(node, graph, after, count, parameters)
#endif
    cudaGraphNode_t loop, set, branch;
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = again;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    CALL(NODE(&loop, nullptr, 0, &parameters));
    cudaGraph_t body = parameters.conditional.phGraph_out[0];
    cudaGraphNode_t step = digit(body, nullptr, 0, trace, 3), last;
    void *arguments[] = {&number, &again};
    cudaKernelNodeParams launch = one_thread((const void *)count_down, arguments);
    CALL(cudaGraphAddKernelNode(&last, body, &step, 1, &launch));
    unsigned value = 1;
    void *choose[] = {&choice, &value};
    launch = one_thread((const void *)decide, choose);
    CALL(cudaGraphAddKernelNode(&set, graph, &loop, 1, &launch));
    cudaGraphNodeParams either = {};
    either.type = cudaGraphNodeTypeConditional;
    either.conditional.handle = choice;
    either.conditional.type = cudaGraphCondTypeIf;
    either.conditional.size = 1;
    CALL(NODE(&branch, &set, 1, &either));
    digit(either.conditional.phGraph_out[0], nullptr, 0, trace, 7);
    show_nodes(graph);
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(at(trace));
    SHOW(at(number));
    value = 0;
    CALL(cudaGraphExecKernelNodeSetParams(ready, set, &launch));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(at(trace));
    LAST();
    return 0;
}
