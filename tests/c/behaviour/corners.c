/* Calls with nothing in them, and contexts of the first ABI, as recorded on an H100. */
#include "expect.h"

/* What the header's names lead past. */
extern CUresult with_affinities(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice) __asm__("cuCtxCreate_v3");
extern CUresult first_push(CUcontext) __asm__("cuCtxPushCurrent");
extern CUresult first_pop(CUcontext *) __asm__("cuCtxPopCurrent");

static void affinities(void) {
    CUexecAffinityParam one;
    CUcontext made;
    memset(&one, 0, sizeof one);
    OK(with_affinities(&made, NULL, 0, 0, 0));
    OK(cuCtxDestroy(made));
    OK(with_affinities(&made, &one, 0, 0, 0));
    OK(cuCtxDestroy(made));
    OK(with_affinities(&made, &one, -1, 0, 0));
    OK(cuCtxDestroy(made));
    IS(INVALID_VALUE, with_affinities(&made, NULL, 1, 0, 0));
    IS(UNSUPPORTED_EXEC_AFFINITY, with_affinities(&made, &one, 1, 0, 0));
    OK(cuCtxSetCurrent(context));
}

static void batches(void) {
    CUstreamBatchMemOpParams operation;
    CUDA_BATCH_MEM_OP_NODE_PARAMS given, told;
    CUdeviceptr memory;
    CUgraph graph;
    CUgraphNode node;
    memset(&operation, 0, sizeof operation);
    memset(&given, 0, sizeof given);
    OK(cuMemAlloc(&memory, 64));
    OK(cuGraphCreate(&graph, 0));
    IS(INVALID_VALUE, cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &given));
    given.ctx = context;
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &given));
    given.paramArray = &operation;
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &given));
    given.count = 1;
    IS(INVALID_VALUE, cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &given));
    operation.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = memory;
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &given));
    OK(cuGraphBatchMemOpNodeGetParams(node, &told));
    HOLDS(told.ctx == context && told.count == 1 && told.paramArray[0].writeValue.address == memory);
    given.ctx = NULL;
    IS(INVALID_VALUE, cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &given));
    given.ctx = context;
    given.count = 0;
    OK(cuGraphBatchMemOpNodeSetParams(node, &given));
    OK(cuStreamBatchMemOp(NULL, 0, NULL, 0));
    OK(cuGraphDestroy(graph));
}

static void clusters(void) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}};
    CUlaunchConfig shape;
    int size = -1, count = -1;
    memset(&shape, 0, sizeof shape);
    IS(INVALID_VALUE, cuOccupancyMaxPotentialClusterSize(&size, waits, &shape));
    IS(INVALID_VALUE, cuOccupancyMaxActiveClusters(&count, waits, &shape));
    shape.gridDimX = shape.gridDimY = shape.gridDimZ = 1;
    IS(INVALID_VALUE, cuOccupancyMaxPotentialClusterSize(&size, waits, &shape));
    shape.blockDimX = shape.blockDimY = shape.blockDimZ = 1;
    shape.gridDimX = 0;
    IS(INVALID_VALUE, cuOccupancyMaxPotentialClusterSize(&size, waits, &shape));
    HOLDS(size == -1 && count == -1);
    shape.gridDimX = 16;
    OK(cuOccupancyMaxPotentialClusterSize(&size, waits, &shape));
    OK(cuOccupancyMaxActiveClusters(&count, waits, &shape));
    HOLDS(size == 8 && count == 0);
    shape.blockDimX = 2000;
    OK(cuOccupancyMaxPotentialClusterSize(&size, waits, &shape));
    OK(cuOccupancyMaxActiveClusters(&count, waits, &shape));
    HOLDS(size == 0 && count == 0);
    shape.blockDimX = 1;
    shape.attrs = &attribute;
    shape.numAttrs = 1;
    OK(cuOccupancyMaxPotentialClusterSize(&size, waits, &shape));
    OK(cuOccupancyMaxActiveClusters(&count, waits, &shape));
    HOLDS(size == 8 && count > 0);
    /* Of clusters of 2, recorded on an H100: at most 8 of their CTAs on each multiprocessor, where 32 of another launch would be. */
    const unsigned sizes[] = {1, 32, 128, 256, 512, 1024};
    const int resident[] = {8, 8, 8, 8, 4, 2};
    int multiprocessors = 0;
    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    for (int k = 0; k < 6; k++) {
        shape.blockDimX = sizes[k];
        OK(cuOccupancyMaxActiveClusters(&count, waits, &shape));
        HOLDS(count == multiprocessors * resident[k] / 2);
    }
    shape.blockDimX = 1;
    attribute.value.clusterDim.x = 0;
    IS(INVALID_CLUSTER_SIZE, cuOccupancyMaxPotentialClusterSize(&size, waits, &shape));
    IS(INVALID_CLUSTER_SIZE, cuOccupancyMaxActiveClusters(&count, waits, &shape));
}

static void first_abi_of_contexts(void) {
    CUcontext popped = NULL, made;
    IS(INVALID_CONTEXT, first_push(context));
    OK(first_pop(&popped));
    HOLDS(popped == context);
    OK(cuCtxSetCurrent(context));
    OK(with_affinities(&made, NULL, 0, 0, 0));
    IS(INVALID_CONTEXT, first_push(made));
    OK(cuCtxDestroy(made));
    OK(cuCtxSetCurrent(NULL));
    OK(first_push(context));
    /* The second ABI takes it as often as wanted. */
    OK(cuCtxPushCurrent(context));
    OK(cuCtxPopCurrent(&popped));
}

int main(void) {
    start();
    affinities();
    batches();
    clusters();
    first_abi_of_contexts();
    puts("done");
    return 0;
}
