/* A program that runs ahead of its streams needs the memory that is allocated at once, not all that it ever allocates: what a stream
   will free is there for the same stream, and for others once it is freed. Needs a device with 1 GiB. */
#include "later.h"

enum { MIB = 1 << 20, WORDS = 32, BYTES = 4 * WORDS };

static const size_t LARGE = 300 * (size_t)MIB;

static CUfunction late;
static CUdeviceptr out, keep;
static CUstream streams[2];

static unsigned last_word(void) {
    unsigned value = 0;
    OK(cuMemcpyDtoH(&value, out + BYTES - 4, 4));
    return value;
}

/* The same stream has its memory again before it has got to the free. */
static void by_the_same_stream(void) {
    CUdeviceptr first = 0, memory;
    *flag = 0;
    copy_late(late, keep, out, streams[0]);
    for (unsigned round = 0; round < 20; round++) {
        OK(cuMemAllocAsync(&memory, LARGE, streams[0]));
        if (round == 0) first = memory;
        HOLDS(memory == first);
        OK(cuMemsetD32Async(memory, round, WORDS, streams[0]));
        OK(cuMemcpyDtoDAsync(out, memory, BYTES, streams[0]));
        OK(cuMemFreeAsync(memory, streams[0]));
        IS(INVALID_VALUE, cuMemFreeAsync(memory, streams[0]));
    }
    release();
    OK(cuStreamSynchronize(streams[0]));
    HOLDS(last_word() == 19);
    IS(INVALID_VALUE, cuMemsetD32(first, 1, 1));
}

/* A smaller allocation takes over what is at most twice as large, the smallest first. */
static void by_smaller_ones(void) {
    CUdeviceptr blocks[2], memory, next;
    OK(cuMemAllocAsync(&blocks[0], 64 * (size_t)MIB, streams[0]));
    OK(cuMemAllocAsync(&blocks[1], 48 * (size_t)MIB, streams[0]));
    OK(cuMemsetD32Async(blocks[0], 1, 16 * MIB, streams[0]));
    hold(streams[0]);
    OK(cuMemsetD32Async(blocks[0], 2, 16 * MIB, streams[0]));
    OK(cuMemFreeAsync(blocks[0], streams[0]));
    OK(cuMemFreeAsync(blocks[1], streams[0]));
    OK(cuMemAllocAsync(&memory, 40 * (size_t)MIB, streams[0]));
    HOLDS(memory == blocks[1]);
    OK(cuMemAllocAsync(&next, 16 * (size_t)MIB, streams[0]));
    HOLDS(next != blocks[0]);
    OK(cuMemFreeAsync(next, streams[0]));
    OK(cuMemAllocAsync(&next, 33 * (size_t)MIB, streams[0]));
    HOLDS(next == blocks[0]);
    OK(cuMemsetD32Async(next, 3, 8 * MIB, streams[0]));
    release();
    OK(cuMemFreeAsync(memory, streams[0]));
    OK(cuMemFreeAsync(next, streams[0]));
    OK(cuStreamSynchronize(streams[0]));
    CUmemoryPool pool;
    cuuint64_t used = 1;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    HOLDS(used == 0);
}

/* Other streams, other sizes, plain allocations and graphs wait for what is about to be freed. */
static void by_others(void) {
    for (int who = 0; who < 4; who++) {
        CUdeviceptr blocks[3], more = 0;
        CUgraph graph = NULL;
        for (int block = 0; block < 3; block++) OK(cuMemAllocAsync(&blocks[block], LARGE, streams[0]));
        *flag = 0;
        copy_late(late, keep, out, streams[0]);
        for (int block = 0; block < 3; block++) OK(cuMemFreeAsync(blocks[block], streams[0]));
        release_soon();
        CUDA_MEM_ALLOC_NODE_PARAMS wanted = {
            .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
            .bytesize = LARGE};
        CUgraphNode node;
        switch (who) {
        case 0: OK(cuMemAllocAsync(&more, LARGE, streams[1])); break;
        case 1: OK(cuMemAllocAsync(&more, 2 * LARGE, streams[0])); break;
        case 2: OK(cuMemAlloc(&more, LARGE)); break;
        case 3:
            OK(cuGraphCreate(&graph, 0));
            OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wanted));
            break;
        }
        released();
        if (more != 0) OK(cuMemFree(more));
        if (graph != NULL) OK(cuGraphDestroy(graph));
        OK(cuCtxSynchronize());
    }
    /* What no device has is refused without a wait. */
    CUdeviceptr memory, never;
    OK(cuMemAllocAsync(&memory, LARGE, streams[0]));
    hold(streams[0]);
    OK(cuMemFreeAsync(memory, streams[0]));
    IS(OUT_OF_MEMORY, cuMemAlloc(&never, (size_t)1 << 40));
    IS(OUT_OF_MEMORY, cuMemAllocAsync(&never, (size_t)1 << 40, streams[0]));
    release();
    OK(cuCtxSynchronize());
    IS(OUT_OF_MEMORY, cuMemAlloc(&never, 4 * LARGE));
}

/* Allocations of a captured step share memory by lifetime: here two are alive at once, of a thousand. */
static void by_nodes_of_a_graph(void) {
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr memory, before = 0;
    cuuint64_t used = 0;
    OK(cuDeviceGraphMemTrim(0));
    OK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    for (unsigned round = 0; round < 1000; round++) {
        OK(cuMemAllocAsync(&memory, LARGE, streams[0]));
        OK(cuMemsetD32Async(memory, round, WORDS, streams[0]));
        if (before != 0) {
            HOLDS(memory != before);
            OK(cuMemcpyDtoDAsync(out, before, BYTES, streams[0]));
            OK(cuMemFreeAsync(before, streams[0]));
        }
        before = memory;
    }
    OK(cuStreamEndCapture(streams[0], &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, streams[1]));
    OK(cuStreamSynchronize(streams[1]));
    HOLDS(last_word() == 998);
    OK(cuMemcpyDtoD(out, before, BYTES));
    HOLDS(last_word() == 999);
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    HOLDS(used == 2 * LARGE);
    IS(INVALID_VALUE, cuGraphLaunch(exec, streams[1]));
    OK(cuMemFreeAsync(before, streams[1]));
    OK(cuGraphLaunch(exec, streams[1]));
    OK(cuMemFreeAsync(before, streams[1]));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
}

/* Branches that may run side by side do not share. */
static void not_by_branches(void) {
    CUDA_MEM_ALLOC_NODE_PARAMS wanted = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = BYTES};
    CUgraph graph;
    CUgraphNode first, freed, aside, behind;
    CUdeviceptr memory;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&first, graph, NULL, 0, &wanted));
    memory = wanted.dptr;
    OK(cuGraphAddMemFreeNode(&freed, graph, &first, 1, memory));
    OK(cuGraphAddMemAllocNode(&aside, graph, &first, 1, &wanted));
    HOLDS(wanted.dptr != memory);
    OK(cuGraphAddMemAllocNode(&behind, graph, &freed, 1, &wanted));
    HOLDS(wanted.dptr == memory);
    OK(cuGraphAddMemAllocNode(&behind, graph, &freed, 1, &wanted));
    HOLDS(wanted.dptr != memory);
    OK(cuGraphDestroy(graph));
}

int main(void) {
    start();
    late = late_kernel();
    OK(cuMemAlloc(&out, BYTES));
    OK(cuMemAlloc(&keep, BYTES));
    for (int index = 0; index < 2; index++) OK(cuStreamCreate(&streams[index], CU_STREAM_NON_BLOCKING));
    by_the_same_stream();
    by_smaller_ones();
    by_others();
    by_nodes_of_a_graph();
    not_by_branches();
    puts("done");
    return 0;
}
