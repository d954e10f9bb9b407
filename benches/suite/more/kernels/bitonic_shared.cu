// Sorts 1024 keys in each CTA of 512 threads, a bitonic sort in shared memory.
#define KEYS 1024
static __device__ __forceinline__ void order(int& a, int& b, unsigned up) {
  if ((a > b) == up) {
    int t = a;
    a = b;
    b = t;
  }
}
extern "C" __global__ void bitonic_shared(int* out, const int* in) {
  __shared__ int s[KEYS];
  unsigned t = threadIdx.x;
  in += blockIdx.x * KEYS;
  out += blockIdx.x * KEYS;
  s[t] = in[t];
  s[t + KEYS / 2] = in[t + KEYS / 2];
  for (unsigned size = 2; size < KEYS; size <<= 1) {
    unsigned up = (t & (size / 2)) == 0;
    for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      unsigned i = 2 * t - (t & (stride - 1));
      order(s[i], s[i + stride], up);
    }
  }
  for (unsigned stride = KEYS / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    unsigned i = 2 * t - (t & (stride - 1));
    order(s[i], s[i + stride], 1);
  }
  __syncthreads();
  out[t] = s[t];
  out[t + KEYS / 2] = s[t + KEYS / 2];
}
