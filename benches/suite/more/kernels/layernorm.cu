// Layer normalisation, a CTA for each row, a tree in shared memory.
extern "C" __global__ void layernorm(const float* __restrict__ in, float* __restrict__ out,
                                     const float* __restrict__ gain, const float* __restrict__ bias, int cols) {
  __shared__ float sums[256];
  __shared__ float squares[256];
  int t = threadIdx.x;
  const float* x = in + (size_t)blockIdx.x * cols;
  float* y = out + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  float square = 0.0f;
  for (int c = t; c < cols; c += blockDim.x) {
    float v = x[c];
    sum += v;
    square += v * v;
  }
  sums[t] = sum;
  squares[t] = square;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) {
      sums[t] += sums[t + s];
      squares[t] += squares[t + s];
    }
    __syncthreads();
  }
  float mean = sums[0] / cols;
  float variance = squares[0] / cols - mean * mean;
  float inv = rsqrtf(variance + 1e-5f);
  for (int c = t; c < cols; c += blockDim.x) y[c] = (x[c] - mean) * inv * gain[c] + bias[c];
}
