// Memory, streams, events, arrays and graphs cross between the two interfaces.
#include "show.h"

__global__ void add(int *numbers, int value) { numbers[threadIdx.x] += value; }

int main() {
    OK(cudaFree(nullptr));
    int host[64], *numbers = zeros<int>(64);
    CUdeviceptr address;
    CALL(cuMemAlloc(&address, sizeof host));
    CALL(cudaMemset((void *)address, 1, sizeof host));
    CALL(cuMemcpyDtoD((CUdeviceptr)numbers, address, sizeof host));
    SHOW(at(numbers, 63) == 0x01010101);
    CALL(cudaFree((void *)address));
    CALL(cuMemFree((CUdeviceptr)numbers));
    LAST();
    numbers = zeros<int>(64);
    CUstream stream;
    cudaStream_t other;
    CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(cudaStreamCreate(&other));
    add<<<1, 64, 0, stream>>>(numbers, 5);
    CUevent event;
    cudaEvent_t second;
    CALL(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CALL(cudaEventCreate(&second));
    CALL(cudaEventRecord(event, stream));
    CALL(cuStreamWaitEvent(other, event, 0));
    add<<<1, 64, 0, other>>>(numbers, 7);
    CALL(cuEventRecord(second, other));
    CALL(cudaEventSynchronize(second));
    CALL(cuMemcpyDtoH(host, (CUdeviceptr)numbers, sizeof host));
    SHOW(host[63]);
    unsigned flags = 9;
    CALL(cudaStreamGetFlags(stream, &flags));
    SHOW(flags);
    CALL(cuStreamGetFlags(other, &flags));
    SHOW(flags);
    CALL(cudaStreamDestroy(stream));
    CALL(cuStreamDestroy(other));
    CALL(cuEventDestroy(second));
    CALL(cudaEventDestroy(event));
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
    CALL(cudaMallocArray(&array, &format, 16, 4));
    CUDA_ARRAY_DESCRIPTOR shape;
    CALL(cuArrayGetDescriptor(&shape, (CUarray)array));
    SHOW(shape.Width);
    SHOW(shape.Height);
    SHOW(shape.Format);
    SHOW(shape.NumChannels);
    CALL(cuArrayDestroy((CUarray)array));
    CUarray made;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 4;
    CALL(cuArrayCreate(&made, &shape));
    cudaExtent extent;
    CALL(cudaArrayGetInfo(&format, &extent, &flags, (cudaArray_t)made));
    SHOW(format.x * 10 + format.f);
    SHOW(extent.width);
    CALL(cudaFreeArray((cudaArray_t)made));
    CUgraph graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t node;
    CALL(cuGraphCreate(&graph, 0));
    CALL(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cuGraphLaunch(ready, nullptr));
    CALL(cuGraphExecDestroy(ready));
    CALL(cudaGraphDestroy(graph));
    CUmemoryPool pool;
    cudaMemPool_t same;
    CALL(cuDeviceGetDefaultMemPool(&pool, 0));
    CALL(cudaDeviceGetDefaultMemPool(&same, 0));
    SHOW(pool == same);
    LAST();
    return 0;
}
