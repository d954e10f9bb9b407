// y = A*x, CSR, a row per warp, summed up by shuffles.
extern "C" __global__ void spmv_warp(int rows, const int* __restrict__ ptr, const int* __restrict__ col,
                                     const float* __restrict__ val, const float* __restrict__ x,
                                     float* __restrict__ y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (row >= rows) return;
  float s = 0.0f;
  for (int j = ptr[row] + lane; j < ptr[row + 1]; j += 32) s += val[j] * x[col[j]];
  for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
  if (lane == 0) y[row] = s;
}
