// Escape times in double precision, a pixel per thread: a loop whose trips differ between neighbours.
extern "C" __global__ void mandel_double(int* out, int w, int h, double x0, double y0, double dx, double dy,
                                         int max_iter) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= w || py >= h) return;
  double cx = x0 + dx * px, cy = y0 + dy * py;
  double x = 0.0, y = 0.0;
  int it = 0;
  while (it < max_iter) {
    double xx = x * x, yy = y * y;
    if (xx + yy > 4.0) break;
    y = 2.0 * x * y + cy;
    x = xx - yy + cx;
    ++it;
  }
  out[py * w + px] = it;
}
