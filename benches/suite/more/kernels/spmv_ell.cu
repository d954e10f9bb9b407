// y = A*x, ELLPACK, a row per thread; zeros fill the rows up and are skipped.
extern "C" __global__ void spmv_ell(int rows, int width, const int* __restrict__ col, const float* __restrict__ val,
                                    const float* __restrict__ x, float* __restrict__ y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0.0f;
  for (int k = 0; k < width; ++k) {
    int c = col[k * rows + row];
    float v = val[k * rows + row];
    if (v != 0.0f) s += v * x[c];
  }
  y[row] = s;
}
