// Memory that lives in a graph.
#include "graphs.h"

int main() {
    cudaGraph_t graph, captured;
    cudaGraphExec_t ready;
    cudaGraphNode_t allocate, set, copy, release;
    int result[4] = {};
    OK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams wanted = {};
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type = cudaMemLocationTypeDevice;
    wanted.bytesize = 1 << 16;
    CALL(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &wanted));
    SHOW(wanted.dptr != nullptr);
    cudaMemsetParams fill = {};
    fill.dst = wanted.dptr;
    fill.value = 6;
    fill.elementSize = 4;
    fill.width = 4;
    fill.height = 1;
    CALL(cudaGraphAddMemsetNode(&set, graph, &allocate, 1, &fill));
    CALL(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, result, wanted.dptr, 16, cudaMemcpyDeviceToHost));
    CALL(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, wanted.dptr));
    show_nodes(graph);
    cudaMemAllocNodeParams back = {};
    CALL(cudaGraphMemAllocNodeGetParams(allocate, &back));
    SHOW(back.bytesize);
    SHOW(back.dptr == wanted.dptr);
    void *freed = nullptr;
    CALL(cudaGraphMemFreeNodeGetParams(release, &freed));
    SHOW(freed == wanted.dptr);
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaGraphLaunch(ready, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(result[3]);
    cudaGraphExec_t second;
    CALL(cudaGraphInstantiate(&second, graph, 0));
    CALL(cudaGraphClone(&captured, graph));
    LAST();
    CALL(cudaGraphExecDestroy(ready));
    uint64_t used = 99;
    CALL(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    SHOW(used > 0);
    CALL(cudaDeviceGraphMemTrim(0));
    CALL(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &used));
    SHOW(used);
    CALL(cudaGraphDestroy(graph));
    // The same by capture, without the end: the memory lives on.
    cudaStream_t stream;
    int *memory = nullptr;
    OK(cudaStreamCreate(&stream));
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CALL(cudaMallocAsync(&memory, 1024, stream));
    CALL(cudaMemsetAsync(memory, 3, 1024, stream));
    CALL(cudaStreamEndCapture(stream, &captured));
    show_nodes(captured);
    CALL(cudaGraphInstantiate(&ready, captured, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CALL(cudaGraphLaunch(ready, stream));
    CALL(cudaGraphLaunch(ready, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(at(memory, 255) == 0x03030303);
    CALL(cudaFreeAsync(memory, stream));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaGraphExecDestroy(ready));
    LAST();
    return 0;
}
