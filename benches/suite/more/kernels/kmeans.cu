// The nearest of 16 centres in constant memory for points of eight dimensions, a point per thread.
#define CENTRES 16
#define DIMS 8
__constant__ float centres[CENTRES * DIMS];
extern "C" __global__ void kmeans(const float* __restrict__ x, int* __restrict__ label, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 1e30f;
  int nearest = 0;
  for (int c = 0; c < CENTRES; ++c) {
    float distance = 0.0f;
#pragma unroll
    for (int k = 0; k < DIMS; ++k) {
      float t = x[k * n + i] - centres[c * DIMS + k];
      distance += t * t;
    }
    if (distance < best) {
      best = distance;
      nearest = c;
    }
  }
  label[i] = nearest;
}
