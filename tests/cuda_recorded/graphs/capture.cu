// What is done in streams becomes a graph.
#include "graphs.h"

static int calls;
static void CUDART_CB call(void *) { calls++; }

int main() {
    unsigned long long *number = zeros<unsigned long long>(1), *copy;
    OK(cudaMallocHost(&copy, sizeof *copy));
    cudaStream_t stream, other;
    cudaEvent_t forked, joined;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamCaptureStatus status;
    CALL(cudaStreamIsCapturing(stream, &status));
    SHOW(status);
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    append<<<1, 1, 0, stream>>>(number, 1);
    CALL(cudaEventRecord(forked, stream));
    CALL(cudaStreamWaitEvent(other, forked, 0));
    CALL(cudaStreamIsCapturing(other, &status));
    SHOW(status);
    append<<<1, 1, 0, stream>>>(number, 2);
    CALL(cudaLaunchHostFunc(other, call, nullptr));
    CALL(cudaEventRecord(joined, other));
    CALL(cudaStreamWaitEvent(stream, joined, 0));
    append<<<1, 1, 0, stream>>>(number, 3);
    CALL(cudaMemcpyAsync(copy, number, sizeof *copy, cudaMemcpyDeviceToHost, stream));
    CALL(cudaMemsetAsync(number, 0, sizeof *number, stream));
    CALL(cudaStreamEndCapture(stream, &graph));
    LAST();
    SHOW(at(number));
    SHOW(calls);
    show_nodes(graph);
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    for (int turn = 0; turn < 3; turn++) CALL(cudaGraphLaunch(ready, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(*copy);
    SHOW(calls);
    SHOW(at(number));
    unsigned long long flags = 99;
    CALL(cudaGraphExecGetFlags(ready, &flags));
    SHOW(flags);
    CALL(cudaGraphUpload(ready, stream));
    CALL(cudaGraphExecDestroy(ready));
    CALL(cudaGraphDestroy(graph));
    // An empty capture, and one into a graph that is there.
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CALL(cudaStreamEndCapture(stream, &graph));
    show_nodes(graph);
    CALL(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
    append<<<1, 1, 0, stream>>>(number, 7);
    cudaGraph_t same = nullptr;
    CALL(cudaStreamEndCapture(stream, &same));
    SHOW(same == graph);
    show_nodes(graph);
    run_once(graph);
    SHOW(at(number));
    LAST();
    return 0;
}
