// C = A*B^T of bytes, four along k to a word, through 16x16 shared-memory tiles. M, N and K / 4 are multiples of 16.
#define TS 16
extern "C" __global__ void gemm_dp4a(int M, int N, int K4, const int* __restrict__ A, const int* __restrict__ B,
                                     int* __restrict__ C) {
  __shared__ int As[TS][TS + 1];
  __shared__ int Bs[TS][TS + 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TS + ty;
  int col = blockIdx.x * TS + tx;
  int acc = 0;
  for (int t = 0; t < K4; t += TS) {
    As[ty][tx] = A[row * K4 + t + tx];
    Bs[ty][tx] = B[(blockIdx.x * TS + ty) * K4 + t + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TS; ++k) acc = __dp4a(As[ty][k], Bs[tx][k], acc);
    __syncthreads();
  }
  C[row * N + col] = acc;
}
