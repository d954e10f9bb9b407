// Layer normalisation, a CTA for each row, warp shuffles, then one shared slot per warp that all threads add up.
#define WARPS 8
static __device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}
extern "C" __global__ void layernorm_shfl(const float* __restrict__ in, float* __restrict__ out,
                                          const float* __restrict__ gain, const float* __restrict__ bias, int cols) {
  __shared__ float sums[WARPS];
  __shared__ float squares[WARPS];
  int t = threadIdx.x;
  int lane = t & 31, warp = t >> 5;
  const float* x = in + (size_t)blockIdx.x * cols;
  float* y = out + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  float square = 0.0f;
  for (int c = t; c < cols; c += WARPS * 32) {
    float v = x[c];
    sum += v;
    square += v * v;
  }
  sum = warp_sum(sum);
  square = warp_sum(square);
  if (lane == 0) {
    sums[warp] = sum;
    squares[warp] = square;
  }
  __syncthreads();
  sum = 0.0f;
  square = 0.0f;
#pragma unroll
  for (int i = 0; i < WARPS; ++i) {
    sum += sums[i];
    square += squares[i];
  }
  float mean = sum / cols;
  float variance = square / cols - mean * mean;
  float inv = rsqrtf(variance + 1e-5f);
  for (int c = t; c < cols; c += WARPS * 32) y[c] = (x[c] - mean) * inv * gain[c] + bias[c];
}
