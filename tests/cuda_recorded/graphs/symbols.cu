// Copies between memory and variables of the device in graphs.
#include "graphs.h"

__device__ int table[4] = {1, 2, 3, 4};

int main() {
    int in[4] = {10, 20, 30, 40}, out[4] = {}, *memory = zeros<int>(4);
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t to, from;
    OK(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, table, in, 8, 4, cudaMemcpyHostToDevice));
    CALL(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, out, table, 16, 0, cudaMemcpyDeviceToHost));
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    for (int value : out) SHOW(value);
    CALL(cudaGraphExecMemcpyNodeSetParamsToSymbol(ready, to, table, in + 2, 8, 8, cudaMemcpyHostToDevice));
    CALL(cudaGraphExecMemcpyNodeSetParamsFromSymbol(ready, from, out, table, 8, 8, cudaMemcpyDeviceToHost));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    for (int value : out) SHOW(value);
    CALL(cudaGraphMemcpyNodeSetParams1D(from, memory, memory, 16, cudaMemcpyDeviceToDevice));
    CALL(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, in, in, 8, 4, cudaMemcpyHostToDevice));
    LAST();
    return 0;
}
