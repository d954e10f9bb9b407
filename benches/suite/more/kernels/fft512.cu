// Complex Fourier transforms of 512 points, one in each CTA of 256 threads: radix 2, in shared memory.
#define POINTS 512
extern "C" __global__ void fft512(const float2* __restrict__ in, float2* __restrict__ out,
                                  const float2* __restrict__ twiddles) {
  __shared__ float2 s[POINTS];
  int t = threadIdx.x;
  in += blockIdx.x * POINTS;
  out += blockIdx.x * POINTS;
  for (int i = t; i < POINTS; i += POINTS / 2) s[__brev(i) >> 23] = in[i];
  __syncthreads();
  for (int half = 1; half < POINTS; half <<= 1) {
    int j = t & (half - 1);
    int a = ((t - j) << 1) + j;
    int b = a + half;
    float2 w = twiddles[j * (POINTS / 2 / half)];
    float2 u = s[a];
    float2 v = s[b];
    float re = v.x * w.x - v.y * w.y;
    float im = v.x * w.y + v.y * w.x;
    s[a] = make_float2(u.x + re, u.y + im);
    s[b] = make_float2(u.x - re, u.y - im);
    __syncthreads();
  }
  for (int i = t; i < POINTS; i += POINTS / 2) out[i] = s[i];
}
