/* Changes to instances: one node, one graph inside, the whole. */
#include "graphs.h"

static CUstream stream;
static CUgraphExec exec;
static CUdeviceptr place;

static unsigned run(void) {
    CHECK(cuMemsetD32(place, 0, 1));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    return word(place);
}

static void add(void *data) { *(int *)data += 1; }
static void add_ten(void *data) { *(int *)data += 10; }

/* Digits in a row. */
static CUgraph row(unsigned count, unsigned value) {
    CUgraph graph;
    CUgraphNode last = NULL;
    CHECK(cuGraphCreate(&graph, 0));
    for (unsigned index = 0; index < count; index++) last = digit(graph, &last, index > 0, place, value);
    return graph;
}

static void show_update(const char *what, CUgraph graph) {
    CUgraphExecUpdateResultInfo info = {0};
    CUresult result = cuGraphExecUpdate(exec, graph, &info);
    printf("%s: %s, %d, node %d\n", what, name_of(result), (int)info.result, info.errorNode != NULL);
}

int main(void) {
    setup();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    place = words(8);

    /* One node. */
    CUgraph graph;
    CHECK(cuGraphCreate(&graph, 0));
    CUgraphNode first = digit(graph, NULL, 0, place, 1), second = digit(graph, &first, 1, place, 2);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    unsigned nine = 9;
    void *arguments[] = {&place, &place, &nine};
    CUDA_KERNEL_NODE_PARAMS launch = one_thread("digit", arguments);
    SHOW(cuGraphExecKernelNodeSetParams(exec, second, &launch));
    printf("%u\n", run());
    launch.func = function("store");
    void *stored[] = {&place, &nine};
    launch.kernelParams = stored;
    SHOW(cuGraphExecKernelNodeSetParams(exec, first, &launch));
    printf("%u\n", run());
    launch.gridDimX = 0;
    SHOW(cuGraphExecKernelNodeSetParams(exec, first, &launch));
    SHOW(cuGraphExecKernelNodeSetParams(exec, NULL, &launch));

    unsigned enabled = 9;
    SHOW(cuGraphNodeGetEnabled(exec, second, &enabled));
    printf("enabled %u\n", enabled);
    SHOW(cuGraphNodeSetEnabled(exec, second, 0));
    printf("%u\n", run());
    SHOW(cuGraphNodeSetEnabled(exec, second, 1));
    printf("%u\n", run());
    CUgraph strange = row(1, 1);
    CUgraphNode stranger;
    size_t one = 1;
    CHECK(cuGraphGetNodes(strange, &stranger, &one));
    SHOW(cuGraphNodeSetEnabled(exec, stranger, 0));
    SHOW(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* Copies, sets and host functions. */
    unsigned source[4] = {11, 22, 33, 44}, back = 0;
    int calls = 0;
    CHECK(cuGraphCreate(&graph, 0));
    CUgraphNode copy, fill, host;
    CUDA_MEMCPY3D line = copy_line(CU_MEMORYTYPE_DEVICE, NULL, place, CU_MEMORYTYPE_HOST, source, 0, 4);
    CHECK(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &line, context));
    CUDA_MEMSET_NODE_PARAMS set = {place + 4, 0, 7, 4, 1, 1};
    CHECK(cuGraphAddMemsetNode(&fill, graph, &copy, 1, &set, context));
    CUDA_HOST_NODE_PARAMS call = {add, &calls};
    CHECK(cuGraphAddHostNode(&host, graph, &fill, 1, &call));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    line.srcHost = source + 2;
    SHOW(cuGraphExecMemcpyNodeSetParams(exec, copy, &line, context));
    set.value = 8;
    SHOW(cuGraphExecMemsetNodeSetParams(exec, fill, &set, context));
    set.height = 2;
    set.pitch = 8;
    SHOW(cuGraphExecMemsetNodeSetParams(exec, fill, &set, context));
    call.fn = add_ten;
    SHOW(cuGraphExecHostNodeSetParams(exec, host, &call));
    SHOW(cuGraphNodeSetEnabled(exec, host, 0));
    printf("%u ", run());
    CHECK(cuMemcpyDtoH(&back, place + 4, 4));
    printf("%u %d\n", back, calls);
    SHOW(cuGraphExecKernelNodeSetParams(exec, fill, &launch));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* A graph inside. */
    CUgraph inner = row(2, 5), other = row(2, 6), longer = row(3, 6);
    CUgraphNode child;
    CHECK(cuGraphCreate(&graph, 0));
    first = digit(graph, NULL, 0, place, 1);
    CHECK(cuGraphAddChildGraphNode(&child, graph, &first, 1, inner));
    digit(graph, &child, 1, place, 2);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    printf("%u\n", run());
    SHOW(cuGraphExecChildGraphNodeSetParams(exec, child, other));
    printf("%u\n", run());
    SHOW(cuGraphExecChildGraphNodeSetParams(exec, child, longer));
    SHOW(cuGraphExecChildGraphNodeSetParams(exec, first, other));
    printf("%u\n", run());
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(inner));
    CHECK(cuGraphDestroy(other));
    CHECK(cuGraphDestroy(longer));

    /* The whole. */
    CUgraph original = row(3, 1), same = row(3, 4), shorter = row(2, 4), branched, mixed;
    CHECK(cuGraphCreate(&branched, 0));
    first = digit(branched, NULL, 0, place, 4);
    digit(branched, &first, 1, place, 4);
    digit(branched, &first, 1, place, 4);
    CHECK(cuGraphCreate(&mixed, 0));
    first = digit(mixed, NULL, 0, place, 4);
    CUDA_MEMSET_NODE_PARAMS zero = {place, 0, 0, 4, 1, 1};
    CHECK(cuGraphAddMemsetNode(&fill, mixed, &first, 1, &zero, context));
    digit(mixed, &fill, 1, place, 4);
    CHECK(cuGraphInstantiate(&exec, original, 0));
    printf("%u\n", run());
    show_update("same structure", same);
    printf("%u\n", run());
    show_update("fewer nodes", shorter);
    show_update("other edges", branched);
    show_update("another kind", mixed);
    show_update("no graph", NULL);
    printf("%u\n", run());
    CHECK(cuGraphExecDestroy(exec));
    return 0;
}
