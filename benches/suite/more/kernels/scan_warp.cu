// Inclusive prefix sums of 256 elements in each CTA: shuffles, then a scan of the warps' sums by the first warp.
#define WARPS 8
extern "C" __global__ void scan_warp(const int* __restrict__ in, int* __restrict__ out, int n) {
  __shared__ int warps[WARPS];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = i < n ? in[i] : 0;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int u = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += u;
  }
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < WARPS ? warps[lane] : 0;
#pragma unroll
    for (int d = 1; d < WARPS; d <<= 1) {
      int u = __shfl_up_sync(0xffffffffu, s, d);
      if (lane >= d) s += u;
    }
    if (lane < WARPS) warps[lane] = s;
  }
  __syncthreads();
  if (warp > 0) v += warps[warp - 1];
  if (i < n) out[i] = v;
}
