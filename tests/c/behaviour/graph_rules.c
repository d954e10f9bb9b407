/* Rules of graphs, as an H100 keeps them: managed memory and 0 bytes, conditions of other graphs, updates of conditional nodes and of
   user objects, instances for launches by the device. */
#include "expect.h"

#include <stdatomic.h>
#include <unistd.h>

static CUstream stream;
static CUdeviceptr word;

static unsigned value(void) {
    unsigned got = 0;
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&got, word, 4));
    return got;
}

static void managed_memory(void) {
    CUDA_MEM_ALLOC_NODE_PARAMS wanted = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = 1024}, back;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUmemorytype type = 0;
    unsigned managed = 0;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wanted));
    OK(cuGraphMemAllocNodeGetParams(node, &back));
    HOLDS(back.poolProps.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED && back.bytesize == 1024 && back.dptr == wanted.dptr);
    CUDA_MEMSET_NODE_PARAMS fill = {wanted.dptr, 0, 9, 4, 256, 1};
    OK(cuGraphAddMemsetNode(&node, graph, &node, 1, &fill, context));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, wanted.dptr));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, wanted.dptr));
    HOLDS(managed == 1);
    HOLDS(*(volatile unsigned *)wanted.dptr == 9);
    OK(cuMemFreeAsync(wanted.dptr, stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.bytesize = 0;
    OK(cuGraphCreate(&graph, 0));
    IS(INVALID_VALUE, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wanted));
    OK(cuGraphDestroy(graph));
}

static void nothing_allocated_in_a_capture(void) {
    CUdeviceptr memory = 1;
    CUgraph graph;
    OK(cuMemAllocAsync(&memory, 0, stream));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAllocAsync(&memory, 0, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

static CUgraphNode decision(CUgraph graph, CUgraphConditionalHandle handle, CUgraph *body, CUresult expected) {
    CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUgraphNode node = NULL;
    parameters.conditional.handle = handle;
    parameters.conditional.type = CU_GRAPH_COND_TYPE_IF;
    parameters.conditional.size = 1;
    parameters.conditional.ctx = context;
    expect(cuGraphAddNode(&node, graph, NULL, NULL, 0, &parameters), expected, "cuGraphAddNode", __LINE__);
    if (body != NULL) *body = parameters.conditional.phGraph_out[0];
    return node;
}

static void conditions(void) {
    CUgraph graphs[2], body, aside;
    CUgraphConditionalHandle handle;
    CUgraphExec exec;
    CUgraphNode node;
    CUgraphExecUpdateResultInfo info;
    OK(cuGraphCreate(&graphs[0], 0));
    OK(cuGraphCreate(&aside, 0));
    OK(cuGraphConditionalHandleCreate(&handle, graphs[0], context, 0, 0));
    decision(aside, handle, NULL, CUDA_ERROR_INVALID_VALUE);
    /* It is still to be had for its own graph. */
    decision(graphs[0], handle, NULL, CUDA_SUCCESS);
    OK(cuGraphDestroy(graphs[0]));
    OK(cuGraphDestroy(aside));
    /* The same decision with another value at the start: the update takes the new graph's condition. */
    for (int version = 0; version < 2; version++) {
        CUDA_MEMSET_NODE_PARAMS fill = {word, 0, 5 + version, 4, 1, 1};
        OK(cuGraphCreate(&graphs[version], 0));
        OK(cuGraphConditionalHandleCreate(&handle, graphs[version], context, version, CU_GRAPH_COND_ASSIGN_DEFAULT));
        decision(graphs[version], handle, &body, CUDA_SUCCESS);
        OK(cuGraphAddMemsetNode(&node, body, NULL, 0, &fill, context));
    }
    OK(cuMemsetD32(word, 1, 1));
    OK(cuGraphInstantiate(&exec, graphs[0], 0));
    OK(cuGraphLaunch(exec, stream));
    HOLDS(value() == 1);
    OK(cuGraphExecUpdate(exec, graphs[1], &info));
    HOLDS(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphLaunch(exec, stream));
    HOLDS(value() == 6);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graphs[0]));
    OK(cuGraphDestroy(graphs[1]));
}

static void released_object(void *count) { atomic_fetch_add((atomic_int *)count, 1); }

static void nothing_to_do(void *data) { (void)data; }

static int becomes(atomic_int *count, int expected) {
    for (int tries = 0; tries < 2000 && atomic_load(count) != expected; tries++) usleep(1000);
    return atomic_load(count) == expected;
}

static void user_objects(void) {
    static atomic_int gone[2];
    CUgraph graphs[2];
    CUgraphExec exec;
    CUgraphNode node;
    CUgraphExecUpdateResultInfo info;
    CUuserObject object;
    for (int version = 0; version < 2; version++) {
        CUDA_HOST_NODE_PARAMS call = {nothing_to_do, NULL};
        OK(cuGraphCreate(&graphs[version], 0));
        OK(cuGraphAddHostNode(&node, graphs[version], NULL, 0, &call));
        OK(cuUserObjectCreate(&object, &gone[version], released_object, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        OK(cuGraphRetainUserObject(graphs[version], object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    }
    OK(cuGraphInstantiate(&exec, graphs[0], 0));
    OK(cuGraphDestroy(graphs[0]));
    usleep(20000);
    HOLDS(atomic_load(&gone[0]) == 0);
    OK(cuGraphExecUpdate(exec, graphs[1], &info));
    HOLDS(becomes(&gone[0], 1));
    OK(cuGraphDestroy(graphs[1]));
    usleep(20000);
    HOLDS(atomic_load(&gone[1]) == 0);
    OK(cuGraphExecDestroy(exec));
    HOLDS(becomes(&gone[1], 1));
}

static void instances_for_the_device(void) {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node, wrong;
    CUDA_MEMSET_NODE_PARAMS fill = {word, 0, 12, 4, 1, 1};
    CUDA_HOST_NODE_PARAMS call = {nothing_to_do, NULL};
    cuuint64_t flags = 0;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
    OK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    OK(cuGraphExecGetFlags(exec, &flags));
    HOLDS(flags == CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    OK(cuGraphUpload(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    HOLDS(value() == 12);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphAddHostNode(&wrong, graph, &node, 1, &call));
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH};
    HOLDS(cuGraphInstantiateWithParams(&exec, graph, &how) != CUDA_SUCCESS);
    HOLDS(how.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED && how.hErrNode_out == wrong);
    OK(cuGraphDestroy(graph));
}

/* A launch that cannot be made leaves nothing behind: neither a part of its work, nor the state of its memory. */
static void launches_as_a_whole(void) {
    CUDA_MEM_ALLOC_NODE_PARAMS wanted = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = 1024};
    CUdeviceptr gone;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node, last;
    OK(cuMemAlloc(&gone, 4));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wanted));
    CUDA_MEMSET_NODE_PARAMS first = {word, 0, 77, 4, 1, 1}, second = {gone, 0, 1, 4, 1, 1};
    OK(cuGraphAddMemsetNode(&node, graph, &node, 1, &first, context));
    OK(cuGraphAddMemsetNode(&last, graph, &node, 1, &second, context));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuMemFree(gone));
    OK(cuMemsetD32(word, 3, 1));
    for (int round = 0; round < 2; round++) IS(INVALID_VALUE, cuGraphLaunch(exec, stream));
    HOLDS(value() == 3);
    IS(INVALID_VALUE, cuMemFree(wanted.dptr));
    second.dst = word;
    OK(cuGraphExecMemsetNodeSetParams(exec, last, &second, context));
    OK(cuGraphLaunch(exec, stream));
    HOLDS(value() == 1);
    OK(cuMemFree(wanted.dptr));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* A launch has the parameters that the instance has then, and the limits of the context. */
static void changed_parameters(void) {
    static const char STORE[] =
        ".version 7.0\n.target sm_52\n.address_size 64\n"
        ".visible .entry store(.param .u64 to, .param .u32 value) {\n    .reg .b64 %d;\n    .reg .b32 %r;\n"
        "    ld.param.u64 %d, [to];\n    ld.param.u32 %r, [value];\n    st.global.u32 [%d], %r;\n    ret;\n}\n";
    CUmodule module;
    CUfunction store;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    unsigned number = 1;
    void *arguments[] = {&word, &number};
    OK(cuModuleLoadData(&module, STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    CUDA_KERNEL_NODE_PARAMS launch = {.func = store, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
                                      .blockDimY = 1, .blockDimZ = 1, .kernelParams = arguments};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &launch));
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (number = 1; number < 6; number++) {
        OK(cuGraphExecKernelNodeSetParams(exec, node, &launch));
        OK(cuGraphLaunch(exec, stream));
        OK(cuGraphLaunch(exec, stream));
        HOLDS(value() == number);
    }
    OK(cuMemsetD32(word, 99, 1));
    OK(cuGraphNodeSetEnabled(exec, node, 0));
    OK(cuGraphLaunch(exec, stream));
    HOLDS(value() == 99);
    OK(cuGraphNodeSetEnabled(exec, node, 1));
    OK(cuGraphLaunch(exec, stream));
    HOLDS(value() == 5);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

int main(void) {
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&word, 4));
    managed_memory();
    nothing_allocated_in_a_capture();
    conditions();
    user_objects();
    instances_for_the_device();
    launches_as_a_whole();
    changed_parameters();
    puts("done");
    return 0;
}
