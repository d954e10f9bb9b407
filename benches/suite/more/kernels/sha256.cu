// One block of SHA-256, a message of 16 words per thread; constants in constant memory.
__constant__ unsigned round_constants[64] = {
#include "../sha256_constants.h"
};
static __device__ __forceinline__ unsigned rotr(unsigned x, int n) { return (x >> n) | (x << (32 - n)); }
extern "C" __global__ void sha256(const unsigned* __restrict__ messages, unsigned* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned w[64];
  for (int t = 0; t < 16; ++t) w[t] = messages[i * 16 + t];
  for (int t = 16; t < 64; ++t) {
    unsigned s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    unsigned s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  unsigned a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
  unsigned e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
  for (int t = 0; t < 64; ++t) {
    unsigned t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
    unsigned t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  unsigned* o = out + i * 8;
  o[0] = a + 0x6a09e667;
  o[1] = b + 0xbb67ae85;
  o[2] = c + 0x3c6ef372;
  o[3] = d + 0xa54ff53a;
  o[4] = e + 0x510e527f;
  o[5] = f + 0x9b05688c;
  o[6] = g + 0x1f83d9ab;
  o[7] = h + 0x5be0cd19;
}
