// The sum of two vectors, as a newcomer writes it.
#include <cstdio>
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

#define CHECK(call)                                              \
  if (cudaError_t error = (call)) {                              \
    printf("%.*s: %s\n", name_length(#call), #call, cudaGetErrorString(error)); \
    return 1;                                                    \
  }

static int name_length(const char *call) {
  int length = 0;
  while (call[length] && call[length] != '(') ++length;
  return length;
}

int main() {
  const int n = 100000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 2 * i;
  float *x, *y, *z;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  CHECK(cudaMalloc(&z, n * sizeof(float)));
  CHECK(cudaMemcpy(x, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(y, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(x, y, z, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c.data(), z, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) {
    if (c[i] != 3.0f * i) {
      printf("element %d is %g\n", i, c[i]);
      return 1;
    }
  }
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  CHECK(cudaFree(z));
  printf("%d sums are right\n", n);
  return 0;
}
