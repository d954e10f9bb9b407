// Dot product: grid-stride accumulation, a tree in shared memory, one atomic addition for each CTA.
extern "C" __global__ void dot_atomic(const float* a, const float* b, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = 0.0f;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += a[i] * b[i];
  s[t] = v;
  __syncthreads();
  for (int i = blockDim.x / 2; i != 0; i /= 2) {
    if (t < i) s[t] += s[t + i];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, s[0]);
}
