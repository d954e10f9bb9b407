// Changes of kernel nodes by kernels that are refused: none of a call is made then.
// toolkit: 13
#include "graphs.h"

static __global__ void note(int *place, int value) {
    atomicAdd(place, value);
    atomicAdd(place + 1, 1);
}

static __global__ void change(cudaGraphDeviceNode_t node, int which, int *answer, const int *value) {
    alignas(8) unsigned char bytes[2 * sizeof(cudaGraphKernelNodeUpdate)] = {};
    auto *updates = (cudaGraphKernelNodeUpdate *)bytes;
    updates[0].node = updates[1].node = node;
    switch (which) {
    case 0: *answer = cudaGraphKernelNodeSetParam(node, 100, value, 4); break;
    case 1: *answer = cudaGraphKernelNodeSetParam(node, 8, value, 8); break;
    case 2: *answer = cudaGraphKernelNodeSetParam(node, 8, nullptr, 4); break;
    case 3: *answer = cudaGraphKernelNodeSetParam(node, 8, value, 0); break;
    case 4: *answer = cudaGraphKernelNodeSetParam(node, 9, (const char *)value + 1, 3); break;
    case 5: *answer = cudaGraphKernelNodeSetGridDim(node, dim3(0, 1, 1)); break;
    case 6: *answer = cudaGraphKernelNodeSetGridDim(node, dim3(1, 70000, 1)); break;
    case 7: *answer = cudaGraphKernelNodeSetGridDim(node, dim3(0x80000000u, 1, 1)); break;
    case 8:
        updates[0].field = (cudaGraphKernelNodeField)9;
        *answer = cudaGraphKernelNodeUpdatesApply(updates, 1);
        break;
    case 9:
        updates[0].field = cudaGraphKernelNodeFieldGridDim;
        updates[0].updateData.gridDim = dim3(2, 1, 1);
        updates[1].field = cudaGraphKernelNodeFieldInvalid;
        *answer = cudaGraphKernelNodeUpdatesApply(updates, 2);
        break;
    case 10: *answer = cudaGraphKernelNodeUpdatesApply(updates, 0); break;
    case 11: *answer = cudaGraphKernelNodeUpdatesApply(nullptr, 1); break;
    case 12: *answer = cudaGraphKernelNodeSetEnabled(nullptr, true); break;
    default: *answer = cudaGraphKernelNodeSetParam(node, 8, value, 4);
    }
}

int main() {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *place = zeros<int>(64), *answer = zeros<int>(64), *value = zeros<int>(64);
    int eleven = 11, five = 5;
    OK(cudaMemcpy(value, &eleven, sizeof eleven, cudaMemcpyDefault));
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node;
    void *arguments[] = {&place, &five};
    cudaKernelNodeParams parameters = one_thread((const void *)note, arguments);
    OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    cudaLaunchAttributeValue attribute{};
    attribute.deviceUpdatableKernelNode.deviceUpdatable = 1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &attribute));
    cudaGraphDeviceNode_t handle = attribute.deviceUpdatableKernelNode.devNode;
    auto changed = [&](int which) {
        change<<<1, 1, 0, stream>>>(handle, which, answer, value);
        CALL(cudaStreamSynchronize(stream));
        printf("    %d answers %d\n", which, at(answer));
    };
    changed(13);
    cudaGraphExec_t exec;
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    changed(13);
    CALL(cudaGraphUpload(exec, stream));
    for (int which = 0; which < 14; which++) {
        changed(which);
        OK(cudaGraphLaunch(exec, stream));
        CALL(cudaStreamSynchronize(stream));
        printf("    sum %d, blocks %d\n", at(place), at(place, 1));
        OK(cudaMemset(place, 0, 8));
    }
    CALL(cudaGraphExecDestroy(exec));
    changed(13);
    return 0;
}
