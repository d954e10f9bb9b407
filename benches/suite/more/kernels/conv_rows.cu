// The row pass of a separable convolution with 17 taps: eight outputs per thread, the row with a halo in shared memory.
#define RADIUS 8
#define BX 16
#define BY 4
#define STEPS 8
#define HALO 1
__constant__ float row_filter[2 * RADIUS + 1];
extern "C" __global__ void conv_rows(float* dst, const float* src, int w, int pitch) {
  __shared__ float s[BY][(STEPS + 2 * HALO) * BX];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = (blockIdx.x * STEPS - HALO) * BX + tx;
  int y = blockIdx.y * BY + ty;
  src += y * pitch + x;
  dst += y * pitch + x;
#pragma unroll
  for (int i = HALO; i < HALO + STEPS; ++i) s[ty][tx + i * BX] = src[i * BX];
#pragma unroll
  for (int i = 0; i < HALO; ++i) s[ty][tx + i * BX] = x >= -i * BX ? src[i * BX] : 0.0f;
#pragma unroll
  for (int i = HALO + STEPS; i < HALO + STEPS + HALO; ++i) s[ty][tx + i * BX] = w - x > i * BX ? src[i * BX] : 0.0f;
  __syncthreads();
#pragma unroll
  for (int i = HALO; i < HALO + STEPS; ++i) {
    float sum = 0.0f;
#pragma unroll
    for (int j = -RADIUS; j <= RADIUS; ++j) sum += row_filter[RADIUS - j] * s[ty][tx + i * BX + j];
    dst[i * BX] = sum;
  }
}
