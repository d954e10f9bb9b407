// Functions that are newer than the headers which compile this, declared as in the manual, and calls after a reset by the driver API.
//@ 13
#include <cuda.h>
#include "check.h"

typedef struct cudaExecutionContext_st *ExecutionContext;
extern "C" {
cudaError_t cudaGraphNodeGetParams(cudaGraphNode_t node, cudaGraphNodeParams *parameters);
cudaError_t cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle *handle, cudaGraph_t graph, ExecutionContext context,
                                                unsigned value, unsigned flags);
cudaError_t cudaMemcpyWithAttributesAsync(void *target, const void *source, size_t size, cudaMemcpyAttributes *attributes,
                                          cudaStream_t stream);
cudaError_t cudaMemcpy3DWithAttributesAsync(cudaMemcpy3DBatchOp *operation, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaDeviceGetExecutionCtx(ExecutionContext *context, int device);
cudaError_t cudaExecutionCtxGetDevice(int *device, ExecutionContext context);
cudaError_t cudaExecutionCtxGetId(ExecutionContext context, unsigned long long *id);
cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *stream, ExecutionContext context, unsigned flags, int priority);
cudaError_t cudaExecutionCtxSynchronize(ExecutionContext context);
cudaError_t cudaExecutionCtxRecordEvent(ExecutionContext context, cudaEvent_t event);
cudaError_t cudaExecutionCtxWaitEvent(ExecutionContext context, cudaEvent_t event);
cudaError_t cudaExecutionCtxDestroy(ExecutionContext context);
}

__device__ int number = 5;
__global__ void set(int *place, int value) { *place = value; }
__global__ void change(int value) { number = value; }

static void nodes(int *memory) {
    cudaGraph_t graph;
    cudaGraphNode_t kernel, copy, node;
    int value = 3, got = 0;
    OK(cudaGraphCreate(&graph, 0));
    void *arguments[] = {&memory, &value};
    cudaGraphNodeParams launch = {cudaGraphNodeTypeKernel}, home = {cudaGraphNodeTypeMemcpy}, told = {};
    launch.kernel.func = (void *)set;
    launch.kernel.gridDim = launch.kernel.blockDim = dim3(1);
    launch.kernel.kernelParams = arguments;
    OK(cudaGraphAddNode(&kernel, graph, nullptr, nullptr, 0, &launch));
    home.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(memory, 4, 4, 1);
    home.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(&got, 4, 4, 1);
    home.memcpy.copyParams.extent = make_cudaExtent(4, 1, 1);
    home.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
    OK(cudaGraphAddNode(&copy, graph, &kernel, nullptr, 1, &home));
    OK(cudaGraphNodeGetParams(kernel, &told));
    printf("kernel %d %d %u %d\n", told.type, told.kernel.func == (void *)set, told.kernel.gridDim.x, *(int *)told.kernel.kernelParams[1]);
    // What is told can be given again.
    OK(cudaGraphAddNode(&node, graph, &kernel, nullptr, 1, &told));
    OK(cudaGraphNodeGetParams(copy, &told));
    printf("copy %d %d %d %zu\n", told.type, told.memcpy.copyParams.srcPtr.ptr == memory,
           told.memcpy.copyParams.kind == cudaMemcpyDeviceToHost, told.memcpy.copyParams.extent.width);
    cudaGraphExec_t ready;
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphLaunch(ready, nullptr));
    OK(cudaDeviceSynchronize());
    printf("got %d, %s\n", got, cudaGetErrorName(cudaGraphNodeGetParams(nullptr, &told)));
    // One that no node uses: such a graph cannot be launched.
    cudaGraphConditionalHandle handle = 0;
    printf("%s\n", cudaGetErrorName(cudaGraphConditionalHandleCreate_v2(&handle, graph, nullptr, 1, cudaGraphCondAssignDefault)));
}

static void copies(int *memory) {
    cudaStream_t stream;
    int value = 11, got[2] = {};
    OK(cudaStreamCreate(&stream));
    cudaMemcpyAttributes how = {cudaMemcpySrcAccessOrderDuringApiCall};
    OK(cudaMemcpyWithAttributesAsync(memory, &value, 4, &how, stream));
    value = 12;
    cudaMemcpy3DBatchOp box = {};
    box.src.type = box.dst.type = cudaMemcpyOperandTypePointer;
    box.src.op.ptr.ptr = memory;
    box.src.op.ptr.locHint.type = cudaMemLocationTypeDevice;
    box.dst.op.ptr.ptr = got;
    box.dst.op.ptr.locHint.type = cudaMemLocationTypeHost;
    box.extent = make_cudaExtent(4, 1, 1);
    box.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpy3DWithAttributesAsync(&box, 0, stream));
    OK(cudaStreamSynchronize(stream));
    printf("copied %d, %s\n", got[0], cudaGetErrorName(cudaMemcpyWithAttributesAsync(memory, &value, 4, nullptr, stream)));
}

static void contexts(int *memory) {
    ExecutionContext context = nullptr;
    CUcontext current;
    cudaStream_t stream;
    cudaEvent_t event;
    int device = 9, got = 0;
    unsigned long long id = 0, same = 0;
    OK(cudaDeviceGetExecutionCtx(&context, 0));
    OK(cudaExecutionCtxGetDevice(&device, context));
    OK(cudaExecutionCtxGetId(context, &id));
    cuCtxGetCurrent(&current);
    cuCtxGetId(current, &same);
    printf("device %d, %d\n", device, id == same);
    OK(cudaExecutionCtxStreamCreate(&stream, context, cudaStreamNonBlocking, 0));
    OK(cudaEventCreate(&event));
    set<<<1, 1, 0, stream>>>(memory, 21);
    OK(cudaExecutionCtxRecordEvent(context, event));
    OK(cudaExecutionCtxWaitEvent(context, event));
    OK(cudaExecutionCtxSynchronize(context));
    OK(cudaMemcpy(&got, memory, 4, cudaMemcpyDeviceToHost));
    printf("context %d, %s\n", got, cudaGetErrorName(cudaExecutionCtxDestroy(context)));
    printf("%s\n", cudaGetErrorName(cudaExecutionCtxSynchronize(nullptr)));
}

static void resets() {
    int value = 0;
    cudaStream_t stream;
    change<<<1, 1>>>(9);
    OK(cudaDeviceSynchronize());
    cuDevicePrimaryCtxReset(0);
    OK(cudaMemcpyFromSymbol(&value, number, 4));
    printf("number %d", value);
    cuDevicePrimaryCtxReset(0);
    OK(cudaStreamCreate(&stream));
    change<<<1, 1, 0, stream>>>(13);
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpyFromSymbol(&value, number, 4));
    printf(" %d", value);
    cuDevicePrimaryCtxReset(0);
    OK(cudaSetDevice(0));
    change<<<1, 1>>>(17);
    OK(cudaMemcpyFromSymbol(&value, number, 4));
    printf(" %d\n", value);
}

int main() {
    int *memory;
    OK(cudaMalloc(&memory, 16));
    nodes(memory);
    copies(memory);
    contexts(memory);
    resets();
    return 0;
}
//= kernel 0 1 1 3
//= copy 1 1 1 4
//= got 3, cudaErrorInvalidValue
//= cudaSuccess
//= copied 11, cudaErrorInvalidValue
//= device 0, 1
//= context 21, cudaErrorInvalidResourceHandle
//= cudaErrorInvalidResourceHandle
//= number 5 13 17
