/* Memory that graphs allocate and free. */
#include "graphs.h"

static void show_memory(const char *when) {
    cuuint64_t used = 99, reserved = 99;
    CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
    printf("%s: used %d, reserved %d\n", when, used != 0, reserved != 0);
}

static CUDA_MEM_ALLOC_NODE_PARAMS on_device(size_t bytes) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = {0};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.poolProps.location.id = 0;
    parameters.bytesize = bytes;
    return parameters;
}

int main(void) {
    setup();
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr result = words(1);
    show_memory("before");

    /* Allocated, used and freed in one launch, as often as wanted. */
    CUgraph graph, copy;
    CUgraphExec exec, second;
    CUgraphNode alloc, set, use, release;
    CUDA_MEM_ALLOC_NODE_PARAMS request = on_device(4096), back;
    CHECK(cuGraphCreate(&graph, 0));
    SHOW(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &request));
    printf("address %d\n", request.dptr != 0);
    CUDA_MEMSET_NODE_PARAMS fill = {request.dptr, 0, 21, 4, 1024, 1};
    CHECK(cuGraphAddMemsetNode(&set, graph, &alloc, 1, &fill, context));
    CUdeviceptr last = request.dptr + 4092;
    void *arguments[] = {&result, &request.dptr, &last};
    CUDA_KERNEL_NODE_PARAMS launch = one_thread("sum", arguments);
    CHECK(cuGraphAddKernelNode(&use, graph, &set, 1, &launch));
    SHOW(cuGraphAddMemFreeNode(&release, graph, &use, 1, request.dptr));
    SHOW(cuGraphMemAllocNodeGetParams(alloc, &back));
    printf("%zu bytes, same address %d\n", back.bytesize, back.dptr == request.dptr);
    CUdeviceptr freed = 0;
    SHOW(cuGraphMemFreeNodeGetParams(release, &freed));
    printf("same address %d\n", freed == request.dptr);
    SHOW(cuGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(result));
    show_memory("allocated and freed");

    /* What holds for graphs with such nodes. */
    printf("second instance refused: %d\n", cuGraphInstantiate(&second, graph, 0) != CUDA_SUCCESS);
    printf("copy refused: %d\n", cuGraphClone(&copy, graph) != CUDA_SUCCESS);
    printf("removal refused: %d\n", cuGraphDestroyNode(use) != CUDA_SUCCESS);
    SHOW(cuGraphAddMemFreeNode(&release, graph, NULL, 0, result));
    request.bytesize = 0;
    SHOW(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &request));
    CHECK(cuGraphExecDestroy(exec));
    SHOW(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    SHOW(cuDeviceGraphMemTrim(0));
    show_memory("trimmed");

    /* Allocated by a launch, freed by the program: it must be before the next launch. */
    request = on_device(4096);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &request));
    fill.dst = request.dptr;
    fill.value = 5;
    CHECK(cuGraphAddMemsetNode(&set, graph, &alloc, 1, &fill, context));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    SHOW(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(request.dptr + 64));
    show_memory("launched");
    SHOW(cuGraphLaunch(exec, stream));
    SHOW(cuMemFreeAsync(request.dptr, stream));
    SHOW(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    SHOW(cuMemFree(request.dptr));
    show_memory("freed");
    CHECK(cuGraphExecDestroy(exec));

    /* Or the launch frees it first. */
    SHOW(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    SHOW(cuGraphLaunch(exec, stream));
    SHOW(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(request.dptr));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    SHOW(cuMemFree(request.dptr));

    /* Captured. */
    CUdeviceptr captured;
    size_t count = 0;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SHOW(cuMemAllocAsync(&captured, 64, stream));
    SHOW(cuMemsetD32Async(captured, 3, 16, stream));
    CUdeviceptr end = captured + 60;
    void *sums[] = {&result, &captured, &end};
    SHOW(cuLaunchKernel(function("sum"), 1, 1, 1, 1, 1, 1, 0, stream, sums, 0));
    SHOW(cuMemFreeAsync(captured, stream));
    SHOW(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetNodes(graph, NULL, &count));
    printf("%zu nodes\n", count);
    SHOW(cuGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 2; round++) CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word(result));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    cuuint64_t zero = 0, one = 1;
    SHOW(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    SHOW(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &one));
    SHOW(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero));
    SHOW(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)9, &zero));
    show_memory("end");
    return 0;
}
