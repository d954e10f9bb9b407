// Sorts 32 keys in each warp, a bitonic sort by shuffles.
extern "C" __global__ void bitonic_warp(const int* __restrict__ in, int* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  int v = in[i];
#pragma unroll
  for (int k = 2; k <= 32; k <<= 1) {
#pragma unroll
    for (int j = k >> 1; j > 0; j >>= 1) {
      int u = __shfl_xor_sync(0xffffffffu, v, j);
      bool up = (lane & k) == 0;
      bool low = (lane & j) == 0;
      v = low == up ? min(v, u) : max(v, u);
    }
  }
  out[i] = v;
}
