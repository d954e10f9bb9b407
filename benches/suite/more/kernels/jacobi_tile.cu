// One Jacobi step inside the borders, 16x16 tiles with a halo in shared memory.
#define TS 16
extern "C" __global__ void jacobi_tile(const float* __restrict__ in, float* __restrict__ out, int w, int h) {
  __shared__ float t[TS + 2][TS + 2];
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int x = blockIdx.x * TS + tx;
  int y = blockIdx.y * TS + ty;
  if (x < w && y < h) {
    t[ty][tx] = in[y * w + x];
    if (tx == 1) t[ty][0] = in[y * w + x - 1];
    if (ty == 1) t[0][tx] = in[(y - 1) * w + x];
    if (tx == TS && x + 1 < w) t[ty][TS + 1] = in[y * w + x + 1];
    if (ty == TS && y + 1 < h) t[TS + 1][tx] = in[(y + 1) * w + x];
  }
  __syncthreads();
  if (x < w - 1 && y < h - 1) out[y * w + x] = 0.25f * (t[ty][tx - 1] + t[ty][tx + 1] + t[ty - 1][tx] + t[ty + 1][tx]);
}
