/* A program that runs ahead of its streams needs the memory that is allocated at once, not all that it ever allocates: what a stream
   will free is there for the same stream, and for others once it is freed. Needs a device with 1 GiB. */
#include "later.h"

enum { WORDS = 32, BYTES = 4 * WORDS };

static const size_t MIB = 1 << 20, LARGE = 300 << 20;

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

static size_t held(CUmemoryPool pool) {
    cuuint64_t bytes = 0;
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes;
}

/* Smaller allocations take parts of what the stream will free, the smallest that fits, and parts that are freed are joined again: addresses as recorded on an
   H100. */
static void in_parts(void) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUstream stream = streams[0];
    static char host[64];
    CUmemoryPool pool;
    CUdeviceptr a, b, c, d, f, g, h, base;
    cuuint64_t all = ~(cuuint64_t)0, used = 1, numbers[2];
    size_t size, whole;
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    OK(cuMemAllocFromPoolAsync(&a, 64 * MIB, pool, stream));
    hold(stream);
    OK(cuMemsetD32Async(a, 5, 16 * MIB, stream));
    OK(cuMemFreeAsync(a, stream));
    whole = held(pool);
    OK(cuMemAllocFromPoolAsync(&b, 16 * MIB, pool, stream));
    OK(cuMemAllocFromPoolAsync(&c, 16 * MIB - 1000, pool, stream));
    HOLDS(b == a && c == a + 16 * MIB && held(pool) == whole);
    /* Each is an allocation. */
    OK(cuMemGetAddressRange(&base, &size, c + 5));
    HOLDS(base == c && size == 16 * MIB - 1000);
    OK(cuPointerGetAttribute(&numbers[0], CU_POINTER_ATTRIBUTE_BUFFER_ID, b));
    OK(cuPointerGetAttribute(&numbers[1], CU_POINTER_ATTRIBUTE_BUFFER_ID, c));
    HOLDS(numbers[0] != numbers[1]);
    IS(INVALID_VALUE, cuMemcpyDtoHAsync(host, b + 16 * MIB - 8, 16, stream));
    IS(INVALID_VALUE, cuMemcpyDtoHAsync(host, c + 16 * MIB - 600, 16, stream));
    IS(INVALID_VALUE, cuMemFreeAsync(c + 512, stream));
    IS(NOT_FOUND, cuMemGetAddressRange(&base, &size, a + 40 * MIB));
    IS(INVALID_VALUE, cuMemcpyDtoHAsync(host, a + 40 * MIB, 16, stream));
    OK(cuMemAllocFromPoolAsync(&d, 48 * MIB, pool, stream));
    HOLDS(d >= a + 64 * MIB || d + 48 * MIB <= a);
    OK(cuMemAllocFromPoolAsync(&f, 3 * MIB, pool, stream));
    HOLDS(f >= a + 32 * MIB - 1024 && f < a + 61 * MIB);
    OK(cuMemFreeAsync(b, stream));
    IS(INVALID_VALUE, cuPointerGetAttribute(&numbers[0], CU_POINTER_ATTRIBUTE_BUFFER_ID, b));
    OK(cuMemFreeAsync(c, stream));
    OK(cuMemAllocFromPoolAsync(&g, 31 * MIB, pool, stream));
    HOLDS(g == a);
    OK(cuMemFreeAsync(d, stream));
    OK(cuMemFreeAsync(g, stream));
    OK(cuMemFreeAsync(f, stream));
    whole = held(pool);
    OK(cuMemAllocFromPoolAsync(&h, 64 * MIB, pool, stream));
    HOLDS(h == a && held(pool) == whole);
    OK(cuMemsetD32Async(h, 6, 16 * MIB, stream));
    OK(cuMemFreeAsync(h, stream));
    /* Of what is free, the part that is needed; the rest is there for others while that is in use. */
    OK(cuMemAllocFromPoolAsync(&b, 20 * MIB, pool, stream));
    release();
    OK(cuStreamSynchronize(stream));
    OK(cuMemAllocFromPoolAsync(&c, 20 * MIB, pool, streams[1]));
    HOLDS(held(pool) == whole && c != b);
    OK(cuMemFree(b));
    IS(INVALID_VALUE, cuMemFree(b));
    OK(cuMemFreeAsync(c, streams[1]));
    OK(cuStreamSynchronize(streams[1]));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    HOLDS(used == 0 && held(pool) == whole);
    OK(cuMemPoolTrimTo(pool, 0));
    HOLDS(held(pool) == 0);
    OK(cuMemPoolDestroy(pool));
}

/* What a pool keeps is divided and joined too. */
static void of_what_is_kept(void) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool;
    CUdeviceptr whole, parts[3];
    cuuint64_t all = ~(cuuint64_t)0;
    size_t most;
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    OK(cuMemAllocFromPoolAsync(&whole, 64 * MIB, pool, streams[0]));
    most = held(pool);
    for (int round = 0; round < 3; round++) {
        OK(cuMemFreeAsync(whole, streams[0]));
        OK(cuStreamSynchronize(streams[0]));
        for (int part = 0; part < 3; part++) {
            OK(cuMemAllocFromPoolAsync(&parts[part], 16 * MIB, pool, streams[part % 2]));
            OK(cuMemsetD32(parts[part], part, 4 * MIB));
        }
        HOLDS(held(pool) <= most);
        for (int part = 0; part < 3; part++) OK(cuMemFreeAsync(parts[(part + round) % 3], streams[0]));
        OK(cuCtxSynchronize());
        OK(cuMemAllocFromPoolAsync(&whole, 56 * MIB, pool, streams[0]));
        HOLDS(held(pool) <= most);
    }
    OK(cuMemFree(whole));
    OK(cuMemPoolDestroy(pool));
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
    in_parts();
    of_what_is_kept();
    by_others();
    by_nodes_of_a_graph();
    not_by_branches();
    puts("done");
    return 0;
}
