// Relocatable device code: a function and a variable of another unit, linked when they are first used.
//: -rdc=true
//= square 49
//= shared 5
#include "../check.h"
__device__ int square(int);
extern __device__ int shared_value;
__global__ void call(int *out, int v) { out[0] = square(v); out[1] = shared_value; }
int main() {
    int *p, h[2] = {}; OK(cudaMalloc(&p, 8)); call<<<1, 1>>>(p, 7); OK(cudaGetLastError());
    OK(cudaMemcpy(h, p, 8, cudaMemcpyDefault)); printf("square %d\nshared %d\n", h[0], h[1]);
}
