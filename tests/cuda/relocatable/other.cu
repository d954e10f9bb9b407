__device__ int shared_value = 5;
__device__ int square(int v) { return v * v; }
