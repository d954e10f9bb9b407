// The part of CUDA C++ that the benchmark kernels use, for clang's NVPTX target without any toolkit:
//   clang++-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -include cuda_device.h ...
// Only what kernels/ and more/kernels/ need lives here.
#pragma once

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

typedef unsigned long size_t;

#define CUDA_INDEX(NAME, SREG)                                                          \
  struct NAME##_t {                                                                     \
    struct axis_x { __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##SREG##_x(); } } x; \
    struct axis_y { __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##SREG##_y(); } } y; \
    struct axis_z { __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##SREG##_z(); } } z; \
  };                                                                                    \
  static __device__ NAME##_t NAME;
CUDA_INDEX(threadIdx, tid)
CUDA_INDEX(blockIdx, ctaid)
CUDA_INDEX(blockDim, ntid)
CUDA_INDEX(gridDim, nctaid)
#undef CUDA_INDEX

struct __attribute__((aligned(4))) uchar4 {
  unsigned char x, y, z, w;
};
struct __attribute__((aligned(8))) float2 {
  float x, y;
};
struct __attribute__((aligned(16))) float4 {
  float x, y, z, w;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned x, y, z, w;
};
static __device__ __forceinline__ float2 make_float2(float x, float y) { return float2{x, y}; }
static __device__ __forceinline__ float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
static __device__ __forceinline__ uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return uint4{x, y, z, w};
}

static __device__ __forceinline__ float __shfl_xor_sync(unsigned mask, float v, int lane_mask) {
  return __nvvm_shfl_sync_bfly_f32(mask, v, lane_mask, 31);
}
static __device__ __forceinline__ int __shfl_xor_sync(unsigned mask, int v, int lane_mask) {
  return __nvvm_shfl_sync_bfly_i32(mask, v, lane_mask, 31);
}
static __device__ __forceinline__ int __shfl_up_sync(unsigned mask, int v, int delta) {
  return __nvvm_shfl_sync_up_i32(mask, v, delta, 0);
}
static __device__ __forceinline__ float __shfl_down_sync(unsigned mask, float v, int delta) {
  return __nvvm_shfl_sync_down_f32(mask, v, delta, 31);
}
static __device__ __forceinline__ unsigned atomicAdd(unsigned* p, unsigned v) {
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
static __device__ __forceinline__ float atomicAdd(float* p, float v) { return __nvvm_atom_add_gen_f(p, v); }

static __device__ __forceinline__ int min(int a, int b) { return a < b ? a : b; }
static __device__ __forceinline__ int max(int a, int b) { return a > b ? a : b; }
static __device__ __forceinline__ int abs(int x) { return x < 0 ? -x : x; }
static __device__ __forceinline__ unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
static __device__ __forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long)a * b >> 32);
}
static __device__ __forceinline__ int __dp4a(int a, int b, int c) {
  int d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

static __device__ __forceinline__ float fabsf(float x) { return __builtin_fabsf(x); }
static __device__ __forceinline__ float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
static __device__ __forceinline__ float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
static __device__ __forceinline__ double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
static __device__ __forceinline__ float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }

// exp(x) = 2^(x*log2(e)), the product split so that the fraction keeps its low bits.
static __device__ __forceinline__ float expf(float x) {
  float n = __nvvm_floor_f(__builtin_fmaf(x, 1.44269504f, 0.5f));
  float r = __builtin_fmaf(n, -0.693145752f, x);
  r = __builtin_fmaf(n, -1.42860677e-6f, r);
  return __nvvm_ex2_approx_ftz_f(r * 1.44269504f) * __nvvm_ex2_approx_ftz_f(n);
}

// log(x): mantissa in [2/3, 4/3), then 2*atanh(s) with s = (m-1)/(m+1); normal positive x only.
static __device__ __forceinline__ float logf(float x) {
  int bits = __builtin_bit_cast(int, x);
  int e = (bits - 0x3f2aaaab) & 0xff800000;
  float m = __builtin_bit_cast(float, bits - e);
  float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  float p = __builtin_fmaf(z, __builtin_fmaf(z, __builtin_fmaf(z, 0.2222222f, 0.2857143f), 0.4f), 0.6666667f);
  float k = (float)e * 1.1920929e-7f;
  return __builtin_fmaf(k, 0.693147182f, __builtin_fmaf(s * z, p, s + s));
}

// tanh(x) = 1 - 2/(exp(2|x|) + 1) with the sign of x; it is 1 in single precision long before 10.
static __device__ __forceinline__ float tanhf(float x) {
  float e = expf(2.0f * __builtin_fminf(__builtin_fabsf(x), 10.0f));
  return __builtin_copysignf(1.0f - 2.0f / (e + 1.0f), x);
}
