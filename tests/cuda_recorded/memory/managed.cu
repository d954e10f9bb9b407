// Managed memory and managed variables: one address for host and device.
#include "show.h"

__managed__ int shared_number = 11;
__managed__ float list[4] = {1, 2, 3, 4};
__global__ void change(int *numbers) {
    numbers[threadIdx.x] += shared_number;
    if (threadIdx.x < 4) list[threadIdx.x] *= 2;
}
__global__ void set() { shared_number = 100; }

int main() {
    SHOW(shared_number);
    int *numbers = nullptr, *attached = nullptr;
    CALL(cudaMallocManaged(&numbers, 64 * sizeof(int)));
    CALL(cudaMallocManaged(&attached, 64, cudaMemAttachHost));
    for (int index = 0; index < 64; index++) numbers[index] = index;
    change<<<1, 64>>>(numbers);
    set<<<1, 1>>>();
    CALL(cudaDeviceSynchronize());
    SHOW(numbers[63]);
    SHOW(shared_number);
    SHOW(list[3]);
    shared_number = 1;
    change<<<1, 64>>>(numbers);
    CALL(cudaDeviceSynchronize());
    SHOW(numbers[63]);
    int value = 50;
    CALL(cudaMemcpyToSymbol(shared_number, &value, sizeof value));
    SHOW(shared_number);
    void *address = nullptr;
    CALL(cudaGetSymbolAddress(&address, shared_number));
    SHOW(address == &shared_number);
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, numbers));
    SHOW(attributes.type);
    SHOW(attributes.devicePointer == numbers && attributes.hostPointer == numbers);
    CALL(cudaPointerGetAttributes(&attributes, &shared_number));
    SHOW(attributes.type);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    CALL(cudaStreamAttachMemAsync(stream, attached, 0, cudaMemAttachSingle));
    CALL(cudaStreamAttachMemAsync(stream, numbers, 0, 0x40));
    CALL(cudaStreamSynchronize(stream));
#if CUDART_VERSION >= 13000
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
#define ADVISE(advice, location) cudaMemAdvise(numbers, 256, advice, location)
#define PREFETCH(location) cudaMemPrefetchAsync(numbers, 256, location, 0, stream)
#else
    int device = 0, host = cudaCpuDeviceId;
#define ADVISE(advice, location) cudaMemAdvise(numbers, 256, advice, location)
#define PREFETCH(location) cudaMemPrefetchAsync(numbers, 256, location, stream)
#endif
    CALL(PREFETCH(device));
    CALL(PREFETCH(host));
    CALL(ADVISE(cudaMemAdviseSetReadMostly, device));
    int mostly = -1;
    CALL(cudaMemRangeGetAttribute(&mostly, sizeof mostly, cudaMemRangeAttributeReadMostly, numbers, 256));
    SHOW(mostly);
    CALL(ADVISE(cudaMemAdviseUnsetReadMostly, device));
    CALL(ADVISE(cudaMemAdviseSetPreferredLocation, host));
    CALL(ADVISE((cudaMemoryAdvise)99, host));
    CALL(cudaStreamSynchronize(stream));
    SHOW(numbers[63]);
    CALL(cudaFree(numbers));
    CALL(cudaFree(attached));
    LAST();
    return 0;
}
