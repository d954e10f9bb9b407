// A capture seen from inside: its state, its graph, and the nodes that come next.
#include "graphs.h"

int main() {
    unsigned long long *number = zeros<unsigned long long>(1);
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaStreamCaptureStatus status;
    unsigned long long id = 0, later = 0;
    cudaGraph_t graph = nullptr, result = nullptr;
    const cudaGraphNode_t *next = nullptr;
    size_t count = 9;
#if CUDART_VERSION >= 13000
#define INFO(id) cudaStreamGetCaptureInfo(stream, &status, id, &graph, &next, nullptr, &count)
#define UPDATE(nodes, number, flags) cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, number, flags)
#else
#define INFO(id) cudaStreamGetCaptureInfo_v2(stream, &status, id, &graph, &next, &count)
#define UPDATE(nodes, number, flags) cudaStreamUpdateCaptureDependencies(stream, nodes, number, flags)
#endif
    CALL(INFO(&id));
    SHOW(status);
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CALL(INFO(&id));
    SHOW(status);
    SHOW(count);
    append<<<1, 1, 0, stream>>>(number, 1);
    CALL(INFO(&later));
    SHOW(count);
    SHOW(later == id);
    // A node by hand in the midst of it.
    cudaGraphNode_t own = digit(graph, next, count, number, 2);
    CALL(UPDATE(&own, 1, cudaStreamSetCaptureDependencies));
    append<<<1, 1, 0, stream>>>(number, 3);
    cudaGraphNode_t empty;
    CALL(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
    CALL(UPDATE(&empty, 1, cudaStreamAddCaptureDependencies));
    CALL(INFO(&later));
    SHOW(count);
    append<<<1, 1, 0, stream>>>(number, 4);
    CALL(UPDATE(&empty, 1, 77));
    CALL(cudaStreamEndCapture(stream, &result));
    SHOW(result == graph);
    show_nodes(result);
    run_once(result);
    SHOW(at(number));
    CALL(INFO(&later));
    SHOW(status);
    LAST();
    return 0;
}
