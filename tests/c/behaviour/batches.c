/* Batches of copies and prefetches, and copies into a stream that is busy. */
#include "expect.h"

static void lines(CUstream stream) {
    CUdeviceptr a, b, to[3], from[3];
    unsigned source[2] = {1, 2}, got[3] = {0};
    size_t sizes[] = {4, 4, 4}, starts[] = {0, 2}, failed = 7;
    CUmemcpyAttributes attributes[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL},
                                        {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
    CUresult (*first)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, size_t *,
                      CUstream) = (CUresult(*)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
                                               size_t *, size_t, size_t *, CUstream))dlsym(RTLD_DEFAULT, "cuMemcpyBatchAsync");
    OK(cuMemAlloc(&a, 64));
    OK(cuMemAlloc(&b, 64));
    OK(cuMemsetD32(b, 5, 16));
    to[0] = a, to[1] = a + 4, to[2] = a + 8;
    from[0] = (CUdeviceptr)&source[0], from[1] = (CUdeviceptr)&source[1], from[2] = b;
    hold(stream);
    OK(cuMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, stream));
    /* The sources on this stack have been read, though the stream has not got there. */
    source[0] = source[1] = 99;
    IS(NOT_READY, cuStreamQuery(stream));
    release();
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(got, a, 12));
    HOLDS(got[0] == 1 && got[1] == 2 && got[2] == 5);

    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 0, attributes, starts, 2, stream));
    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 0, stream));
    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 1, attributes, starts, 2, stream));
    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, NULL));
    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, NULL, 3, attributes, starts, 2, stream));
    starts[0] = 1;
    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, stream));
    starts[0] = 0, starts[1] = 3;
    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, stream));
    starts[1] = 2, attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    IS(INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, stream));
    /* The first version says which copy was at fault. */
    IS(INVALID_VALUE, first(to, from, sizes, 3, attributes, starts, 2, &failed, stream));
    HOLDS(failed == 2);
    IS(INVALID_VALUE, first(to, from, sizes, 3, attributes, starts, 0, &failed, stream));
    HOLDS(failed == (size_t)-1);

    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    OK(cuMemcpyWithAttributesAsync(a, b, 4, attributes, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(got, a, 4));
    HOLDS(got[0] == 5);
}

static void cuboids(CUstream stream) {
    CUDA_ARRAY_DESCRIPTOR shape = {.Width = 8, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
    CUarray array;
    unsigned rows[4][10], got[2][3] = {{0}};
    CUDA_MEMCPY3D_BATCH_OP in = {.extent = {8, 4, 1}, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}, out = in;
    for (unsigned y = 0; y < 4; y++)
        for (unsigned x = 0; x < 10; x++) rows[y][x] = 10 * y + x;
    OK(cuArrayCreate(&array, &shape));
    in.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    in.src.op.ptr.ptr = (CUdeviceptr)rows;
    in.src.op.ptr.rowLength = 10; /* elements of the array */
    in.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    in.dst.op.array.array = array;
    OK(cuMemcpy3DBatchAsync(1, &in, 0, stream));
    out.extent = (CUextent3D){3, 2, 1};
    out.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    out.src.op.array.array = array;
    out.src.op.array.offset = (CUoffset3D){5, 2, 0};
    out.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    out.dst.op.ptr.ptr = (CUdeviceptr)got;
    OK(cuMemcpy3DWithAttributesAsync(&out, 0, stream));
    OK(cuStreamSynchronize(stream));
    HOLDS(got[0][0] == 25 && got[0][2] == 27 && got[1][0] == 35 && got[1][2] == 37);

    IS(INVALID_VALUE, cuMemcpy3DBatchAsync(1, &in, 1, stream));
    IS(INVALID_VALUE, cuMemcpy3DBatchAsync(0, &in, 0, stream));
    IS(INVALID_VALUE, cuMemcpy3DBatchAsync(1, NULL, 0, stream));
    in.src.op.ptr.rowLength = 7;
    IS(INVALID_VALUE, cuMemcpy3DBatchAsync(1, &in, 0, stream));
    in.src.op.ptr.rowLength = 0, in.extent.depth = 0;
    IS(INVALID_VALUE, cuMemcpy3DBatchAsync(1, &in, 0, stream));
    in.extent.depth = 1, in.extent.width = 9;
    IS(INVALID_VALUE, cuMemcpy3DBatchAsync(1, &in, 0, stream));
    OK(cuArrayDestroy(array));
    IS(INVALID_HANDLE, cuMemcpy3DBatchAsync(1, &out, 0, stream));
}

static void prefetches(CUstream stream) {
    CUdeviceptr managed, device, ranges[2];
    size_t sizes[] = {64, 64}, starts[] = {0, 1};
    CUmemLocation locations[] = {{.type = CU_MEM_LOCATION_TYPE_DEVICE}, {.type = CU_MEM_LOCATION_TYPE_HOST}};
    int last = 7;
    OK(cuMemAllocManaged(&managed, 128, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAlloc(&device, 64));
    ranges[0] = managed, ranges[1] = managed + 64;
    OK(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, starts, 2, 0, stream));
    OK(cuMemRangeGetAttribute(&last, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, managed, 64));
    HOLDS(last == 0);
    OK(cuMemRangeGetAttribute(&last, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, managed + 64, 64));
    HOLDS(last == CU_DEVICE_CPU);
    OK(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, stream));
    OK(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 2, locations, starts, 2, 0, stream));
    ranges[1] = device;
    IS(INVALID_VALUE, cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, starts, 2, 0, stream));
    IS(INVALID_VALUE, cuMemDiscardBatchAsync(ranges, sizes, 2, 0, stream));
}

static void while_the_stream_is_busy(CUstream stream) {
    CUdeviceptr a;
    unsigned value = 3, got = 0;
    OK(cuMemAlloc(&a, 64));
    hold(stream);
    OK(cuMemcpyHtoDAsync(a, &value, 4, stream));
    value = 4;
    release();
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&got, a, 4));
    HOLDS(got == 3);
}

/* A node with a batch of copies, which cuGraphAddNode alone makes. */
static void as_a_node(CUstream stream) {
    unsigned char from[2][16], found[2][16] = {{0}};
    CUdeviceptr memory, dsts[2], srcs[2];
    size_t sizes[2] = {16, 5}, starts[1] = {0};
    CUmemcpyAttributes attributes[1] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
    CUgraph graph;
    CUgraphExec ready;
    CUgraphNode node;
    CUgraphNodeType type;
    memset(from[0], 1, 16);
    memset(from[1], 2, 16);
    OK(cuMemAlloc(&memory, 64));
    OK(cuMemsetD8(memory, 9, 64));
    for (int n = 0; n < 2; n++) {
        dsts[n] = memory + 32 * n;
        srcs[n] = (CUdeviceptr)from[n];
    }
    CUgraphNodeParams given = {.type = CU_GRAPH_NODE_TYPE_MEMCPY_BATCH, .memcpyBatch = {2, dsts, srcs, sizes, attributes, starts, 1}};
    given.memcpyBatch.ctx = context;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &given));
    OK(cuGraphNodeGetType(node, &type));
    HOLDS(type == CU_GRAPH_NODE_TYPE_MEMCPY_BATCH);
    CUgraphNodeParams asked;
    OK(cuGraphNodeGetParams(node, &asked));
    HOLDS(asked.type == type && asked.memcpyBatch.count == 2 && asked.memcpyBatch.dsts[1] == dsts[1] && asked.memcpyBatch.sizes[1] == 5);
    OK(cuGraphInstantiate(&ready, graph, 0));
    OK(cuGraphLaunch(ready, stream));
    OK(cuStreamSynchronize(stream));
    for (int n = 0; n < 2; n++) OK(cuMemcpyDtoH(found[n], dsts[n], 16));
    HOLDS(found[0][0] == 1 && found[0][15] == 1 && found[1][4] == 2 && found[1][5] == 9);
    sizes[1] = 6;
    OK(cuGraphExecNodeSetParams(ready, node, &given));
    OK(cuGraphLaunch(ready, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(found[1], dsts[1], 16));
    HOLDS(found[1][5] == 2 && found[1][6] == 9);
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    IS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, NULL, 0, &given));
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    sizes[0] = 128;
    IS(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, NULL, 0, &given));
    OK(cuGraphExecDestroy(ready));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree(memory));
}

int main(void) {
    CUstream stream;
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    lines(stream);
    cuboids(stream);
    prefetches(stream);
    as_a_node(stream);
    while_the_stream_is_busy(stream);
    puts("done");
    return 0;
}
