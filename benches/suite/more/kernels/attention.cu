// Attention with one head of 32 dimensions: a query per thread, keys and values by tiles in shared memory,
// the softmax kept up as they come.
#define D 32
#define TILE 32
extern "C" __global__ void attention(const float* __restrict__ Q, const float* __restrict__ K,
                                     const float* __restrict__ V, float* __restrict__ O, int keys, float scale) {
  __shared__ float Ks[TILE][D];
  __shared__ float Vs[TILE][D];
  int query = blockIdx.x * blockDim.x + threadIdx.x;
  float q[D];
  float acc[D];
#pragma unroll
  for (int d = 0; d < D; ++d) {
    q[d] = Q[query * D + d] * scale;
    acc[d] = 0.0f;
  }
  float largest = -1e30f;
  float sum = 0.0f;
  for (int t = 0; t < keys; t += TILE) {
    __syncthreads();
    for (int e = threadIdx.x; e < TILE * D; e += blockDim.x) {
      Ks[e / D][e % D] = K[t * D + e];
      Vs[e / D][e % D] = V[t * D + e];
    }
    __syncthreads();
    for (int j = 0; j < TILE; ++j) {
      float s = 0.0f;
#pragma unroll
      for (int d = 0; d < D; ++d) s += q[d] * Ks[j][d];
      float next = fmaxf(largest, s);
      float correction = expf(largest - next);
      float p = expf(s - next);
      sum = sum * correction + p;
#pragma unroll
      for (int d = 0; d < D; ++d) acc[d] = acc[d] * correction + p * Vs[j][d];
      largest = next;
    }
  }
  float inv = 1.0f / sum;
#pragma unroll
  for (int d = 0; d < D; ++d) O[query * D + d] = acc[d] * inv;
}
