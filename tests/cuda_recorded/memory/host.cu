// Pinned, mapped and registered memory of the host.
#include "show.h"
#include <sys/mman.h>

__global__ void add(int *numbers, int value) { numbers[threadIdx.x] += value; }

int main() {
    int *pinned = nullptr, *mapped = nullptr, *seen = nullptr;
    unsigned flags = 0;
    CALL(cudaMallocHost(&pinned, 256));
    CALL(cudaHostGetFlags(&flags, pinned));
    SHOW(flags);
    CALL(cudaHostAlloc(&mapped, 256, cudaHostAllocMapped | cudaHostAllocPortable));
    memset(mapped, 0, 256);
    CALL(cudaHostGetDevicePointer(&seen, mapped, 0));
    SHOW(seen == mapped);
    CALL(cudaHostGetDevicePointer(&seen, mapped, 1));
    LAST();
    add<<<1, 64>>>(mapped, 5);
    CALL(cudaDeviceSynchronize());
    SHOW(mapped[63]);
    int *pages = (int *)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CALL(cudaHostRegister(pages, 8192, cudaHostRegisterMapped));
    CALL(cudaHostRegister(pages, 8192, cudaHostRegisterMapped));
    LAST();
    CALL(cudaHostGetDevicePointer(&seen, pages, 0));
    pages[1] = 7;
    add<<<1, 2>>>(seen, 3);
    CALL(cudaDeviceSynchronize());
    SHOW(pages[1]);
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, pages));
    SHOW(attributes.type);
    CALL(cudaHostUnregister(pages));
    CALL(cudaHostUnregister(pages));
    LAST();
    CALL(cudaPointerGetAttributes(&attributes, pages));
    SHOW(attributes.type);
    CALL(cudaHostGetFlags(&flags, pages));
    CALL(cudaHostGetDevicePointer(&seen, pages, 0));
    CALL(cudaHostRegister(nullptr, 4096, 0));
    CALL(cudaHostRegister(pages, 0, 0));
    CALL(cudaHostRegister(pages, 4096, 0x1000));
    LAST();
    CALL(cudaFreeHost(pinned));
    CALL(cudaFreeHost(pinned));
    CALL(cudaFreeHost(mapped + 1));
    CALL(cudaFree(mapped));
    LAST();
    CALL(cudaFreeHost(mapped));
    LAST();
    return 0;
}
