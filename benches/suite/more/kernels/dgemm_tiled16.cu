// C = A*B in double precision through 16x16 shared-memory tiles. M, N and K are multiples of 16.
#define TS 16
extern "C" __global__ void dgemm_tiled16(int M, int N, int K, const double* __restrict__ A,
                                         const double* __restrict__ B, double* __restrict__ C) {
  __shared__ double As[TS][TS];
  __shared__ double Bs[TS][TS];
  int tx = threadIdx.x, ty = threadIdx.y;
  int col = blockIdx.x * TS + tx;
  int row = blockIdx.y * TS + ty;
  double acc = 0.0;
  for (int t = 0; t < K; t += TS) {
    As[ty][tx] = A[row * K + t + tx];
    Bs[ty][tx] = B[(t + ty) * N + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TS; ++k) acc += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  C[row * N + col] = acc;
}
