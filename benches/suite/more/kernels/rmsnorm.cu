// Normalisation by the root of the mean square, a warp for each row, four elements at a time, shuffles.
extern "C" __global__ void rmsnorm(const float4* __restrict__ in, float4* __restrict__ out,
                                   const float4* __restrict__ gain, int rows, int cols4) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  int lane = threadIdx.x & 31;
  if (row >= rows) return;
  const float4* x = in + (size_t)row * cols4;
  float4* y = out + (size_t)row * cols4;
  float s = 0.0f;
  for (int c = lane; c < cols4; c += 32) {
    float4 v = x[c];
    s += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
  float inv = rsqrtf(s / (cols4 * 4) + 1e-6f);
  for (int c = lane; c < cols4; c += 32) {
    float4 v = x[c];
    float4 k = gain[c];
    y[c] = make_float4(v.x * inv * k.x, v.y * inv * k.y, v.z * inv * k.z, v.w * inv * k.w);
  }
}
