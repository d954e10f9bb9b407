// The part of a program that is assembled: it calls a function of optimized.cu, which calls one of these.
#include <cstdio>

__device__ int twice(int value);
__device__ int increased(int value) { return value + 1; }
__global__ void compute(int *value);
__global__ void assembled(int *value) { *value = twice(*value) + 1; }

int main() {
  int *place, value = 5;
  cudaMalloc(&place, sizeof *place);
  cudaMemcpy(place, &value, sizeof value, cudaMemcpyHostToDevice);
  assembled<<<1, 1>>>(place);
  compute<<<1, 1>>>(place);
  cudaMemcpy(&value, place, sizeof value, cudaMemcpyDeviceToHost);
  cudaFree(place);
  printf("%d %s\n", value, cudaGetErrorString(cudaGetLastError()));
  // (5 * 2 + 1 + 1) * 3 + 1
  return value != 37;
}
