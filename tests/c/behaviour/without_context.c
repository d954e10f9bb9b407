/* What is asked of a call before a current context, and which calls need none, as recorded on an H200 (CUDA 13.0). */
#include "expect.h"

static CUdeviceptr managed;
static CUstream stream;
static CUevent event;
static CUgraph graph;

static CUmemLocation place(unsigned type, int id) {
    CUmemLocation made;
    memset(&made, 0, sizeof made);
    made.type = (CUmemLocationType)type;
    made.id = id;
    return made;
}

static CUresult set(CUcontext where, unsigned element, size_t width) {
    CUDA_MEMSET_NODE_PARAMS given = {.dst = managed, .elementSize = element, .width = width, .height = 1};
    CUgraphNode node;
    return cuGraphAddMemsetNode(&node, graph, NULL, 0, &given, where);
}

/* Memory moves in the context of a stream that was created; the default ones have that of the thread. */
static void prefetches(void) {
    OK(cuMemPrefetchAsync_v2(managed, 64, place(CU_MEM_LOCATION_TYPE_DEVICE, 0), 0, stream));
    OK(cuMemPrefetchAsync_v2(managed, 64, place(CU_MEM_LOCATION_TYPE_HOST, 7), 0, stream));
    IS(INVALID_DEVICE, cuMemPrefetchAsync_v2(managed, 64, place(CU_MEM_LOCATION_TYPE_DEVICE, 64), 0, stream));
    IS(INVALID_CONTEXT, cuMemPrefetchAsync_v2(managed, 64, place(CU_MEM_LOCATION_TYPE_DEVICE, 0), 0, NULL));
    IS(INVALID_CONTEXT, cuMemPrefetchAsync_v2(managed, 64, place(CU_MEM_LOCATION_TYPE_DEVICE, 64), 0, NULL));
    IS(INVALID_VALUE, cuMemPrefetchAsync_v2(managed, 64, place(9, 0), 0, NULL));
    IS(INVALID_VALUE, cuMemPrefetchAsync_v2(managed, 64, place(0, 0), 0, CU_STREAM_PER_THREAD));
}

/* A set needs a context when it runs, and none to be described. */
static void sets(void) {
    OK(set(NULL, 4, 4));
    OK(set(context, 4, 4));
    IS(INVALID_VALUE, set(NULL, 3, 4));
    IS(INVALID_VALUE, set(NULL, 4, 0));
}

static void orders(void) {
    CUdeviceptr none;
    CUgraphExec exec;
    IS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0x8000));
    IS(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, NULL, 0x8000));
    IS(INVALID_CONTEXT, cuGraphInstantiateWithFlags(&exec, NULL, 0));
    IS(INVALID_VALUE, cuStreamBeginCapture(NULL, (CUstreamCaptureMode)0x8000));
    IS(INVALID_CONTEXT, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IS(INVALID_VALUE, cuMemAllocManaged(&none, 0, CU_MEM_ATTACH_GLOBAL));
    IS(INVALID_CONTEXT, cuMemAllocManaged(&none, 64, CU_MEM_ATTACH_GLOBAL));
    IS(INVALID_CONTEXT, cuCtxEnablePeerAccess(context, 1));
    IS(INVALID_CONTEXT, cuStreamWaitValue32(NULL, managed, 0, 0x8000));
    IS(INVALID_CONTEXT, cuStreamWriteValue32(NULL, managed, 0, 0x8000));
    IS(INVALID_CONTEXT, cuStreamBatchMemOp(NULL, 0, NULL, 1));
    IS(INVALID_VALUE, cuStreamBatchMemOp(stream, 0, NULL, 1));
}

/* The same with a context. */
static void with_one(void) {
    IS(INVALID_CONTEXT, cuCtxRecordEvent(NULL, event));
    IS(INVALID_CONTEXT, cuCtxWaitEvent(NULL, event));
    /* Managed memory is none for memory operations. */
    IS(INVALID_VALUE, cuStreamWaitValue32(stream, managed, 0, CU_STREAM_WAIT_VALUE_GEQ));
    IS(INVALID_VALUE, cuStreamWriteValue32(stream, managed, 0, 0));
    OK(cuStreamWriteValue32(stream, (CUdeviceptr)flag, 1, 0));
    OK(cuStreamWaitValue32(stream, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamSynchronize(stream));
    IS(INVALID_VALUE, cuStreamBatchMemOp(NULL, 0, NULL, 1));
}

int main(void) {
    start();
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuGraphCreate(&graph, 0));
    with_one();
    OK(cuCtxSetCurrent(NULL));
    prefetches();
    sets();
    orders();
    puts("done");
    return 0;
}
