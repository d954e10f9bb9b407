// The part of a program that is optimised when it is linked: see mixed.cu.
__device__ int increased(int value);
__device__ int twice(int value) { return 2 * value; }
__global__ void compute(int *value) { *value = increased(3 * increased(*value)); }
