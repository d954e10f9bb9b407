#include "../check.h"
#include "twice.h"
static __device__ int own = 2;
static __global__ void get(int *out) { *out = own; }
int there(int *p) { int v = 0; get<<<1, 1>>>(p); OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault)); return v; }
int twice_there(int *p) { int v = 0; twice<int><<<1, 1>>>(p, 10); OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault)); return v; }
