// 2x2 maximum pooling, an output per thread, its place found from the thread's number by division.
extern "C" __global__ void maxpool(const float* __restrict__ in, float* __restrict__ out, int n, int H, int W, int oh,
                                   int ow) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = i % ow;
  int y = i / ow % oh;
  int channel = i / ow / oh;
  const float* plane = in + (size_t)channel * H * W;
  float m = -3.4e38f;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) m = fmaxf(m, plane[(y * 2 + dy) * W + x * 2 + dx]);
  }
  out[i] = m;
}
