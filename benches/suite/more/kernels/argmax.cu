// Where each row's largest element is, the first of equals: a CTA for each row, a tree of pairs in shared memory.
extern "C" __global__ void argmax(const float* __restrict__ in, int* __restrict__ out, int cols) {
  __shared__ float values[128];
  __shared__ int places[128];
  int t = threadIdx.x;
  const float* row = in + (size_t)blockIdx.x * cols;
  float best = -3e38f;
  int place = 0;
  for (int c = t; c < cols; c += 128) {
    float v = row[c];
    if (v > best) {
      best = v;
      place = c;
    }
  }
  values[t] = best;
  places[t] = place;
  __syncthreads();
  for (int s = 64; s > 0; s >>= 1) {
    if (t < s && (values[t + s] > values[t] || (values[t + s] == values[t] && places[t + s] < places[t]))) {
      values[t] = values[t + s];
      places[t] = places[t + s];
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = places[0];
}
