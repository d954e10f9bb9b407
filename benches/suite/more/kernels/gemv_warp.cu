// y = A*x, a row per warp, summed up by shuffles.
extern "C" __global__ void gemv_warp(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y,
                                     int rows, int cols) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float s = 0.0f;
  for (int c = lane; c < cols; c += 32) s += A[(size_t)row * cols + c] * x[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (lane == 0) y[row] = s;
}
