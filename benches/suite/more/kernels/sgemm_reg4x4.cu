// C = A*B, 256 threads per CTA, a 64x64 output tile, 4x4 outputs per thread in registers.
// M and N are multiples of 64, K of 16.
#define TS 64
#define KS 16
extern "C" __global__ void __launch_bounds__(256)
    sgemm_reg4x4(int M, int N, int K, const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {
  __shared__ float As[KS][TS];
  __shared__ float Bs[KS][TS];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int row0 = blockIdx.y * TS;
  int col0 = blockIdx.x * TS;
  float acc[4][4] = {};
  for (int t = 0; t < K; t += KS) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int e = threadIdx.x + i * 256;
      As[e % KS][e / KS] = A[(row0 + e / KS) * K + t + e % KS];
      Bs[e / TS][e % TS] = B[(t + e / TS) * N + col0 + e % TS];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KS; ++k) {
      float a[4];
      float b[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = As[k][ty * 4 + i];
        b[i] = Bs[k][tx * 4 + i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) C[(row0 + ty * 4 + i) * N + col0 + tx * 4 + j] = acc[i][j];
  }
}
