/* All kinds of nodes: what they do, and the parameters that they give back. */
#include "graphs.h"

static void call(void *data) { ++*(int *)data; }

int main(void) {
    setup();
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr place = words(16);
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuGraphCreate(&graph, 0));

    /* host -> device, set, kernel, device -> host, host function, in this order. */
    unsigned in[4] = {1, 2, 3, 4}, out[8] = {0};
    CUgraphNode upload, set, kernel, download, host;
    CUDA_MEMCPY3D copy = copy_line(CU_MEMORYTYPE_DEVICE, NULL, place, CU_MEMORYTYPE_HOST, in, 0, sizeof in);
    SHOW(cuGraphAddMemcpyNode(&upload, graph, NULL, 0, &copy, context));
    CUDA_MEMSET_NODE_PARAMS fill = {0};
    fill.dst = place + 16;
    fill.value = 0x01020304;
    fill.elementSize = 4;
    fill.width = 3;
    fill.height = 1;
    SHOW(cuGraphAddMemsetNode(&set, graph, &upload, 1, &fill, context));
    CUdeviceptr target = place + 28, a = place + 12, b = place + 16;
    void *arguments[] = {&target, &a, &b};
    CUDA_KERNEL_NODE_PARAMS launch = one_thread("sum", arguments);
    SHOW(cuGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
    copy = copy_line(CU_MEMORYTYPE_HOST, out, 0, CU_MEMORYTYPE_DEVICE, NULL, place, sizeof out);
    SHOW(cuGraphAddMemcpyNode(&download, graph, &kernel, 1, &copy, context));
    int calls = 0;
    CUDA_HOST_NODE_PARAMS back = {call, &calls};
    SHOW(cuGraphAddHostNode(&host, graph, &download, 1, &back));

    SHOW(cuGraphInstantiate(&exec, graph, 0));
    SHOW(cuGraphUpload(exec, stream));
    for (int round = 0; round < 3; round++) CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int index = 0; index < 8; index++) printf("%x ", out[index]);
    printf("calls %d\n", calls);

    CUDA_KERNEL_NODE_PARAMS kernel_back;
    SHOW(cuGraphKernelNodeGetParams(kernel, &kernel_back));
    printf("function %d, %u %u, arguments %d %d, extra %d\n", kernel_back.func == launch.func, kernel_back.gridDimX,
           kernel_back.blockDimZ, *(CUdeviceptr *)kernel_back.kernelParams[0] == target,
           *(CUdeviceptr *)kernel_back.kernelParams[2] == b, kernel_back.extra == NULL);
    CUDA_MEMCPY3D copy_back;
    SHOW(cuGraphMemcpyNodeGetParams(upload, &copy_back));
    printf("copy %d %d %zu %zu\n", copy_back.srcHost == in, copy_back.dstDevice == place, copy_back.WidthInBytes,
           copy_back.Height);
    CUDA_MEMSET_NODE_PARAMS fill_back;
    SHOW(cuGraphMemsetNodeGetParams(set, &fill_back));
    printf("set %d %x %u %zu\n", fill_back.dst == fill.dst, fill_back.value, fill_back.elementSize, fill_back.width);
    CUDA_HOST_NODE_PARAMS host_back;
    SHOW(cuGraphHostNodeGetParams(host, &host_back));
    printf("host %d %d\n", host_back.fn == call, host_back.userData == &calls);
    SHOW(cuGraphKernelNodeGetParams(set, &kernel_back));
    SHOW(cuGraphMemsetNodeGetParams(kernel, &fill_back));

    /* Changes of the graph leave the instance as it is. */
    fill.value = 0xff;
    SHOW(cuGraphMemsetNodeSetParams(set, &fill));
    fill.elementSize = 3;
    SHOW(cuGraphMemsetNodeSetParams(set, &fill));
    SHOW(cuGraphKernelNodeSetParams(set, &launch));
    memset(out, 0, sizeof out);
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("instance %x\n", out[4]);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("new instance %x\n", out[4]);
    CHECK(cuGraphExecDestroy(exec));

    /* Launch attributes of a kernel. */
    CUlaunchAttributeValue value = {{0}};
    SHOW(cuGraphKernelNodeGetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    printf("cooperative %d\n", value.cooperative);
    value.cooperative = 1;
    SHOW(cuGraphKernelNodeSetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    value.cooperative = 0;
    SHOW(cuGraphKernelNodeGetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    printf("cooperative %d\n", value.cooperative);
    CUgraphNode second = digit(graph, NULL, 0, place, 1);
    SHOW(cuGraphKernelNodeCopyAttributes(second, kernel));
    value.cooperative = 0;
    SHOW(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    printf("cooperative %d\n", value.cooperative);
    CHECK(cuGraphDestroy(graph));

    /* A graph in a node: its own nodes, which run before what comes after. */
    CUgraph inner, mine;
    CUgraphNode before, child, after;
    CHECK(cuMemsetD32(place, 0, 1));
    CHECK(cuGraphCreate(&inner, 0));
    CUgraphNode first = digit(inner, NULL, 0, place, 2);
    digit(inner, &first, 1, place, 3);
    CHECK(cuGraphCreate(&graph, 0));
    before = digit(graph, NULL, 0, place, 1);
    SHOW(cuGraphAddChildGraphNode(&child, graph, &before, 1, inner));
    after = digit(graph, &child, 1, place, 4);
    SHOW(cuGraphDestroy(inner));
    SHOW(cuGraphChildGraphNodeGetGraph(child, &mine));
    SHOW(cuGraphChildGraphNodeGetGraph(after, &mine));
    CHECK(cuGraphChildGraphNodeGetGraph(child, &mine));
    SHOW(cuGraphDestroy(mine));
    size_t count = 0;
    SHOW(cuGraphGetNodes(mine, NULL, &count));
    printf("inside: %zu\n", count);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(place));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    STALE(cuGraphGetNodes(mine, NULL, &count));

    /* Events: one that a graph records holds another stream up; one that a graph waits for holds the graph up. */
    CUevent recorded, awaited, event_back;
    CUgraphNode record, wait;
    CHECK(cuEventCreate(&recorded, 0));
    CHECK(cuEventCreate(&awaited, 0));
    CHECK(cuMemsetD32(place, 0, 1));
    CHECK(cuGraphCreate(&graph, 0));
    SHOW(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, awaited));
    after = digit(graph, &wait, 1, place, 2);
    SHOW(cuGraphAddEventRecordNode(&record, graph, &after, 1, recorded));
    SHOW(cuGraphEventWaitNodeGetEvent(wait, &event_back));
    printf("event %d\n", event_back == awaited);
    SHOW(cuGraphEventRecordNodeGetEvent(wait, &event_back));
    SHOW(cuGraphAddEventWaitNode(&child, graph, NULL, 0, NULL));
    CUstream other;
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    stream_digit(other, place, 1);
    CHECK(cuEventRecord(awaited, other));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamWaitEvent(other, recorded, 0));
    stream_digit(other, place, 3);
    CHECK(cuStreamSynchronize(other));
    printf("%u\n", word(place));
    SHOW(cuEventQuery(recorded));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* Values in memory. */
    CUstreamBatchMemOpParams operations[2] = {{0}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {0}, batch_back;
    CUgraphNode write;
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = place;
    operations[0].writeValue.value = 77;
    operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[1].waitValue.address = place;
    operations[1].waitValue.value = 77;
    operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    batch.ctx = context;
    batch.count = 2;
    batch.paramArray = operations;
    CHECK(cuGraphCreate(&graph, 0));
    SHOW(cuGraphAddBatchMemOpNode(&write, graph, NULL, 0, &batch));
    SHOW(cuGraphBatchMemOpNodeGetParams(write, &batch_back));
    printf("batch %u %d %d\n", batch_back.count, batch_back.paramArray != operations,
           batch_back.paramArray[1].waitValue.address == place);
    digit(graph, &write, 1, place, 8);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(place));
    CHECK(cuGraphExecDestroy(exec));

    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuStreamDestroy(other));
    return 0;
}
