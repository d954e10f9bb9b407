// A node of each kind, made by hand, with its parameters read back.
#include "graphs.h"

static int calls;
static void CUDART_CB call(void *) { calls++; }

int main() {
    int *numbers = zeros<int>(64), *other = zeros<int>(64), host[64] = {};
    unsigned long long *order = zeros<unsigned long long>(1);
    cudaGraph_t graph, inner;
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    CALL(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&inner, 0));
    digit(inner, nullptr, 0, order, 8);

    cudaGraphNode_t set, kernel, copy, line, home, function, child, empty, record, wait;
    cudaMemsetParams fill = {};
    fill.dst = numbers;
    fill.value = 5;
    fill.elementSize = 4;
    fill.width = 64;
    fill.height = 1;
    CALL(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    int value = 100;
    void *arguments[] = {&numbers, &value};
    cudaKernelNodeParams launch = one_thread((const void *)add, arguments);
    launch.blockDim = dim3(64);
    CALL(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
    cudaMemcpy3DParms box = {};
    box.srcPtr = make_cudaPitchedPtr(numbers, 256, 256, 1);
    box.dstPtr = make_cudaPitchedPtr(other, 256, 256, 1);
    box.extent = make_cudaExtent(128, 1, 1);
    box.kind = cudaMemcpyDeviceToDevice;
    CALL(cudaGraphAddMemcpyNode(&copy, graph, &kernel, 1, &box));
    CALL(cudaGraphAddMemcpyNode1D(&line, graph, &copy, 1, other + 32, numbers, 64, cudaMemcpyDeviceToDevice));
    CALL(cudaGraphAddMemcpyNode1D(&home, graph, &line, 1, host, other, 256, cudaMemcpyDeviceToHost));
    cudaHostNodeParams task = {call, nullptr};
    CALL(cudaGraphAddHostNode(&function, graph, &home, 1, &task));
    CALL(cudaGraphAddChildGraphNode(&child, graph, &function, 1, inner));
    CALL(cudaGraphAddEmptyNode(&empty, graph, &child, 1));
    CALL(cudaGraphAddEventRecordNode(&record, graph, &empty, 1, event));
    CALL(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, event));
    show_nodes(graph);
    run_once(graph);
    SHOW(host[0]);
    SHOW(host[31]);
    SHOW(host[47]);
    SHOW(host[48]);
    SHOW(calls);
    SHOW(at(order));
    CALL(cudaEventQuery(event));

    cudaMemsetParams fill_back = {};
    CALL(cudaGraphMemsetNodeGetParams(set, &fill_back));
    SHOW(fill_back.value + fill_back.width * 1000 + fill_back.elementSize * 1000000);
    cudaKernelNodeParams launch_back = {};
    CALL(cudaGraphKernelNodeGetParams(kernel, &launch_back));
    SHOW(launch_back.func == (void *)add);
    SHOW(launch_back.blockDim.x);
    SHOW(*(int *)launch_back.kernelParams[1]);
    cudaMemcpy3DParms box_back = {};
    CALL(cudaGraphMemcpyNodeGetParams(copy, &box_back));
    SHOW(box_back.kind);
    SHOW(box_back.extent.width);
    SHOW(box_back.srcPtr.ptr == numbers);
    cudaHostNodeParams task_back = {};
    CALL(cudaGraphHostNodeGetParams(function, &task_back));
    SHOW(task_back.fn == call);
    cudaGraph_t clone = nullptr;
    CALL(cudaGraphChildGraphNodeGetGraph(child, &clone));
    SHOW(clone != inner);
    show_nodes(clone);
    cudaEvent_t event_back = nullptr;
    CALL(cudaGraphEventRecordNodeGetEvent(record, &event_back));
    SHOW(event_back == event);
    CALL(cudaGraphEventWaitNodeGetEvent(wait, &event_back));
    SHOW(event_back == event);
    LAST();
    CALL(cudaGraphKernelNodeGetParams(set, &launch_back));
    CALL(cudaGraphMemsetNodeGetParams(kernel, &fill_back));
    CALL(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, nullptr));
    fill.elementSize = 3;
    CALL(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    launch.func = (void *)call;
    CALL(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch));
    LAST();
    launch.func = (void *)add;
    launch.blockDim = dim3(0);
    CALL(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch));
    CALL(cudaGraphAddMemcpyNode1D(&line, graph, nullptr, 0, other, numbers, 64, (cudaMemcpyKind)9));
    LAST();
    return 0;
}
