/* A graph that is captured again (cuStreamBeginRecaptureToGraph): its nodes stay and get new parameters, the program is asked about
   each change, and whatever does not fit ends the capture. */
#include "expect.h"

static CUstream stream;
static CUdeviceptr words;

typedef struct {
    unsigned calls;
    CUgraphNode node;
    CUgraphNodeParams before, now;
    CUgraphRecaptureStatus status;
    CUresult answer;
} Asked;

static CUresult ask(void *data, CUgraphNode node, const CUgraphNodeParams *before, const CUgraphNodeParams *now,
                    CUgraphRecaptureStatus status) {
    Asked *asked = data;
    asked->calls++;
    asked->node = node;
    asked->before = *before;
    asked->now = *now;
    asked->status = status;
    /* The program may call the driver. */
    CUgraphNodeType type;
    OK(cuGraphNodeGetType(node, &type));
    HOLDS(type == before->type && type == now->type);
    CUstreamCaptureStatus capturing;
    OK(cuStreamIsCapturing(stream, &capturing));
    HOLDS(capturing == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    return asked->answer;
}

static unsigned word(unsigned index) {
    unsigned got = 0;
    OK(cuMemcpyDtoH(&got, words + 4 * index, 4));
    return got;
}

/* Three nodes: two sets and a copy between them. */
static void three(unsigned first, unsigned rows, unsigned from) {
    OK(cuMemsetD32Async(words, first, 1, stream));
    OK(cuMemcpyDtoDAsync(words + 4, words + 4 * from, 4, stream));
    if (rows == 1) {
        OK(cuMemsetD32Async(words + 8, 7, 1, stream));
    } else {
        OK(cuMemsetD2D32Async(words + 8, 8, 7, 1, rows, stream));
    }
}

static void again(CUgraph graph, Asked *asked) {
    CUgraphRecaptureCallback callback = asked ? ask : NULL;
    OK(cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, callback, asked));
}

static CUgraph captured(void) {
    CUgraph graph;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    three(1, 1, 0);
    OK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static void changes_are_told_and_kept(void) {
    CUgraph graph = captured(), ended = NULL;
    CUgraphNode before[3], after[3];
    size_t count = 3;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    Asked asked = {0};
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphGetNodes(graph, before, &count));

    /* Nothing changed: nobody is asked. */
    again(graph, &asked);
    three(1, 1, 0);
    OK(cuStreamEndCapture(stream, &ended));
    HOLDS(ended == graph && asked.calls == 0);

    /* One node changes as an instance can. */
    again(graph, &asked);
    three(5, 1, 0);
    OK(cuStreamEndCapture(stream, &ended));
    HOLDS(asked.calls == 1 && asked.node == before[0] && asked.status == CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE);
    HOLDS(asked.before.type == CU_GRAPH_NODE_TYPE_MEMSET && asked.before.memset.value == 1 && asked.now.memset.value == 5);
    count = 3;
    OK(cuGraphGetNodes(graph, after, &count));
    HOLDS(count == 3 && after[0] == before[0] && after[1] == before[1] && after[2] == before[2]);
    OK(cuGraphExecUpdate(exec, graph, &info));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    HOLDS(word(0) == 5 && word(1) == 5 && word(2) == 7);

    /* One changes as an instance cannot: the graph has it all the same. */
    again(graph, &asked);
    three(5, 2, 0);
    OK(cuStreamEndCapture(stream, &ended));
    HOLDS(asked.calls == 2 && asked.node == before[2] && asked.status == CU_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE);
    IS(GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graph, &info));
    OK(cuGraphExecDestroy(exec));

    /* Nobody is asked without a callback. The graph is known: its place may be NULL, unlike that of a new one. */
    again(graph, NULL);
    three(9, 1, 0);
    OK(cuStreamEndCapture(stream, NULL));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IS(INVALID_VALUE, cuStreamEndCapture(stream, NULL));
    OK(cuStreamEndCapture(stream, &ended));
    OK(cuGraphDestroy(ended));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    HOLDS(word(0) == 9 && word(1) == 9);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* What does not fit fails, and the capture with it; the graph is the program's to destroy. */
static void fails(CUgraph graph) {
    CUgraph ended = graph;
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(stream, &status));
    HOLDS(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    IS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &ended));
    HOLDS(ended == NULL);
    OK(cuGraphDestroy(graph));
}

static void what_does_not_fit_fails(void) {
    CUgraph graph = captured(), ended = NULL;
    Asked asked = {.answer = CUDA_ERROR_NOT_PERMITTED};

    /* The program says no. */
    again(graph, &asked);
    IS(GRAPH_RECAPTURE_FAILURE, cuMemsetD32Async(words, 2, 1, stream));
    fails(graph);

    /* Another kind of work. */
    graph = captured();
    again(graph, NULL);
    IS(GRAPH_RECAPTURE_FAILURE, cuMemcpyDtoDAsync(words + 4, words, 4, stream));
    fails(graph);

    /* More nodes. */
    graph = captured();
    again(graph, NULL);
    three(1, 1, 0);
    IS(GRAPH_RECAPTURE_FAILURE, cuMemsetD32Async(words, 2, 1, stream));
    fails(graph);

    /* Fewer nodes. */
    graph = captured();
    again(graph, NULL);
    OK(cuMemsetD32Async(words, 1, 1, stream));
    IS(GRAPH_RECAPTURE_FAILURE, cuStreamEndCapture(stream, &ended));
    HOLDS(ended == NULL);
    OK(cuGraphDestroy(graph));

    /* Other dependencies: the second node on a stream of its own, which waits for nothing but the beginning. */
    CUstream other;
    CUevent fork, join;
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    graph = captured();
    again(graph, NULL);
    OK(cuEventRecord(fork, stream));
    OK(cuStreamWaitEvent(other, fork, 0));
    OK(cuMemsetD32Async(words, 1, 1, stream));
    IS(GRAPH_RECAPTURE_FAILURE, cuMemcpyDtoDAsync(words + 4, words, 4, other));
    fails(graph);
    OK(cuStreamDestroy(other));
}

static void memory(void) {
    CUdeviceptr first = 0, second = 0;
    CUgraph graph, ended;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&first, 1024, stream));
    OK(cuMemsetD32Async(first, 1, 256, stream));
    OK(cuMemFreeAsync(first, stream));
    OK(cuStreamEndCapture(stream, &graph));
    again(graph, NULL);
    OK(cuMemAllocAsync(&second, 1024, stream));
    HOLDS(first == second);
    OK(cuMemsetD32Async(second, 2, 256, stream));
    OK(cuMemFreeAsync(second, stream));
    OK(cuStreamEndCapture(stream, &ended));
    again(graph, NULL);
    IS(GRAPH_RECAPTURE_FAILURE, cuMemAllocAsync(&second, 2048, stream));
    fails(graph);
}

static void arguments(void) {
    CUgraph graph = captured(), ended;
    CUstream other;
    IS(INVALID_VALUE, cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, NULL));
    IS(INVALID_VALUE, cuStreamBeginRecaptureToGraph(stream, 3, graph, NULL, NULL));
    again(graph, NULL);
    /* One at a time. */
    IS(ILLEGAL_STATE, cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, NULL, NULL));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    IS(ILLEGAL_STATE, cuStreamBeginRecaptureToGraph(other, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, NULL, NULL));
    OK(cuStreamDestroy(other));
    three(1, 1, 0);
    OK(cuStreamEndCapture(stream, &ended));
    /* A stream that goes away takes the capture along, and the graph can be captured once more. */
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginRecaptureToGraph(other, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, NULL, NULL));
    OK(cuStreamDestroy(other));
    again(graph, NULL);
    three(2, 1, 0);
    OK(cuStreamEndCapture(stream, &ended));
    HOLDS(ended == graph);
    OK(cuGraphDestroy(graph));
}

int main(void) {
    start();
    OK(cuMemAlloc(&words, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    changes_are_told_and_kept();
    what_does_not_fit_fails();
    memory();
    arguments();
    puts("done");
    return 0;
}
