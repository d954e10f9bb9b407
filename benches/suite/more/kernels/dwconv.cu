// Depthwise 3x3 convolution, zeros around: a pixel per thread, a channel per plane of the grid.
extern "C" __global__ void dwconv(const float* __restrict__ in, const float* __restrict__ weights,
                                  float* __restrict__ out, int H, int W) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int channel = blockIdx.z;
  if (x >= W || y >= H) return;
  const float* plane = in + (size_t)channel * H * W;
  const float* k = weights + channel * 9;
  float s = 0.0f;
#pragma unroll
  for (int i = -1; i <= 1; ++i) {
#pragma unroll
    for (int j = -1; j <= 1; ++j) {
      int yy = y + i, xx = x + j;
      if (yy >= 0 && yy < H && xx >= 0 && xx < W) s += plane[yy * W + xx] * k[(i + 1) * 3 + j + 1];
    }
  }
  out[(size_t)channel * H * W + y * W + x] = s;
}
