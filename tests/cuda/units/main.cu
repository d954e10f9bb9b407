// Two translation units, each with its own fat binary and variables of the same name; a template in both.
//= here 1 there 2
//= twice 10 20
#include "../check.h"
#include "twice.h"
static __device__ int own = 1;
static __global__ void get(int *out) { *out = own; }
int there(int *p);
int twice_there(int *p);
int main() {
    int *p, a = 0, b = 0; OK(cudaMalloc(&p, 4));
    get<<<1, 1>>>(p); OK(cudaMemcpy(&a, p, 4, cudaMemcpyDefault));
    b = there(p); printf("here %d there %d\n", a, b);
    twice<int><<<1, 1>>>(p, 5); OK(cudaMemcpy(&a, p, 4, cudaMemcpyDefault)); printf("twice %d %d\n", a, twice_there(p));
}
