// Variables that host and device share, memory that they share, and a variable of the device that the host copies.
#include <cstdio>

__managed__ int total = 1;
__managed__ float table[4] = {1, 2, 3, 4};
__device__ int hidden = 40;

__global__ void change(int *shared) {
  atomicAdd(&total, threadIdx.x);
  if (threadIdx.x < 4) table[threadIdx.x] *= 10;
  if (threadIdx.x == 0) *shared += hidden++;
}

int main() {
  int *shared, after = 0;
  cudaError_t error = cudaMallocManaged(&shared, sizeof *shared);
  total += 1;
  if (!error) *shared = 2;
  if (!error) change<<<1, 64>>>(shared);
  if (!error) error = cudaDeviceSynchronize();
  if (!error) error = cudaMemcpyFromSymbol(&after, hidden, sizeof after);
  printf("%s: %d %d %d %g %g %g %g\n", cudaGetErrorString(error), total, error ? 0 : *shared, after, table[0], table[1], table[2], table[3]);
  return error != cudaSuccess;
}
