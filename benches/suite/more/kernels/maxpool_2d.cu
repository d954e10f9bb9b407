// 2x2 maximum pooling, an output per thread, a channel per plane of the grid.
extern "C" __global__ void maxpool_2d(const float* __restrict__ in, float* __restrict__ out, int H, int W, int oh,
                                      int ow) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int channel = blockIdx.z;
  if (x >= ow || y >= oh) return;
  const float* plane = in + (size_t)channel * H * W;
  float m = -3.4e38f;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) m = fmaxf(m, plane[(y * 2 + dy) * W + x * 2 + dx]);
  }
  out[((size_t)channel * oh + y) * ow + x] = m;
}
