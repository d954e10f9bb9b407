// Sums of rows, a CTA for each: warp shuffles, one shared slot per warp, which the first warp adds up.
static __device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  return v;
}
extern "C" __global__ void reduce_warp0(const float* __restrict__ in, float* __restrict__ out, int cols) {
  __shared__ float warps[32];
  int t = threadIdx.x;
  int lane = t & 31, warp = t >> 5;
  float v = 0.0f;
  for (int c = t; c < cols; c += blockDim.x) v += in[(size_t)blockIdx.x * cols + c];
  v = warp_sum(v);
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  v = t < blockDim.x / 32 ? warps[lane] : 0.0f;
  if (warp == 0) v = warp_sum(v);
  if (t == 0) out[blockIdx.x] = v;
}
