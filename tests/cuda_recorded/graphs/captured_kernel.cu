// What is told of a kernel that was captured: its function, as the program knows it, and what its stream says.
#include "show.h"

__global__ void kernel(int *place, int value) { *place = value; }
template <int number> __global__ void typed(int *place) { *place = number; }

static cudaGraphNode_t only_node(cudaGraph_t graph) {
    cudaGraphNode_t node = nullptr;
    size_t count = 1;
    OK(cudaGraphGetNodes(graph, &node, &count));
    return node;
}

int main() {
    int *place = zeros<int>(1), least, greatest;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    kernel<<<3, 2, 16, stream>>>(place, 9);
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphNode_t node = only_node(graph);
    cudaKernelNodeParams params = {};
    CALL(cudaGraphKernelNodeGetParams(node, &params));
    SHOW(params.func == (void *)kernel);
    SHOW(params.gridDim.x);
    SHOW(params.blockDim.x);
    SHOW(params.sharedMemBytes);
    SHOW(*(int *)params.kernelParams[1]);

    // What was told can be given again, and changed.
    int value = 11;
    void *arguments[] = {&place, &value};
    params.kernelParams = arguments;
    CALL(cudaGraphKernelNodeSetParams(node, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    SHOW(at(place));
    params.func = (void *)typed<5>;
    CALL(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    SHOW(at(place));

    cudaKernelNodeAttrValue attribute = {};
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &attribute));
    SHOW(attribute.priority == greatest);
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &attribute));
    SHOW(attribute.cooperative);

    // A cooperative launch, and one with attributes.
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaLaunchCooperativeKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    node = only_node(graph);
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &attribute));
    SHOW(attribute.cooperative);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attributes[1];
    attributes[0].id = cudaLaunchAttributePriority;
    attributes[0].val.priority = least;
    config.gridDim = config.blockDim = dim3(1);
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 1;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaLaunchKernelExC(&config, (const void *)kernel, arguments));
    OK(cudaStreamEndCapture(stream, &graph));
    node = only_node(graph);
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &attribute));
    SHOW(attribute.priority == least);
    return 0;
}
