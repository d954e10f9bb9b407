/* Threads that capture, instantiate, launch, update and destroy at once, each in streams of its own; one instance that all launch. */
#include "graphs.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 40 };

static CUgraphExec shared;
static CUdeviceptr total;

static void *work(void *data) {
    unsigned number = *(unsigned *)data, failures = 0;
    CUstream stream, side;
    CUevent fork, join;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    CUdeviceptr place, second;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CHECK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(cuMemAlloc(&place, 8));
    second = place + 4;
    for (unsigned round = 0; round < ROUNDS; round++) {
        CUgraph graph;
        CUgraphExec exec;
        unsigned found[2];
        CHECK(cuMemsetD32Async(place, 0, 2, stream));
        CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        stream_digit(stream, place, 1);
        CHECK(cuEventRecord(fork, stream));
        CHECK(cuStreamWaitEvent(side, fork, 0));
        stream_digit(side, second, number);
        stream_digit(stream, place, 2);
        CHECK(cuEventRecord(join, side));
        CHECK(cuStreamWaitEvent(stream, join, 0));
        stream_digit(stream, place, 3);
        CHECK(cuStreamEndCapture(stream, &graph));
        CHECK(cuGraphInstantiate(&exec, graph, 0));
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuGraphExecUpdate(exec, graph, &(CUgraphExecUpdateResultInfo){0}));
        CHECK(cuGraphDestroy(graph));
        CHECK(cuGraphExecDestroy(exec));
        CHECK(cuGraphLaunch(shared, stream));
        CHECK(cuMemcpyDtoHAsync(found, place, 8, stream));
        CHECK(cuStreamSynchronize(stream));
        failures += found[0] != 123123 || found[1] != number * 11;
    }
    if (failures != 0) printf("thread %u: %u failures\n", number, failures);
    CHECK(cuMemFree(place));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuStreamDestroy(side));
    CHECK(cuEventDestroy(fork));
    CHECK(cuEventDestroy(join));
    return NULL;
}

int main(void) {
    setup();
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    CUgraph graph;
    total = words(2);
    CHECK(cuMemsetD32(total + 4, 1, 1));
    /* Launches of one instance come one after another, in whatever streams: no addition is lost. */
    CUdeviceptr one = total + 4;
    void *arguments[] = {&total, &total, &one};
    CUDA_KERNEL_NODE_PARAMS add = one_thread("sum", arguments);
    CUgraphNode node;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &add));
    CHECK(cuGraphInstantiate(&shared, graph, 0));
    for (unsigned index = 0; index < THREADS; index++) {
        numbers[index] = index + 1;
        pthread_create(&threads[index], NULL, work, &numbers[index]);
    }
    for (unsigned index = 0; index < THREADS; index++) pthread_join(threads[index], NULL);
    CHECK(cuCtxSynchronize());
    printf("%u launches of the shared instance\n", word(total));
    CHECK(cuGraphExecDestroy(shared));
    CHECK(cuGraphDestroy(graph));
    return 0;
}
