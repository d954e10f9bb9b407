// Semaphores of other interfaces in streams and graphs, without any.
#include "show.h"

int main() {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = nullptr, empty;
    OK(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
    cudaExternalSemaphore_t none[1] = {nullptr};
    cudaExternalSemaphoreSignalParams signal[1] = {};
    cudaExternalSemaphoreWaitParams wait[1] = {};
    CALL(cudaSignalExternalSemaphoresAsync(none, signal, 0, stream));
    CALL(cudaSignalExternalSemaphoresAsync(nullptr, signal, 1, stream));
    CALL(cudaSignalExternalSemaphoresAsync(none, nullptr, 1, stream));
    CALL(cudaWaitExternalSemaphoresAsync(none, wait, 0, stream));
    CALL(cudaWaitExternalSemaphoresAsync(nullptr, wait, 1, stream));
    CALL(cudaWaitExternalSemaphoresAsync(none, nullptr, 1, stream));
    LAST();
    cudaExternalSemaphoreSignalNodeParams signals = {none, signal, 0};
    cudaExternalSemaphoreWaitNodeParams waits = {none, wait, 0};
    CALL(cudaGraphAddExternalSemaphoresSignalNode(&node, graph, nullptr, 0, nullptr));
    CALL(cudaGraphAddExternalSemaphoresSignalNode(nullptr, graph, nullptr, 0, &signals));
    CALL(cudaGraphAddExternalSemaphoresWaitNode(&node, graph, nullptr, 0, nullptr));
    CALL(cudaGraphAddExternalSemaphoresWaitNode(nullptr, graph, nullptr, 0, &waits));
    CALL(cudaGraphExternalSemaphoresSignalNodeGetParams(nullptr, &signals));
    CALL(cudaGraphExternalSemaphoresSignalNodeSetParams(nullptr, &signals));
    CALL(cudaGraphExternalSemaphoresWaitNodeGetParams(nullptr, &waits));
    CALL(cudaGraphExternalSemaphoresWaitNodeSetParams(nullptr, &waits));
    cudaGraphExec_t ready;
    OK(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphExecExternalSemaphoresSignalNodeSetParams(nullptr, empty, &signals));
    CALL(cudaGraphExecExternalSemaphoresSignalNodeSetParams(ready, empty, nullptr));
    CALL(cudaGraphExecExternalSemaphoresWaitNodeSetParams(nullptr, empty, &waits));
    CALL(cudaGraphExecExternalSemaphoresWaitNodeSetParams(ready, empty, nullptr));
    LAST();
    CALL(cudaDeviceGetNvSciSyncAttributes(nullptr, 0, 0));
    CALL(cudaDeviceGetNvSciSyncAttributes(nullptr, 99, 0));
    LAST();
    return 0;
}
