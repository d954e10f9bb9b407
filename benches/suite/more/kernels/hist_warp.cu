// 256-bin byte histogram: bins in shared memory for each warp, merged with global atomics.
#define WARPS 8
extern "C" __global__ void hist_warp(const unsigned char* __restrict__ data, unsigned* __restrict__ hist, int n) {
  __shared__ unsigned bins[WARPS * 256];
  for (int i = threadIdx.x; i < WARPS * 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  unsigned* mine = bins + (threadIdx.x >> 5) * 256;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[data[i]], 1u);
  __syncthreads();
  unsigned sum = 0;
  for (int k = 0; k < WARPS; ++k) sum += bins[k * 256 + threadIdx.x];
  atomicAdd(&hist[threadIdx.x], sum);
}
