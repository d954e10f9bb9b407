// The kernels of matrix_mul_drv.c: each CTA computes one tile, and gets those that it needs through dynamic shared memory.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

extern __shared__ float tiles[];

template <int size>
__device__ void multiply(float* c, const float* a, const float* b, int width_a, int width_b) {
  float* tile_a = tiles;
  float* tile_b = tiles + size * size;
  int x = __nvvm_read_ptx_sreg_tid_x(), y = __nvvm_read_ptx_sreg_tid_y();
  int row = size * __nvvm_read_ptx_sreg_ctaid_y() + y, column = size * __nvvm_read_ptx_sreg_ctaid_x() + x;
  float sum = 0;
  for (int start = 0; start < width_a; start += size) {
    tile_a[y * size + x] = a[row * width_a + start + x];
    tile_b[y * size + x] = b[(start + y) * width_b + column];
    __nvvm_bar_sync(0);
    for (int k = 0; k < size; k++) sum += tile_a[y * size + k] * tile_b[k * size + x];
    __nvvm_bar_sync(0);
  }
  c[row * width_b + column] = sum;
}

extern "C" __global__ void matrixMul_8(float* c, const float* a, const float* b, int width_a, int width_b) {
  multiply<8>(c, a, b, width_a, width_b);
}

extern "C" __global__ void matrixMul_32(float* c, const float* a, const float* b, int width_a, int width_b) {
  multiply<32>(c, a, b, width_a, width_b);
}
