/* Which calls are possible while a stream is captured, and what they do to the capture. Each is asked with a capture of its own. */
#include "graphs.h"

static CUstream stream, other, blocking;
static CUevent recorded, fresh, past;
static CUdeviceptr place, spare, in_past;
static CUmodule loaded;
static void *host;
static char pinned_by_us[1 << 16] __attribute__((aligned(4096)));

static CUresult bad_launch(void) {
    void *arguments[] = {&place, &place, &place};
    return cuLaunchKernel(function("digit"), 0, 1, 1, 1, 1, 1, 0, stream, arguments, 0);
}

static CUresult bad_copy(void) { return cuMemcpyDtoDAsync(place, 0, 4, stream); }

static CUresult launch_in(CUstream into) {
    unsigned one = 1;
    void *arguments[] = {&place, &place, &one};
    return cuLaunchKernel(function("digit"), 1, 1, 1, 1, 1, 1, 0, into, arguments, 0);
}

static CUresult load(void) { return cuModuleLoad(&loaded, "kernels.ptx"); }

static CUresult unload(void) { return cuModuleUnload(loaded); }

static CUresult instantiate(void) {
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuGraphCreate(&graph, 0));
    CUresult result = cuGraphInstantiate(&exec, graph, 0);
    if (result == CUDA_SUCCESS) CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    return result;
}

/* Asks within a capture of a stream, and prints what the call and the end of the capture answer. */
#define ASK(captured, mode, call)                                                                     \
    do {                                                                                              \
        CUgraph graph = NULL;                                                                         \
        size_t nodes = 0;                                                                             \
        CHECK(cuStreamBeginCapture(captured, mode));                                                  \
        CHECK(launch_in(captured));                                                                   \
        CUresult answer = (call), end = cuStreamEndCapture(captured, &graph);                         \
        if (end == CUDA_SUCCESS) CHECK(cuGraphGetNodes(graph, NULL, &nodes));                         \
        if (end == CUDA_SUCCESS) CHECK(cuGraphDestroy(graph));                                        \
        printf("%s = %s, then %s, %zu nodes\n", #call, name_of(answer), name_of(end), nodes);         \
    } while (0)

#define GLOBAL CU_STREAM_CAPTURE_MODE_GLOBAL
#define RELAXED CU_STREAM_CAPTURE_MODE_RELAXED

int main(void) {
    setup();
    unsigned word_of_host = 0;
    size_t number;
    place = words(4);
    spare = words(4);
    CUgraph graph;
    CUstream temporary = NULL;
    CUevent event = NULL;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cuEventCreate(&recorded, 0));
    CHECK(cuEventCreate(&fresh, 0));
    CHECK(cuEventCreate(&past, 0));
    CHECK(cuEventRecord(recorded, other));
    CHECK(cuStreamSynchronize(other));
    CHECK(launch_in(stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemAllocAsync(&in_past, 64, other));
    CHECK(cuStreamSynchronize(other));

    printf("errors\n");
    ASK(stream, RELAXED, bad_launch());
    ASK(stream, RELAXED, bad_copy());
    ASK(stream, RELAXED, cuStreamBeginCapture(stream, RELAXED));
    ASK(stream, RELAXED, cuMemFreeAsync(in_past, stream));

    printf("events\n");
    ASK(stream, RELAXED, cuStreamWaitEvent(stream, fresh, 0));
    ASK(stream, RELAXED, cuStreamWaitEvent(stream, recorded, 0));
    ASK(stream, RELAXED, cuStreamWaitEvent(stream, recorded, CU_EVENT_WAIT_EXTERNAL));
    ASK(stream, RELAXED, cuEventRecordWithFlags(past, stream, CU_EVENT_RECORD_EXTERNAL));
    ASK(stream, RELAXED, cuEventRecord(past, stream));
    ASK(stream, RELAXED, cuStreamWaitEvent(stream, past, 0));
    SHOW(cuStreamWaitEvent(other, past, 0));
    CHECK(cuEventRecord(past, other));
    SHOW(cuEventSynchronize(past));
    ASK(stream, GLOBAL, cuEventQuery(recorded));
    ASK(stream, GLOBAL, cuEventQuery(fresh));
    ASK(stream, GLOBAL, cuEventSynchronize(recorded));
    ASK(stream, GLOBAL, cuEventCreate(&event, 0));
    ASK(stream, GLOBAL, cuEventDestroy(event));
    ASK(stream, GLOBAL, cuEventRecord(recorded, other));

    printf("streams\n");
    ASK(stream, GLOBAL, cuStreamQuery(other));
    ASK(stream, GLOBAL, cuStreamSynchronize(other));
    ASK(stream, GLOBAL, cuStreamQuery(blocking));
    ASK(stream, GLOBAL, cuStreamSynchronize(0));
    ASK(stream, GLOBAL, cuStreamQuery(0));
    ASK(stream, GLOBAL, cuCtxSynchronize());
    ASK(stream, GLOBAL, launch_in(other));
    ASK(stream, GLOBAL, launch_in(0));
    ASK(stream, GLOBAL, cuStreamCreate(&temporary, CU_STREAM_NON_BLOCKING));
    ASK(stream, GLOBAL, cuStreamDestroy(temporary));
    ASK(blocking, GLOBAL, cuStreamSynchronize(0));
    ASK(blocking, GLOBAL, cuStreamQuery(0));
    ASK(blocking, GLOBAL, launch_in(0));
    ASK(blocking, GLOBAL, launch_in(other));
    ASK(blocking, GLOBAL, cuEventRecord(recorded, 0));
    ASK(blocking, RELAXED, cuStreamWaitEvent(0, recorded, 0));

    printf("memory\n");
    ASK(stream, GLOBAL, cuMemAlloc(&spare, 16));
    ASK(stream, RELAXED, cuMemAlloc(&spare, 16));
    ASK(stream, GLOBAL, cuMemFree(spare));
    ASK(stream, RELAXED, cuMemFree(spare));
    ASK(stream, RELAXED, cuMemHostAlloc(&host, 64, 0));
    ASK(stream, GLOBAL, cuMemFreeHost(host));
    ASK(stream, RELAXED, cuMemFreeHost(host));
    ASK(stream, GLOBAL, cuMemHostAlloc(&host, 64, 0));
    ASK(stream, GLOBAL, cuMemHostRegister(pinned_by_us, sizeof pinned_by_us, 0));
    ASK(stream, GLOBAL, cuMemHostUnregister(pinned_by_us));
    ASK(stream, GLOBAL, cuMemAllocManaged(&spare, 64, CU_MEM_ATTACH_GLOBAL));
    ASK(stream, GLOBAL, cuMemGetInfo(&number, &number));
    ASK(stream, GLOBAL, cuMemcpyDtoH(&word_of_host, place, 4));
    ASK(stream, RELAXED, cuMemcpyDtoH(&word_of_host, place, 4));
    ASK(stream, GLOBAL, cuMemsetD32(place, 0, 1));
    ASK(stream, RELAXED, cuMemsetD32(place, 0, 1));
    ASK(stream, GLOBAL, cuMemcpyDtoHAsync(&word_of_host, place, 4, stream));
    ASK(stream, GLOBAL, cuMemcpyDtoDAsync(place, place + 4, 0, stream));
    ASK(stream, GLOBAL, cuMemAllocAsync(&spare, 64, other));
    ASK(stream, GLOBAL, cuMemFreeAsync(in_past, other));

    printf("modules and graphs\n");
    ASK(stream, GLOBAL, load());
    ASK(stream, GLOBAL, unload());
    ASK(stream, RELAXED, load());
    ASK(stream, RELAXED, unload());
    ASK(stream, GLOBAL, instantiate());
    ASK(stream, RELAXED, instantiate());

    printf("a stream that goes away\n");
    CHECK(cuStreamCreate(&temporary, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(temporary, GLOBAL));
    CHECK(launch_in(temporary));
    SHOW(cuStreamDestroy(temporary));
    SHOW(cuMemAlloc(&spare, 16));
    CHECK(cuStreamCreate(&temporary, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, RELAXED));
    CHECK(cuEventRecord(past, stream));
    CHECK(cuStreamWaitEvent(temporary, past, 0));
    CHECK(launch_in(temporary));
    SHOW(cuStreamDestroy(temporary));
    SHOW(cuStreamEndCapture(stream, &graph));
    return 0;
}
