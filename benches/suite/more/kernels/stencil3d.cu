// One 7-point step inside the borders, a column of the volume per thread, three of its planes in registers.
extern "C" __global__ void stencil3d(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                                     float c0, float c1) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int plane = nx * ny;
  int i = y * nx + x;
  float below = in[i];
  float current = in[i + plane];
  for (int z = 1; z < nz - 1; ++z) {
    int k = i + z * plane;
    float above = in[k + plane];
    out[k] = c0 * current + c1 * (below + above + in[k - 1] + in[k + 1] + in[k - nx] + in[k + nx]);
    below = current;
    current = above;
  }
}
