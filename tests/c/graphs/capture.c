/* Capture: work of one stream and of several becomes a graph, which does the same. */
#include "graphs.h"

static void call(void *data) { ++*(int *)data; }

static void show_kinds(CUgraph graph) {
    CUgraphNode nodes[16];
    size_t count = 16, edges = 0;
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    CHECK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    printf("kinds");
    for (size_t index = 0; index < count; index++) {
        CUgraphNodeType type;
        CHECK(cuGraphNodeGetType(nodes[index], &type));
        printf(" %d", (int)type);
    }
    printf(", %zu edges\n", edges);
}

int main(void) {
    setup();
    CUstream stream, other;
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    const CUgraphNode *nodes;
    size_t count;
    CUdeviceptr place = words(8);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&fork, 0));
    CHECK(cuEventCreate(&join, 0));

    /* One stream, all kinds of work. */
    unsigned *host, in = 5;
    int calls = 0;
    CHECK(cuMemHostAlloc((void **)&host, 64, 0));
    SHOW(cuStreamIsCapturing(stream, &status));
    printf("status %d\n", (int)status);
    SHOW(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    SHOW(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    SHOW(cuMemcpyHtoDAsync(place, &in, 4, stream));
    SHOW(cuMemsetD8Async(place + 4, 1, 4, stream));
    stream_digit(stream, place, 6);
    SHOW(cuMemcpyDtoHAsync(host, place, 8, stream));
    SHOW(cuLaunchHostFunc(stream, call, &calls));
    SHOW(cuStreamWriteValue32(stream, place + 8, 9, 0));
    SHOW(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, NULL, &count));
    printf("status %d, id %d, graph %d, %zu node\n", (int)status, id != 0, graph != NULL, count);
    CUgraph same = graph;
    SHOW(cuStreamEndCapture(stream, &graph));
    printf("same graph %d\n", graph == same);
    SHOW(cuStreamIsCapturing(stream, &status));
    printf("status %d, nothing was done: %u, calls %d\n", (int)status, word(place), calls);
    show_kinds(graph);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    in = 7;
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u %x, calls %d, value %u\n", host[0], host[1], calls, word(place + 8));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* Two streams: an event takes the second in, another one joins it. */
    CHECK(cuMemsetD32(place, 0, 8));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    stream_digit(stream, place, 1);
    SHOW(cuEventRecord(fork, stream));
    SHOW(cuStreamWaitEvent(other, fork, 0));
    SHOW(cuStreamIsCapturing(other, &status));
    printf("other status %d\n", (int)status);
    stream_digit(other, place + 4, 2);
    stream_digit(stream, place, 3);
    SHOW(cuEventRecord(join, other));
    SHOW(cuStreamWaitEvent(stream, join, 0));
    SHOW(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, NULL, &count));
    printf("comes after %zu nodes\n", count);
    CUdeviceptr b = place + 4;
    void *sums[] = {&place, &place, &b};
    CHECK(cuLaunchKernel(function("sum"), 1, 1, 1, 1, 1, 1, 0, stream, sums, 0));
    SHOW(cuStreamEndCapture(stream, &graph));
    SHOW(cuStreamIsCapturing(other, &status));
    printf("other status %d\n", (int)status);
    show_kinds(graph);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(place));

    /* A launch of a graph cannot be captured. */
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    SHOW(cuGraphLaunch(exec, stream));
    CUgraph outer;
    SHOW(cuStreamEndCapture(stream, &outer));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* External records and waits are nodes. */
    CHECK(cuMemsetD32(place, 0, 8));
    CHECK(cuEventRecord(fork, other));
    CHECK(cuEventRecord(join, other));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SHOW(cuStreamWaitEvent(stream, fork, CU_EVENT_WAIT_EXTERNAL));
    stream_digit(stream, place, 2);
    SHOW(cuEventRecordWithFlags(join, stream, CU_EVENT_RECORD_EXTERNAL));
    CHECK(cuStreamEndCapture(stream, &graph));
    show_kinds(graph);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    stream_digit(other, place, 1);
    CHECK(cuEventRecord(fork, other));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamWaitEvent(other, join, 0));
    stream_digit(other, place, 3);
    CHECK(cuStreamSynchronize(other));
    printf("%u\n", word(place));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* Into a graph of the program, behind one of its nodes; and with a node of the program's among what is captured. */
    CHECK(cuMemsetD32(place, 0, 8));
    CHECK(cuGraphCreate(&graph, 0));
    CUgraphNode first = digit(graph, NULL, 0, place, 1), mine;
    CUgraph ended;
    SHOW(cuStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
    stream_digit(stream, place, 2);
    CHECK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, NULL, &count));
    mine = digit(graph, nodes, count, place, 3);
    SHOW(cuStreamUpdateCaptureDependencies(stream, &mine, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    stream_digit(stream, place, 4);
    CUgraphNode apart = digit(graph, NULL, 0, place + 4, 5);
    SHOW(cuStreamUpdateCaptureDependencies(stream, &apart, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    SHOW(cuStreamUpdateCaptureDependencies(stream, &apart, NULL, 1, 2));
    CHECK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, NULL, &count));
    printf("comes after %zu nodes\n", count);
    CHECK(cuLaunchKernel(function("sum"), 1, 1, 1, 1, 1, 1, 0, stream, sums, 0));
    SHOW(cuStreamEndCapture(stream, &ended));
    printf("same graph %d\n", ended == graph);
    SHOW(cuStreamUpdateCaptureDependencies(stream, &apart, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    show_kinds(graph);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(place));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* The thread's own default stream can be captured. */
    SHOW(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    stream_digit(CU_STREAM_PER_THREAD, place, 1);
    SHOW(cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
    show_kinds(graph);
    CHECK(cuGraphDestroy(graph));

    /* Nothing captured is a graph without nodes. */
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SHOW(cuStreamEndCapture(stream, &graph));
    show_kinds(graph);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    SHOW(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    return 0;
}
