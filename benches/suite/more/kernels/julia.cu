// A picture of a Julia set, a pixel per thread, complex numbers as a struct with operators.
struct Complex {
  float r, i;
  __device__ Complex(float r, float i) : r(r), i(i) {}
  __device__ float magnitude2() const { return r * r + i * i; }
  __device__ Complex operator*(const Complex& a) const { return Complex(r * a.r - i * a.i, i * a.r + r * a.i); }
  __device__ Complex operator+(const Complex& a) const { return Complex(r + a.r, i + a.i); }
};
static __device__ int inside(int x, int y, int n) {
  const float scale = 1.5f;
  Complex a(scale * (float)(n / 2 - x) / (n / 2), scale * (float)(n / 2 - y) / (n / 2));
  Complex c(-0.8f, 0.156f);
  for (int i = 0; i < 200; ++i) {
    a = a * a + c;
    if (a.magnitude2() > 1000) return 0;
  }
  return 1;
}
extern "C" __global__ void julia(unsigned char* pixels, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  unsigned char* p = pixels + 4 * (y * n + x);
  p[0] = 255 * inside(x, y, n);
  p[1] = 0;
  p[2] = 0;
  p[3] = 255;
}
