// All pairs in double precision, a body per thread, straight from global memory.
extern "C" __global__ void nbody_double(const double* __restrict__ px, const double* __restrict__ py,
                                        const double* __restrict__ pz, const double* __restrict__ mass,
                                        double* __restrict__ ax, double* __restrict__ ay, double* __restrict__ az,
                                        int n, double eps2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = px[i], y = py[i], z = pz[i];
  double fx = 0.0, fy = 0.0, fz = 0.0;
  for (int j = 0; j < n; ++j) {
    double dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    double d2 = dx * dx + dy * dy + dz * dz + eps2;
    double s = mass[j] / (d2 * sqrt(d2));
    fx += dx * s;
    fy += dy * s;
    fz += dz * s;
  }
  ax[i] = fx;
  ay[i] = fy;
  az[i] = fz;
}
