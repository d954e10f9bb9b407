// Variables: global, constant, managed, of arrays and structures; addresses and sizes.
//= counter 7
//= counter 50
//= table 3 9
//= sizes 4 64 16
//= kernel 121
//= managed 11
//= managed 111
//= managed copy 5
//= address 1
//= cudaErrorInvalidSymbol
//= cudaErrorInvalidValue
//= cudaErrorInvalidMemcpyDirection
#include "check.h"

__device__ int counter = 7;
__device__ int table[16];
__constant__ float scale[4] = {1, 2, 3, 4};
__managed__ int shared_number = 11;
__global__ void use(int *out) { *out = counter + (int)scale[3] * 15 + shared_number; }
__global__ void raise() { shared_number += 100; }
static int not_on_the_device;

int main() {
    int v = 0, *p, t[2] = {3, 9};
    OK(cudaMemcpyFromSymbol(&v, counter, 4)); printf("counter %d\n", v);
    v = 50; OK(cudaMemcpyToSymbol(counter, &v, 4)); v = 0; OK(cudaMemcpyFromSymbol(&v, counter, 4)); printf("counter %d\n", v);
    OK(cudaMemcpyToSymbol(table, t, 8, 16)); t[0] = t[1] = 0; OK(cudaMemcpyFromSymbol(t, table, 8, 16)); printf("table %d %d\n", t[0], t[1]);
    size_t a, b, c; OK(cudaGetSymbolSize(&a, counter)); OK(cudaGetSymbolSize(&b, table)); OK(cudaGetSymbolSize(&c, scale)); printf("sizes %zu %zu %zu\n", a, b, c);
    OK(cudaMalloc(&p, 4)); use<<<1, 1>>>(p); OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault)); printf("kernel %d\n", v);
    printf("managed %d\n", shared_number); raise<<<1, 1>>>(); OK(cudaDeviceSynchronize()); printf("managed %d\n", shared_number);
    v = 5; OK(cudaMemcpyToSymbol(shared_number, &v, 4)); printf("managed copy %d\n", shared_number);
    int *address; OK(cudaGetSymbolAddress((void **)&address, counter)); cudaPointerAttributes at; OK(cudaPointerGetAttributes(&at, address)); printf("address %d\n", at.type == cudaMemoryTypeDevice);
    TELL(cudaMemcpyToSymbol(not_on_the_device, &v, 4)); TELL(cudaMemcpyToSymbol(counter, &v, 4, 1)); TELL(cudaMemcpyToSymbol(counter, &v, 4, 0, cudaMemcpyDeviceToHost));
}
