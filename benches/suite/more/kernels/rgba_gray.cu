// Grey from colours, four bytes to one, a pixel per thread.
extern "C" __global__ void rgba_gray(const uchar4* in, unsigned char* out, int rows, int cols) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  uchar4 p = in[y * cols + x];
  out[y * cols + x] = (unsigned char)(0.299f * p.x + 0.587f * p.y + 0.114f * p.z);
}
