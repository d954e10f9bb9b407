__device__ int table[8] = {0, 10, 20, 30, 40};
__constant__ float factor = 2.5f;
static __device__ int hidden(int value) { return value + table[1]; }
__device__ int elsewhere(int value) { return hidden(value) * 2; }
__global__ void kernel_elsewhere(int *out) { *out = table[3] + elsewhere(1); }
