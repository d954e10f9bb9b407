/* Conditional nodes: graphs that run or not, again and again, or one of several. */
#include "graphs.h"

static CUmodule deciders;
static CUstream stream;
static CUdeviceptr place;

static CUgraphNode conditional(CUgraph graph, const CUgraphNode *after, size_t count, CUgraphConditionalHandle handle,
                               CUgraphConditionalNodeType type, unsigned size, CUgraph *bodies) {
    CUgraphNode node;
    CUgraphNodeParams parameters = {0};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = handle;
    parameters.conditional.type = type;
    parameters.conditional.size = size;
    parameters.conditional.ctx = context;
    CHECK(cuGraphAddNode(&node, graph, after, NULL, count, &parameters));
    for (unsigned index = 0; index < size; index++) bodies[index] = parameters.conditional.phGraph_out[index];
    return node;
}

/* A node that runs a kernel of conditions.ptx. */
static CUgraphNode decide(CUgraph graph, const CUgraphNode *after, size_t count, const char *kernel,
                          CUgraphConditionalHandle handle, void *second) {
    CUgraphNode node;
    void *arguments[] = {&handle, second};
    CUDA_KERNEL_NODE_PARAMS parameters = {0};
    CHECK(cuModuleGetFunction(&parameters.func, deciders, kernel));
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments;
    CHECK(cuGraphAddKernelNode(&node, graph, after, count, &parameters));
    return node;
}

static unsigned run(CUgraphExec exec) {
    CHECK(cuMemsetD32(place, 0, 1));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    return word(place);
}

int main(void) {
    setup();
    CHECK(cuModuleLoad(&deciders, "conditions.ptx"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    place = words(4);
    CUdeviceptr counter = place + 4;
    CUgraph graph, bodies[3], inner[1];
    CUgraphExec exec;
    CUgraphConditionalHandle handle, second;
    CUgraphNode first, node;

    /* If, with and without the other graph. */
    for (unsigned value = 0; value < 2; value++) {
        for (unsigned size = 1; size <= 2; size++) {
            CHECK(cuGraphCreate(&graph, 0));
            CHECK(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 0));
            first = digit(graph, NULL, 0, place, 1);
            first = decide(graph, &first, 1, "decide", handle, &value);
            node = conditional(graph, &first, 1, handle, CU_GRAPH_COND_TYPE_IF, size, bodies);
            digit(bodies[0], NULL, 0, place, 2);
            if (size == 2) digit(bodies[1], NULL, 0, place, 3);
            digit(graph, &node, 1, place, 4);
            CHECK(cuGraphInstantiate(&exec, graph, 0));
            unsigned once = run(exec);
            printf("if %u of %u: %u %u\n", value, size, once, run(exec));
            CHECK(cuGraphExecDestroy(exec));
            CHECK(cuGraphDestroy(graph));
        }
    }

    /* While: 5 rounds; the default lets the first one start. */
    unsigned rounds = 5;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUDA_MEMSET_NODE_PARAMS start = {counter, 0, rounds, 4, 1, 1};
    CHECK(cuGraphAddMemsetNode(&first, graph, NULL, 0, &start, context));
    node = conditional(graph, &first, 1, handle, CU_GRAPH_COND_TYPE_WHILE, 1, bodies);
    CUgraphNode step = digit(bodies[0], NULL, 0, place, 7);
    decide(bodies[0], &step, 1, "count_down", handle, &counter);
    digit(graph, &node, 1, place, 8);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < 3; launch++) printf("while: %u\n", run(exec));

    /* A kernel inside can be changed in the instance. */
    unsigned nine = 9;
    void *arguments[] = {&place, &place, &nine};
    CUDA_KERNEL_NODE_PARAMS other = one_thread("digit", arguments);
    SHOW(cuGraphExecKernelNodeSetParams(exec, step, &other));
    printf("while: %u\n", run(exec));
    CHECK(cuGraphExecDestroy(exec));

    /* Such a graph has no copies, and is no part of another. */
    CUgraph copy, outer;
    SHOW(cuGraphClone(&copy, graph));
    CHECK(cuGraphCreate(&outer, 0));
    SHOW(cuGraphAddChildGraphNode(&node, outer, NULL, 0, graph));
    CHECK(cuGraphDestroy(outer));
    CHECK(cuGraphDestroy(graph));

    /* One of three, or none. */
    for (unsigned value = 0; value < 4; value++) {
        CHECK(cuGraphCreate(&graph, 0));
        CHECK(cuGraphConditionalHandleCreate(&handle, graph, context, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
        node = conditional(graph, NULL, 0, handle, CU_GRAPH_COND_TYPE_SWITCH, 3, bodies);
        for (unsigned body = 0; body < 3; body++) {
            CHECK(cuStreamBeginCaptureToGraph(stream, bodies[body], NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
            stream_digit(stream, place, body + 4);
            stream_digit(stream, place, body + 5);
            CUgraph ended;
            CHECK(cuStreamEndCapture(stream, &ended));
        }
        digit(graph, &node, 1, place, 1);
        CHECK(cuGraphInstantiate(&exec, graph, 0));
        printf("switch %u: %u\n", value, run(exec));
        CHECK(cuGraphExecDestroy(exec));
        CHECK(cuGraphDestroy(graph));
    }

    /* One inside another: 3 rounds, in each a decision. */
    unsigned three = 3, zero = 0;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CHECK(cuGraphConditionalHandleCreate(&second, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    start.value = three;
    CHECK(cuGraphAddMemsetNode(&first, graph, NULL, 0, &start, context));
    node = conditional(graph, &first, 1, handle, CU_GRAPH_COND_TYPE_WHILE, 1, bodies);
    step = digit(bodies[0], NULL, 0, place, 1);
    step = conditional(bodies[0], &step, 1, second, CU_GRAPH_COND_TYPE_IF, 1, inner);
    CUgraphNode within = digit(inner[0], NULL, 0, place, 2);
    decide(inner[0], &within, 1, "decide", second, &zero);
    decide(bodies[0], &step, 1, "count_down", handle, &counter);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    printf("nested: %u\n", run(exec));
    CHECK(cuGraphExecDestroy(exec));

    /* What is refused. */
    CUgraphNodeParams wrong = {0};
    wrong.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    wrong.conditional.handle = handle;
    wrong.conditional.size = 1;
    wrong.conditional.ctx = context;
    SHOW(cuGraphAddNode(&node, graph, NULL, NULL, 0, &wrong));
    wrong.conditional.handle = place;
    SHOW(cuGraphAddNode(&node, graph, NULL, NULL, 0, &wrong));
    CHECK(cuGraphConditionalHandleCreate(&second, graph, context, 0, 0));
    wrong.conditional.handle = second;
    wrong.conditional.size = 3;
    SHOW(cuGraphAddNode(&node, graph, NULL, NULL, 0, &wrong));
    SHOW(cuGraphConditionalHandleCreate(&second, NULL, context, 0, 0));
    SHOW(cuGraphConditionalHandleCreate(&second, graph, context, 0, 4));
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {0};
    SHOW(cuGraphInstantiateWithParams(&exec, graph, &how));
    printf("result %d\n", (int)how.result_out);
    CHECK(cuGraphDestroy(graph));
    return 0;
}
