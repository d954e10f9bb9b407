// GELU by its approximation with tanhf, four elements per thread.
static __device__ __forceinline__ float gelu(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
extern "C" __global__ void gelu4(const float4* __restrict__ in, float4* __restrict__ out, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 v = in[i];
  out[i] = make_float4(gelu(v.x), gelu(v.y), gelu(v.z), gelu(v.w));
}
