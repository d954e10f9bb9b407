// y = A*x, a row per thread.
extern "C" __global__ void gemv_thread(const float* A, const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0.0f;
  for (int c = 0; c < cols; ++c) s += A[row * cols + c] * x[c];
  y[row] = s;
}
