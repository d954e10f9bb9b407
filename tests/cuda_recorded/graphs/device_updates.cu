// Kernel nodes that kernels change: parameters, sizes of grids, and whether they take part. And what such nodes and their graphs do not let the host do.
// toolkit: 13
#include "graphs.h"

struct Wide {
    int first;
    int second;
    int *place;
};

static __global__ void note(int *place, int value, Wide wide) {
    atomicAdd(place, value);
    atomicAdd(place + 1, 1);
    if (wide.place != nullptr && blockIdx.x + blockIdx.y == 0) *wide.place = wide.first * 100 + wide.second;
}

enum What { PARAM, GRID, ENABLE, DISABLE, WIDE, SEVERAL, NOTHING };

static __global__ void change(cudaGraphDeviceNode_t node, What what, int value, int *place, int *answers) {
    switch (what) {
    case PARAM: *answers = cudaGraphKernelNodeSetParam(node, 8, value); break;
    case GRID: *answers = cudaGraphKernelNodeSetGridDim(node, dim3(value, 1, 1)); break;
    case ENABLE: *answers = cudaGraphKernelNodeSetEnabled(node, true); break;
    case DISABLE: *answers = cudaGraphKernelNodeSetEnabled(node, false); break;
    case WIDE: *answers = cudaGraphKernelNodeSetParam(node, 16, Wide{value, value + 1, place}); break;
    case SEVERAL: {
        alignas(8) unsigned char bytes[3 * sizeof(cudaGraphKernelNodeUpdate)] = {};
        auto *updates = (cudaGraphKernelNodeUpdate *)bytes;
        updates[0].node = updates[1].node = updates[2].node = node;
        updates[0].field = cudaGraphKernelNodeFieldGridDim;
        updates[0].updateData.gridDim = dim3(value, 2, 1);
        updates[1].field = cudaGraphKernelNodeFieldParam;
        updates[1].updateData.param.pValue = &value;
        updates[1].updateData.param.offset = 8;
        updates[1].updateData.param.size = sizeof value;
        updates[2].field = cudaGraphKernelNodeFieldEnabled;
        updates[2].updateData.isEnabled = 1;
        *answers = cudaGraphKernelNodeUpdatesApply(updates, 3);
        break;
    }
    case NOTHING: *answers = cudaGraphKernelNodeUpdatesApply(nullptr, 0); break;
    }
}

static cudaGraphNode_t noting(cudaGraph_t graph, int *place, int value) {
    cudaGraphNode_t node;
    Wide wide{};
    void *arguments[] = {&place, &value, &wide};
    cudaKernelNodeParams parameters = one_thread((const void *)note, arguments);
    OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    return node;
}

static cudaGraphDeviceNode_t updatable(cudaGraphNode_t node) {
    cudaLaunchAttributeValue value{};
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    return value.deviceUpdatableKernelNode.devNode;
}

static void show(int *place) {
    printf("    sum %d, blocks %d\n", at(place), at(place, 1));
    OK(cudaMemset(place, 0, 8));
}

int main() {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *place = zeros<int>(64), *answers = zeros<int>(64), *other = zeros<int>(64);
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = noting(graph, place, 5);
    cudaLaunchAttributeValue value{};
    const auto attribute = cudaLaunchAttributeDeviceUpdatableKernelNode;
    CALL(cudaGraphKernelNodeGetAttribute(node, attribute, &value));
    SHOW(value.deviceUpdatableKernelNode.deviceUpdatable);
    SHOW(value.deviceUpdatableKernelNode.devNode != nullptr);
    value = {};
    CALL(cudaGraphKernelNodeSetAttribute(node, attribute, &value));
    value.deviceUpdatableKernelNode.deviceUpdatable = 2;
    CALL(cudaGraphKernelNodeSetAttribute(node, attribute, &value));
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CALL(cudaGraphKernelNodeSetAttribute(node, attribute, &value));
    cudaGraphDeviceNode_t handle = value.deviceUpdatableKernelNode.devNode;
    SHOW(handle != nullptr);
    value = {};
    CALL(cudaGraphKernelNodeGetAttribute(node, attribute, &value));
    SHOW(value.deviceUpdatableKernelNode.deviceUpdatable);
    SHOW(value.deviceUpdatableKernelNode.devNode == handle);
    value = {};
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CALL(cudaGraphKernelNodeSetAttribute(node, attribute, &value));
    SHOW(value.deviceUpdatableKernelNode.devNode == handle);
    value = {};
    CALL(cudaGraphKernelNodeSetAttribute(node, attribute, &value));

    // What the host may not do.
    cudaGraphNode_t plain = noting(graph, place + 2, 1);
    CALL(cudaGraphKernelNodeCopyAttributes(plain, node));
    CALL(cudaGraphKernelNodeCopyAttributes(node, plain));
    CALL(cudaGraphDestroyNode(plain));
    CALL(cudaGraphDestroyNode(node));
    cudaGraph_t copy;
    CALL(cudaGraphClone(&copy, graph));

    cudaGraphExec_t exec, second = nullptr;
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphInstantiate(&second, graph, 0));
    cudaGraphExecUpdateResultInfo info{};
    CALL(cudaGraphExecUpdate(exec, graph, &info));
    SHOW(info.result);
    CALL(cudaGraphUpload(exec, stream));
    CALL(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    show(place);

    // Changes by kernels outside of the graph stay.
    auto changed = [&](What what, int number) {
        change<<<1, 1, 0, stream>>>(handle, what, number, other, answers);
        OK(cudaGraphLaunch(exec, stream));
        CALL(cudaStreamSynchronize(stream));
        printf("    answer %d\n", at(answers));
        show(place);
    };
    changed(PARAM, 7);
    changed(GRID, 3);
    changed(DISABLE, 0);
    changed(GRID, 4);
    changed(ENABLE, 0);
    changed(WIDE, 12);
    SHOW(at(other));
    changed(SEVERAL, 2);
    changed(NOTHING, 0);
    // Launches are in order: a change behind a launch is for the next one.
    OK(cudaGraphLaunch(exec, stream));
    change<<<1, 1, 0, stream>>>(handle, PARAM, 100, other, answers);
    OK(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    show(place);
    // What the host changes, and that it can.
    cudaKernelNodeParams parameters;
    int *target = place;
    int number = 9;
    Wide wide{};
    void *arguments[] = {&target, &number, &wide};
    parameters = one_thread((const void *)note, arguments);
    CALL(cudaGraphExecKernelNodeSetParams(exec, node, &parameters));
    CALL(cudaGraphUpload(exec, stream));
    CALL(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    show(place);
    CALL(cudaGraphNodeSetEnabled(exec, node, 0));
    CALL(cudaGraphUpload(exec, stream));
    CALL(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    show(place);
    changed(ENABLE, 0);
    unsigned enabled = 7;
    CALL(cudaGraphNodeGetEnabled(exec, node, &enabled));
    SHOW(enabled);
    CALL(cudaGraphKernelNodeSetParams(node, &parameters));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphInstantiate(&second, graph, 0));

    // A kernel of the graph changes the next one.
    OK(cudaGraphCreate(&graph, 0));
    node = noting(graph, place, 5);
    handle = updatable(node);
    What what = SEVERAL;
    number = 3;
    void *given[] = {&handle, &what, &number, &other, &answers};
    parameters = one_thread((const void *)change, given);
    cudaGraphNode_t first;
    OK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &parameters));
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddDependencies(graph, &first, &node, nullptr, 1));
#else
    OK(cudaGraphAddDependencies(graph, &first, &node, 1));
#endif
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphUpload(exec, stream));
    for (int time = 0; time < 2; time++) {
        OK(cudaGraphLaunch(exec, stream));
        CALL(cudaStreamSynchronize(stream));
        printf("    answer %d\n", at(answers));
        show(place);
    }
    // By a launch that is captured.
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaLaunchAttribute of_launch{};
    of_launch.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
    of_launch.val.deviceUpdatableKernelNode.deviceUpdatable = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = config.blockDim = dim3(1);
    config.stream = stream;
    config.attrs = &of_launch;
    config.numAttrs = 1;
    int one = 1;
    void *captured[] = {&place, &one, &wide};
    CALL(cudaLaunchKernelExC(&config, (const void *)note, captured));
    SHOW(of_launch.val.deviceUpdatableKernelNode.devNode != nullptr);
    handle = of_launch.val.deviceUpdatableKernelNode.devNode;
    OK(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphUpload(exec, stream));
    changed(PARAM, 50);
    CALL(cudaLaunchKernelExC(&config, (const void *)note, captured));
    of_launch.val.deviceUpdatableKernelNode.deviceUpdatable = 0;
    CALL(cudaLaunchKernelExC(&config, (const void *)note, captured));
    CALL(cudaStreamSynchronize(stream));
    show(place);
    // A graph for launches by devices.
    OK(cudaGraphCreate(&graph, 0));
    node = noting(graph, place, 5);
    handle = updatable(node);
    CALL(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    LAST();
    return 0;
}
