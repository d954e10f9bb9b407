// Nodes of the kinds that any_node leaves out, by the one function that makes all, and what may become of them.
#include "graphs.h"

int main() {
    unsigned long long *number = zeros<unsigned long long>(1);
    cudaGraph_t graph, inner, other;
    cudaGraphNode_t record, wait, child, alloc, free_node, kernel, wrong;
    cudaEvent_t event, later;
    OK(cudaEventCreate(&event));
    OK(cudaEventCreate(&later));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&inner, 0));
    OK(cudaGraphCreate(&other, 0));
    digit(inner, nullptr, 0, number, 4);
    digit(other, nullptr, 0, number, 6);
#if CUDART_VERSION >= 13000
#define NODE(node, after, count, parameters) cudaGraphAddNode(node, graph, after, nullptr, count, parameters)
#else
#define NODE(node, after, count, parameters) cudaGraphAddNode(node, graph, after, count, parameters)
#endif
    cudaGraphNodeParams recording = {};
    recording.type = cudaGraphNodeTypeEventRecord;
    recording.eventRecord.event = event;
    CALL(NODE(&record, nullptr, 0, &recording));
    cudaGraphNodeParams waiting = {};
    waiting.type = cudaGraphNodeTypeWaitEvent;
    waiting.eventWait.event = event;
    CALL(NODE(&wait, &record, 1, &waiting));
    cudaGraphNodeParams nested = {};
    nested.type = cudaGraphNodeTypeGraph;
    nested.graph.graph = inner;
    CALL(NODE(&child, &wait, 1, &nested));
    cudaGraphNodeParams memory = {};
    memory.type = cudaGraphNodeTypeMemAlloc;
    memory.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.alloc.bytesize = 256;
    CALL(NODE(&alloc, &child, 1, &memory));
    SHOW(memory.alloc.dptr != nullptr);
    void *address = memory.alloc.dptr;
    int fill = 7;
    cudaMemsetParams set = {};
    set.dst = address;
    set.elementSize = 1;
    set.width = 256;
    set.height = 1;
    set.value = 3;
    CALL(cudaGraphAddMemsetNode(&kernel, graph, &alloc, 1, &set));
    int got = 0;
    cudaGraphNode_t copy;
    CALL(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &got, address, 4, cudaMemcpyDeviceToHost));
    cudaGraphNodeParams release = {};
    release.type = cudaGraphNodeTypeMemFree;
    release.free.dptr = address;
    CALL(NODE(&free_node, &copy, 1, &release));
    CALL(NODE(&wrong, &copy, 1, &release));
    LAST();
    show_nodes(graph);
    cudaGraphExec_t ready;
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(at(number));
    SHOW(got == 0x03030303);
    CALL(cudaEventQuery(event));
    SHOW(fill);

    recording.eventRecord.event = later;
    CALL(cudaGraphNodeSetParams(record, &recording));
    cudaEvent_t told = nullptr;
    CALL(cudaGraphEventRecordNodeGetEvent(record, &told));
    SHOW(told == later);
    CALL(cudaGraphNodeSetParams(record, &waiting));
    CALL(cudaGraphNodeSetParams(alloc, &memory));
    CALL(cudaGraphNodeSetParams(free_node, &release));
    nested.graph.graph = other;
    CALL(cudaGraphNodeSetParams(child, &nested));
    CALL(cudaGraphExecNodeSetParams(ready, child, &nested));
    CALL(cudaGraphExecNodeSetParams(ready, record, &recording));
    CALL(cudaGraphExecNodeSetParams(ready, alloc, &memory));
    CALL(cudaGraphExecNodeSetParams(ready, free_node, &release));
    CALL(cudaGraphNodeSetParams(record, nullptr));
    CALL(cudaGraphNodeSetParams(nullptr, &recording));
    CALL(cudaGraphExecNodeSetParams(nullptr, record, &recording));
    CALL(cudaGraphExecNodeSetParams(ready, nullptr, &recording));
    LAST();
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(at(number));
    recording.reserved0[1] = 1;
    CALL(NODE(&wrong, nullptr, 0, &recording));
    recording.reserved0[1] = 0;
    CALL(NODE(&wrong, &wrong, 1, &recording));
    nested.graph.graph = graph;
    CALL(NODE(&wrong, nullptr, 0, &nested));
    LAST();
    return 0;
}
