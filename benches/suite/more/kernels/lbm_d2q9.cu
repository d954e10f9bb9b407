// One step of a lattice Boltzmann method (D2Q9, BGK, periodic), a cell per thread, nine planes read and written.
static __device__ __forceinline__ float equilibrium(float weight, float cu, float u2) {
  return weight * (1.0f + 3.0f * cu + 4.5f * cu * cu - u2);
}
extern "C" __global__ void lbm_d2q9(const float* __restrict__ f, float* __restrict__ g, int nx, int ny, float omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= nx) return;
  int left = x == 0 ? nx - 1 : x - 1;
  int right = x == nx - 1 ? 0 : x + 1;
  int below = y == 0 ? ny - 1 : y - 1;
  int above = y == ny - 1 ? 0 : y + 1;
  int n = nx * ny;
  int i = y * nx + x;
  float f0 = f[i];
  float f1 = f[n + y * nx + left];
  float f2 = f[2 * n + below * nx + x];
  float f3 = f[3 * n + y * nx + right];
  float f4 = f[4 * n + above * nx + x];
  float f5 = f[5 * n + below * nx + left];
  float f6 = f[6 * n + below * nx + right];
  float f7 = f[7 * n + above * nx + right];
  float f8 = f[8 * n + above * nx + left];
  float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
  float inv = 1.0f / rho;
  float ux = (f1 + f5 + f8 - f3 - f6 - f7) * inv;
  float uy = (f2 + f5 + f6 - f4 - f7 - f8) * inv;
  float u2 = 1.5f * (ux * ux + uy * uy);
  float w0 = rho * 4.0f / 9.0f;
  float w1 = rho / 9.0f;
  float w2 = rho / 36.0f;
  g[i] = f0 + omega * (equilibrium(w0, 0.0f, u2) - f0);
  g[n + i] = f1 + omega * (equilibrium(w1, ux, u2) - f1);
  g[2 * n + i] = f2 + omega * (equilibrium(w1, uy, u2) - f2);
  g[3 * n + i] = f3 + omega * (equilibrium(w1, -ux, u2) - f3);
  g[4 * n + i] = f4 + omega * (equilibrium(w1, -uy, u2) - f4);
  g[5 * n + i] = f5 + omega * (equilibrium(w2, ux + uy, u2) - f5);
  g[6 * n + i] = f6 + omega * (equilibrium(w2, uy - ux, u2) - f6);
  g[7 * n + i] = f7 + omega * (equilibrium(w2, -ux - uy, u2) - f7);
  g[8 * n + i] = f8 + omega * (equilibrium(w2, ux - uy, u2) - f8);
}
