// Scenarios beside tests/goldens/scenarios.c: prints what a CUDA driver answers, one line a call, so that two drivers can be
// compared line by line. Each scenario runs in its own process; a crash is an answer too. answers.golden is what NVIDIA's
// driver printed (CUDA 13.0, H200). Values that depend on the device are not printed.
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> answers.c -o answers -lcuda -ldl -lpthread; ./answers [SCENARIO]
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#undef cuCtxCreate
extern CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
extern CUresult cuCtxAttach(CUcontext *, unsigned);
extern CUresult cuCtxDetach(CUcontext);

static const char *nm(CUresult r) {
  static char b[4][48];
  static int k;
  const char *s = 0;
  if (cuGetErrorName(r, &s) == CUDA_SUCCESS && s) return s;
  k = (k + 1) & 3;
  snprintf(b[k], 48, "code %d", (int)r);
  return b[k];
}
#define T(e)                                \
  do {                                      \
    CUresult r_ = (e);                      \
    printf("%-78s = %s\n", #e, nm(r_));     \
    fflush(stdout);                         \
  } while (0)
// Calls in which NVIDIA's driver crashes or hangs: asked only with ANSWERS_CRASHING set.
#define N(e)                               \
  do {                                     \
    if (getenv("ANSWERS_CRASHING")) T(e);  \
  } while (0)
#define V(fmt, ...)                         \
  do {                                      \
    printf("    " fmt "\n", __VA_ARGS__);   \
    fflush(stdout);                         \
  } while (0)
#define B(e) V("%s: %d", #e, (int)!!(e))

static const char HEAD[] = ".version 7.0\n.target sm_52\n.address_size 64\n";
static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".global .align 4 .u32 counter = 7;\n"
    ".global .align 8 .u64 where = counter;\n"
    ".visible .entry empty() { ret; }\n"
    ".visible .entry store(.param .u64 p, .param .u32 v) { .reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1,[p]; ld.param.u32 %r1,[v]; st.global.u32 [%d1],%r1; ret; }\n"
    ".visible .entry bounded() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry required() .reqntid 32, 2, 1 { ret; }\n"
    ".visible .entry wide(.param .align 8 .b8 a[4000]) { ret; }\n"
    ".visible .entry statics(.param .u64 p) { .shared .align 4 .b8 s[1024]; .local .align 4 .b8 l[256]; .reg .b64 %d<4>; .reg .b32 %r<3>; ld.param.u64 %d1,[p]; mov.u64 %d2,s; cvt.u32.u64 %r1,%d2; mov.u64 %d3,l; st.local.u32 [%d3],%r1; ld.local.u32 %r2,[%d3+8]; st.shared.u32 [s],%r2; st.global.u32 [%d1],%r1; ret; }\n"
    ".visible .entry trapping() { trap; }\n"
    ".visible .entry breakpoint() { brkpt; ret; }\n"
    ".visible .entry misaligned(.param .u64 p) { .reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1,[p]; mov.u32 %r1,1; st.global.u32 [%d1+2],%r1; ret; }\n"
    ".visible .entry shared_out(.param .u32 o) { .shared .align 4 .b8 s2[64]; .reg .b32 %r<3>; ld.param.u32 %r1,[o]; mov.u32 %r2,s2; add.u32 %r2,%r2,%r1; st.shared.u32 [%r2],%r1; ret; }\n"
    ".visible .entry local_out(.param .u64 o) { .local .align 8 .b8 m[64]; .reg .b64 %d<4>; ld.param.u64 %d1,[o]; mov.u64 %d2,m; add.u64 %d2,%d2,%d1; st.local.u64 [%d2],%d1; ret; }\n"
    ".func deep(.param .u32 n) { .local .align 8 .b8 f[512]; .reg .b32 %r<3>; .reg .pred %q; .reg .b64 %d<3>; ld.param.u32 %r1,[n]; mov.u64 %d1,f; cvta.local.u64 %d1,%d1; cvt.u64.u32 %d2,%r1; and.b64 %d2,%d2,255; add.u64 %d1,%d1,%d2; st.volatile.u8 [%d1],%r1; setp.eq.u32 %q,%r1,0; @%q bra E; sub.u32 %r2,%r1,1; { .param .b32 x; st.param.b32 [x],%r2; call deep,(x); } ld.volatile.u8 %r2,[%d1];\nE: ret; }\n"
    ".visible .entry recurse(.param .u32 n) { .reg .b32 %r<2>; ld.param.u32 %r1,[n]; { .param .b32 x; st.param.b32 [x],%r1; call deep,(x); } ret; }\n"
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 fn, .param .b64 c) .noreturn;\n"
    ".global .align 1 .b8 msg[5] = {112, 32, 62, 32, 0};\n.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};\n"
    ".visible .entry asserting() { .reg .b64 %d<4>; mov.u64 %d1,msg; cvta.global.u64 %d1,%d1; mov.u64 %d2,file; cvta.global.u64 %d2,%d2; { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a],%d1; st.param.b64 [b],%d2; st.param.b32 [c],12; st.param.b64 [d],%d2; st.param.b64 [e],1; call.uni __assertfail,(a,b,c,d,e); } ret; }\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 fmt[9] = {118, 32, 37, 100, 32, 37, 102, 10, 0};\n"
    ".visible .entry printing() { .local .align 8 .b8 b[16]; .reg .b64 %d<4>; .reg .b32 %r<2>; mov.u64 %d1,fmt; cvta.global.u64 %d1,%d1; mov.u64 %d2,b; mov.u32 %r1,-5; st.local.u32 [%d2],%r1; mov.u64 %d3,0x3ff8000000000000; st.local.u64 [%d2+8],%d3; cvta.local.u64 %d2,%d2; { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f],%d1; st.param.b64 [a],%d2; call.uni (r),vprintf,(f,a); } ret; }\n"
    ".visible .entry waits(.param .u64 p) { .reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %q; ld.param.u64 %d1,[p];\nL: ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %q,%r1,0; @%q bra L; ret; }\n"
    ".global .texref tex;\n";

static CUdevice dev;
static CUcontext ctx;
static CUmodule mod;
static void up(void) {
  cuInit(0);
  cuDeviceGet(&dev, 0);
  CUresult r = cuCtxCreate_v2(&ctx, 0, dev);
  if (r) printf("up failed %s\n", nm(r));
}
static void upm(void) {
  up();
  CUresult r = cuModuleLoadData(&mod, PTX);
  if (r) printf("module failed %s\n", nm(r));
}
static CUfunction fn(const char *n) {
  CUfunction f = 0;
  CUresult r = cuModuleGetFunction(&f, mod, n);
  if (r) printf("function %s failed %s\n", n, nm(r));
  return f;
}
static CUresult go(CUfunction f, void **args) { return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0); }

// -- the first ABI: 32-bit pointers and sizes
#define OLD(name, proto, args)                                        \
  do {                                                                \
    CUresult(*f_) proto = (CUresult(*) proto)dlsym(RTLD_DEFAULT, name); \
    if (!f_) { printf("%-78s missing\n", name #args); break; }        \
    fflush(stdout);                                                   \
    CUresult r_ = f_ args;                                            \
    printf("%-78s = %s\n", name #args, nm(r_));                       \
    fflush(stdout);                                                   \
  } while (0)
typedef struct { unsigned Width, Height; CUarray_format Format; unsigned NumChannels; } OldArray;
typedef struct { unsigned Width, Height, Depth; CUarray_format Format; unsigned NumChannels, Flags; } OldArray3D;
static void old_abi_calls(void) {
  unsigned p = 77, q = 77, n = 77;
  void *h = 0;
  char buf[64] = {0};
  CUarray a = 0;
  OldArray d = {16, 8, CU_AD_FORMAT_FLOAT, 1};
  OldArray3D d3 = {16, 8, 2, CU_AD_FORMAT_FLOAT, 1, 0};
  CUtexref t = 0;
  OLD("cuDeviceTotalMem", (unsigned *, CUdevice), (&n, 0));
  B(n == 0xffffffffu);
  OLD("cuDeviceTotalMem", (unsigned *, CUdevice), (&n, 99));
  OLD("cuDeviceTotalMem", (unsigned *, CUdevice), (0, 0));
  OLD("cuMemGetInfo", (unsigned *, unsigned *), (&n, &q));
  OLD("cuMemAlloc", (unsigned *, unsigned), (&p, 64));
  OLD("cuMemAllocPitch", (unsigned *, unsigned *, unsigned, unsigned, unsigned), (&p, &q, 64, 4, 4));
  OLD("cuMemFree", (unsigned), (0));
  OLD("cuMemFree", (unsigned), (4096));
  OLD("cuMemGetAddressRange", (unsigned *, unsigned *, unsigned), (&p, &q, 4096));
  OLD("cuMemAllocHost", (void **, unsigned), (&h, 64));
  OLD("cuMemHostGetDevicePointer", (unsigned *, void *, unsigned), (&p, buf, 0));
  OLD("cuMemcpyHtoD", (unsigned, const void *, unsigned), (4096, buf, 4));
  OLD("cuMemcpyDtoH", (void *, unsigned, unsigned), (buf, 4096, 4));
  OLD("cuMemcpyDtoD", (unsigned, unsigned, unsigned), (4096, 8192, 4));
  OLD("cuMemcpyHtoDAsync", (unsigned, const void *, unsigned, CUstream), (4096, buf, 4, 0));
  OLD("cuMemcpyDtoHAsync", (void *, unsigned, unsigned, CUstream), (buf, 4096, 4, 0));
  OLD("cuMemsetD8", (unsigned, unsigned char, unsigned), (4096, 1, 4));
  OLD("cuMemsetD16", (unsigned, unsigned short, unsigned), (4096, 1, 4));
  OLD("cuMemsetD32", (unsigned, unsigned, unsigned), (4096, 1, 4));
  OLD("cuMemsetD2D8", (unsigned, unsigned, unsigned char, unsigned, unsigned), (4096, 16, 1, 4, 4));
  OLD("cuMemsetD2D32", (unsigned, unsigned, unsigned, unsigned, unsigned), (4096, 16, 1, 4, 4));
  OLD("cuArrayCreate", (CUarray *, const OldArray *), (&a, &d));
  OLD("cuArrayGetDescriptor", (OldArray *, CUarray), (&d, a));
  OLD("cuArray3DCreate", (CUarray *, const OldArray3D *), (&a, &d3));
  OLD("cuArray3DGetDescriptor", (OldArray3D *, CUarray), (&d3, a));
  OLD("cuMemcpyAtoH", (void *, CUarray, unsigned, unsigned), (buf, a, 0, 4));
  OLD("cuMemcpyHtoA", (CUarray, unsigned, const void *, unsigned), (a, 0, buf, 4));
  OLD("cuModuleGetGlobal", (unsigned *, unsigned *, CUmodule, const char *), (&p, &q, mod, "counter"));
  OLD("cuModuleGetGlobal", (unsigned *, unsigned *, CUmodule, const char *), (&p, &q, mod, "nope"));
  cuTexRefCreate(&t);
  OLD("cuTexRefSetAddress", (unsigned *, CUtexref, unsigned, unsigned), (&p, t, 4096, 64));
  OLD("cuTexRefGetAddress", (unsigned *, CUtexref), (&p, t));
}
static void old_abi_under_second(void) { upm(); old_abi_calls(); }
static void old_abi_without_context(void) { cuInit(0); old_abi_calls(); }
static void old_abi_contexts(void) {
  upm();
  CUcontext c = 0;
  OLD("cuCtxCreate", (CUcontext *, unsigned, CUdevice), (&c, 0, 0));
  OLD("cuCtxPopCurrent", (CUcontext *), (&c));
  B(c == ctx);
  OLD("cuCtxPushCurrent", (CUcontext), (ctx));
  OLD("cuCtxPushCurrent", (CUcontext), (0));
  OLD("cuCtxDestroy", (CUcontext), (ctx));
  T(cuCtxGetCurrent(&c));
  B(c == 0);
  upm();
  CUstream s; CUevent e;
  cuStreamCreate(&s, 0); cuEventCreate(&e, 0);
  OLD("cuStreamDestroy", (CUstream), (s));
  OLD("cuEventDestroy", (CUevent), (e));
  OLD("cuDevicePrimaryCtxRelease", (CUdevice), (0));
  OLD("cuDevicePrimaryCtxReset", (CUdevice), (0));
  OLD("cuDevicePrimaryCtxSetFlags", (CUdevice, unsigned), (0, 4));
}

// -- contexts
static void attach_detach(void) {
  up();
  CUcontext a = 0, b = 0, c = 0;
  T(cuCtxAttach(&a, 0)); B(a == ctx);
  T(cuCtxAttach(&a, 1)); T(cuCtxAttach(NULL, 0));
  T(cuCtxDetach(a)); T(cuCtxGetCurrent(&c)); B(c == ctx);
  T(cuCtxDetach(a)); T(cuCtxGetCurrent(&c)); B(c == 0);
  T(cuCtxDetach(a)); T(cuCtxDetach(NULL)); T(cuCtxAttach(&a, 0));
  cuCtxCreate_v2(&a, 0, 0); cuCtxAttach(&b, 0); T(cuCtxDestroy(a)); T(cuCtxDetach(a)); T(cuCtxGetCurrent(&c)); B(c == 0);
  cuCtxCreate_v2(&a, 0, 0); cuCtxCreate_v2(&b, 0, 0); T(cuCtxDetach(a)); T(cuCtxDetach(b)); T(cuCtxGetCurrent(&c)); B(c == a);
}
static void limits_flags(void) {
  up();
  size_t v = 0; unsigned u = 0; int lo = 9, hi = 9; CUfunc_cache cc; CUcontext c;
  T(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE)); V("%zu", v);
  T(cuCtxGetLimit(&v, CU_LIMIT_PRINTF_FIFO_SIZE)); V("%zu", v);
  T(cuCtxGetLimit(&v, CU_LIMIT_MALLOC_HEAP_SIZE)); V("%zu", v);
  T(cuCtxGetLimit(&v, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)); V("%zu", v);
  T(cuCtxGetLimit(&v, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)); V("%zu", v);
  T(cuCtxGetLimit(&v, CU_LIMIT_MAX_L2_FETCH_GRANULARITY)); V("%zu", v);
  T(cuCtxGetLimit(&v, CU_LIMIT_PERSISTING_L2_CACHE_SIZE)); V("%zu", v);
  T(cuCtxGetLimit(&v, (CUlimit)99)); T(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
  T(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5000)); T(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE)); V("%zu", v);
  T(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0)); T(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE)); V("%zu", v);
  T(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512 * 1024)); T(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, (size_t)1 << 40));
  T(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 16)); T(cuCtxGetLimit(&v, CU_LIMIT_PRINTF_FIFO_SIZE)); V("%zu", v);
  T(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 0)); T(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 24)); T(cuCtxGetLimit(&v, CU_LIMIT_MALLOC_HEAP_SIZE)); V("%zu", v);
  T(cuCtxSetLimit((CUlimit)99, 1)); T(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4)); T(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64)); T(cuCtxGetLimit(&v, CU_LIMIT_MAX_L2_FETCH_GRANULARITY)); V("%zu", v);
  T(cuCtxGetStreamPriorityRange(&lo, &hi)); V("%d %d", lo, hi); T(cuCtxGetStreamPriorityRange(NULL, NULL));
  T(cuCtxGetCacheConfig(&cc)); V("%d", (int)cc); T(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1)); T(cuCtxGetCacheConfig(&cc)); V("%d", (int)cc); T(cuCtxSetCacheConfig((CUfunc_cache)9));
  T(cuCtxGetFlags(&u)); V("%u", u); T(cuCtxGetFlags(NULL)); T(cuCtxSetFlags(CU_CTX_SCHED_SPIN)); T(cuCtxGetFlags(&u)); V("%u", u); T(cuCtxSetFlags(0x4000));
  T(cuCtxCreate_v2(&c, CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX | CU_CTX_SCHED_BLOCKING_SYNC, 0)); T(cuCtxGetFlags(&u)); V("%u", u);
  T(cuCtxResetPersistingL2Cache()); T(cuCtxGetSharedMemConfig((CUsharedconfig *)&u)); V("%u", u); T(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)); T(cuCtxSetSharedMemConfig((CUsharedconfig)9));
  CUctxCreateParams cp; memset(&cp, 0, sizeof cp); T(cuCtxCreate_v4(&c, &cp, 0, 0)); T(cuCtxCreate_v4(&c, NULL, 0, 0)); T(cuCtxCreate_v4(NULL, NULL, 0, 0)); T(cuCtxGetApiVersion(c, &u)); V("%u", u);
  N(cuCtxDestroy((CUcontext)0x1234560)); T(cuCtxPushCurrent((CUcontext)0)); N(cuCtxSetCurrent((CUcontext)0x10));
}
static void devices(void) {
  cuInit(0);
  int n = 0; CUdevice d = 0; char name[64]; size_t z; CUuuid u, w; int v, lo, hi; char bus[32]; unsigned m; char luid[8];
  T(cuDeviceGet(&d, -1)); T(cuDeviceGet(&d, 99)); T(cuDeviceGet(NULL, 0)); T(cuDeviceGetName(name, 64, 0)); T(cuDeviceGetName(name, 4, 0)); V("%zu", strlen(name)); N(cuDeviceGetName(name, 0, 0)); T(cuDeviceGetName(NULL, 64, 0)); T(cuDeviceGetName(name, 64, 9)); N(cuDeviceGetName(name, -1, 0));
  T(cuDeviceTotalMem(&z, 0)); T(cuDeviceTotalMem(NULL, 0)); T(cuDeviceTotalMem(&z, 9)); T(cuDeviceGetUuid(&u, 0)); T(cuDeviceGetUuid_v2(&w, 0)); B(!memcmp(&u, &w, 16)); T(cuDeviceGetUuid(NULL, 0)); T(cuDeviceGetUuid(&u, 9));
  T(cuDeviceGetAttribute(&v, 1, 0)); T(cuDeviceGetAttribute(NULL, 1, 0)); T(cuDeviceGetAttribute(&v, 0, 0)); T(cuDeviceGetAttribute(&v, 9999, 0)); T(cuDeviceGetAttribute(&v, -1, 0)); T(cuDeviceGetAttribute(&v, 1, 9));
  T(cuDeviceComputeCapability(&lo, &hi, 0)); V("%d %d", lo, hi); T(cuDeviceComputeCapability(NULL, &hi, 0)); CUdevprop p; T(cuDeviceGetProperties(&p, 0)); V("%d %d %d %d", p.maxThreadsPerBlock, p.maxThreadsDim[2], p.maxGridSize[1], p.SIMDWidth); T(cuDeviceGetProperties(NULL, 0));
  T(cuDeviceGetPCIBusId(bus, 32, 0)); V("%zu", strlen(bus)); T(cuDeviceGetPCIBusId(bus, 4, 0)); T(cuDeviceGetByPCIBusId(&d, "junk")); T(cuDeviceGetByPCIBusId(&d, "0000:ff:1f.0")); T(cuDeviceGetByPCIBusId(&d, NULL)); cuDeviceGetPCIBusId(bus, 32, 0); T(cuDeviceGetByPCIBusId(&d, bus)); V("%d", d); T(cuDeviceGetLuid(luid, &m, 0));
  T(cuDeviceCanAccessPeer(&v, 0, 0)); V("%d", v); T(cuDeviceCanAccessPeer(&v, 0, 9)); T(cuDeviceGetP2PAttribute(&v, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0)); T(cuDeviceGetExecAffinitySupport(&v, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0)); V("%d", v); T(cuDeviceGetExecAffinitySupport(&v, (CUexecAffinityType)9, 0)); T(cuDeviceGetTexture1DLinearMaxWidth(&z, CU_AD_FORMAT_FLOAT, 4, 0)); T(cuDeviceGetTexture1DLinearMaxWidth(&z, CU_AD_FORMAT_FLOAT, 3, 0));
  CUmemoryPool mp = 0, mq = 0; T(cuDeviceGetDefaultMemPool(&mp, 0)); T(cuDeviceGetMemPool(&mq, 0)); B(mp == mq); T(cuDeviceGetDefaultMemPool(NULL, 0)); T(cuDeviceGetDefaultMemPool(&mp, 9)); T(cuDeviceSetMemPool(0, mp)); T(cuDeviceSetMemPool(0, NULL));
}

// -- modules
static void jit_options(void) {
  up();
  char err[512], info[2048]; CUmodule m; CUresult r;
  CUjit_option o[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME, CU_JIT_LOG_VERBOSE};
  void *v[] = {err, (void *)512, info, (void *)2048, (void *)0x4048f5c300000000, (void *)1};
  memset(err, 'x', 512); memset(info, 'x', 2048);
  T(cuModuleLoadDataEx(&m, PTX, 6, o, v)); B((uintptr_t)v[1] == 0); B((uintptr_t)v[3] > 0); B(strlen(info) + 1 == (uintptr_t)v[3]); B(strlen(info) == (uintptr_t)v[3]); B((uintptr_t)v[4] != 0x4048f5c300000000); B(((uintptr_t)v[4] >> 32) == 0x4048f5c3); V("err '%.20s'", err);
  v[1] = (void *)512; v[3] = (void *)2048; err[0] = 0;
  static char bad[256]; snprintf(bad, 256, "%s.visible .entry k() { bogus.u32 %%r1; }\n", HEAD);
  T(cuModuleLoadDataEx(&m, bad, 6, o, v)); B((uintptr_t)v[1] == strlen(err)); B((uintptr_t)v[1] == strlen(err) + 1); V("%s", err);
  v[1] = (void *)16; v[3] = (void *)2048; memset(err, 'x', 512); T(cuModuleLoadDataEx(&m, bad, 6, o, v)); V("size %d, length %d, last %d", (int)(uintptr_t)v[1], (int)strnlen(err, 512), err[16] == 'x');
  v[1] = (void *)1; memset(err, 'x', 512); T(cuModuleLoadDataEx(&m, bad, 2, o, v)); V("size %d, first %d", (int)(uintptr_t)v[1], err[0]);
  v[1] = (void *)0; memset(err, 'x', 512); T(cuModuleLoadDataEx(&m, bad, 2, o, v)); V("size %d, first %d", (int)(uintptr_t)v[1], err[0]);
  T(cuModuleLoadDataEx(&m, bad, 1, o, v)); void *nv[] = {NULL, (void *)512}; T(cuModuleLoadDataEx(&m, bad, 2, o, nv));
  T(cuModuleLoadDataEx(&m, PTX, 2, NULL, v)); T(cuModuleLoadDataEx(&m, PTX, 2, o, NULL)); T(cuModuleLoadDataEx(&m, PTX, 0, NULL, NULL));
#define OPT(opt, val) do { CUjit_option o1[] = {opt}; void *v1[] = {(void *)(uintptr_t)(val)}; r = cuModuleLoadDataEx(&m, PTX, 1, o1, v1); printf("%-60s %-17s = %s\n", #opt, #val, nm(r)); } while (0)
  OPT(CU_JIT_MAX_REGISTERS, 32); OPT(CU_JIT_MAX_REGISTERS, 0); OPT(CU_JIT_MAX_REGISTERS, 100000); OPT(CU_JIT_THREADS_PER_BLOCK, 128); OPT(CU_JIT_THREADS_PER_BLOCK, 100000); OPT(CU_JIT_OPTIMIZATION_LEVEL, 0); OPT(CU_JIT_OPTIMIZATION_LEVEL, 4); OPT(CU_JIT_OPTIMIZATION_LEVEL, 5); OPT(CU_JIT_TARGET_FROM_CUCONTEXT, 0); OPT(CU_JIT_TARGET, 90); OPT(CU_JIT_TARGET, 80); OPT(CU_JIT_TARGET, 100); OPT(CU_JIT_TARGET, 20); OPT(CU_JIT_TARGET, 777); OPT(CU_JIT_FALLBACK_STRATEGY, 0); OPT(CU_JIT_FALLBACK_STRATEGY, 7); OPT(CU_JIT_GENERATE_DEBUG_INFO, 1); OPT(CU_JIT_GENERATE_LINE_INFO, 1); OPT(CU_JIT_CACHE_MODE, 0); OPT(CU_JIT_CACHE_MODE, 1); OPT(CU_JIT_CACHE_MODE, 9); OPT((CUjit_option)35, 0); OPT((CUjit_option)35, 4); OPT(CU_JIT_POSITION_INDEPENDENT_CODE, 1); OPT(CU_JIT_MIN_CTA_PER_SM, 2); OPT(CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1); OPT(CU_JIT_NEW_SM3X_OPT, 1); OPT(CU_JIT_FAST_COMPILE, 1); OPT(CU_JIT_LTO, 1); OPT((CUjit_option)999, 1); OPT((CUjit_option)-1, 1);
}
static CUresult one(const char *body) {
  static char t[4096]; CUmodule m;
  snprintf(t, sizeof t, "%s%s", HEAD, body);
  return cuModuleLoadData(&m, t);
}
static void ptx_texts(void) {
  up();
  CUmodule m;
  T(one("")); T(one(".visible .entry k() { ret; }")); T(one(".visible .entry k() { ret; }\n.visible .entry k() { ret; }")); T(one(".visible .entry k() { .reg .b32 %r; .reg .b32 %r; ret; }")); T(one(".visible .entry k() { mov.u32 %r1, 1; ret; }")); T(one(".visible .entry k() { bra NOWHERE; }")); T(one(".visible .entry k() { .reg .f32 %f; add.s32 %f, %f, 1; ret; }")); T(one(".visible .entry k() { .reg .b64 %r; add.s32 %r, %r, 1; ret; }")); T(one(".visible .entry k() { .reg .b32 %r; add.rn.s32 %r, %r, 1; ret; }")); T(one(".visible .entry k() { .reg .b32 %r; add.s32 %r, %r; ret; }"));
  T(one(".visible .entry k() { ret }")); T(one(".visible .entry k() { ret;")); T(one(".visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [undefined]; ret; }")); T(one(".global .u32 a;\n.global .u32 a;\n.visible .entry k() { ret; }")); T(one(".global .u32 a[2] = {1,2,3};\n.visible .entry k() { ret; }")); T(one(".extern .global .u32 a;\n.visible .entry k() { ret; }")); T(one(".extern .global .u32 a;\n.visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [a]; ret; }")); T(one(".extern .shared .align 16 .b8 s[];\n.visible .entry k() { .reg .b32 %r; ld.shared.u32 %r, [s]; ret; }")); T(one(".extern .func f();\n.visible .entry k() { ret; }")); T(one(".func f();\n.visible .entry k() { call f; ret; }")); T(one(".func f() { ret; }\n.visible .entry k() { call f, (1); ret; }")); T(one(".visible .entry k(.param .u32 a, .param .u32 a) { ret; }")); T(one(".weak .global .u32 a;\n.visible .entry k() { ret; }")); T(one(".common .global .u32 a;\n.visible .entry k() { ret; }")); T(one(".visible .entry k() { .shared .b8 s[49153]; ret; }")); T(one(".visible .entry k() { .shared .b8 s[49153]; st.shared.u8 [s],0; ret; }")); T(one(".visible .entry k() { .reg .b64 %d; .shared .b8 s[240000]; mov.u64 %d, s; st.shared.u8 [%d+239999],0; ret; }")); T(one(".const .b8 c[65536];\n.visible .entry k() { ret; }")); T(one(".const .b8 c[65537];\n.visible .entry k() { .reg .b32 %r; ld.const.u8 %r,[c]; ret; }")); T(one(".visible .entry k(.param .b8 a[4352]) { ret; }"));
  T(one(".visible .entry k() .maxntid 2048 { ret; }")); T(one(".visible .entry k() .maxntid 0 { ret; }")); T(one(".visible .entry k() { .reg .b32 %r; mov.u32 %r, %nosuch; ret; }")); T(one(".visible .entry k() { .reg .pred %p; @%p bra L; L: ret; }")); T(one(".visible .entry k() { .reg .b32 %p; @%p bra L; L: ret; }")); T(one(".visible .entry k() { .reg .b32 %a,%b; shfl.sync.idx.b32 %a,%b,0,31,-1; ret; }")); T(one(".visible .entry k() { .reg .b32 %a,%b; shfl.idx.b32 %a,%b,0,31; ret; }")); T(one(".visible .entry k() { .reg .b32 %a; redux.sync.add.u32 %a,%a,-1; ret; }")); T(one(".visible .entry k() { .reg .f16 %h; add.f16 %h,%h,%h; ret; }"));
  T(cuModuleLoadData(&m, ".target sm_52\n.version 7.0\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 7.0\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 7.0\n.target sm_52\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, "\n// a comment first\n.version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, "/* a comment */.version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, "  \t.version 7.0\r\n.target sm_52\r\n.address_size 64\r\n.visible .entry k() { ret; }\r\n")); T(cuModuleLoadData(&m, ".version 9.9\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 7.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 9.0\n.target sm_103\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 9.0\n.target sm_100f\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 7.0\n.target sm_52, texmode_independent\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 7.0\n.target sm_52, debug\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version 6.0\n.target compute_52\n.address_size 64\n.visible .entry k() { ret; }\n")); T(cuModuleLoadData(&m, ".version x\n")); T(cuModuleLoadData(&m, ".version 7.0"));
}
static void images(void) {
  up();
  CUmodule m; unsigned char e[256];
  memset(e, 0, sizeof e); memcpy(e, "\177ELF", 4); T(cuModuleLoadData(&m, e)); e[4] = 2; e[5] = 1; e[6] = 1; T(cuModuleLoadData(&m, e)); e[16] = 2; e[18] = 190; T(cuModuleLoadData(&m, e)); e[18] = 62; T(cuModuleLoadData(&m, e));
  unsigned f[16] = {0xBA55ED50, 0x00100001, 0, 0}; T(cuModuleLoadData(&m, f)); T(cuModuleLoadFatBinary(&m, f)); f[1] = 0x00100099; T(cuModuleLoadFatBinary(&m, f)); f[1] = 0x00100001; f[2] = 64; N(cuModuleLoadFatBinary(&m, f)); struct { unsigned magic, version; const void *data; void *file; } w = {0x466243B1, 1, f, 0}; f[2] = 0; T(cuModuleLoadData(&m, &w)); T(cuModuleLoadFatBinary(&m, &w)); w.data = 0; T(cuModuleLoadFatBinary(&m, NULL)); T(cuModuleLoadFatBinary(NULL, f)); T(cuModuleLoadFatBinary(&m, "junk junk junk junk"));
}
static void functions(void) {
  upm();
  int v; CUfunction f = fn("statics"); CUfunction g = 0; CUmodule m2; size_t z; unsigned n; CUfunction all[32]; const char *s; CUmoduleLoadingMode lm;
#define ATTR(a, f) do { v = -7; CUresult r_ = cuFuncGetAttribute(&v, a, f); printf("%-78s = %s %d\n", #a " " #f, nm(r_), v); } while (0)
  ATTR(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f); ATTR(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f); ATTR(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, f); ATTR(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f); ATTR(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f); ATTR(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, f); ATTR(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, f); ATTR(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, f); ATTR(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, f); ATTR(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, f); ATTR((CUfunction_attribute)99, f); ATTR((CUfunction_attribute)-1, f); ATTR(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, NULL); CUfunction bo = fn("bounded"); ATTR(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bo); CUfunction re = fn("required"); ATTR(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, re); T(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, f)); cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PTX_VERSION, f); V("ptx %d", v); cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f); V("binary %d", v); cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f); B(v >= 256);
  T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000)); ATTR(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024 - 1024)); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024)); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1)); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50)); ATTR(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101)); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2)); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 64)); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 64)); T(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)); T(cuFuncSetAttribute(f, (CUfunction_attribute)99, 1)); T(cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1)); T(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_SHARED)); T(cuFuncSetCacheConfig(f, (CUfunc_cache)9)); T(cuFuncSetSharedMemConfig(f, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE)); T(cuFuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_SHARED));
  T(cuModuleEnumerateFunctions(all, 3, mod)); T(cuModuleEnumerateFunctions(NULL, 3, mod)); T(cuModuleEnumerateFunctions(all, 0, mod)); T(cuFuncGetName(&s, NULL)); T(cuFuncGetName(NULL, f)); T(cuFuncGetModule(NULL, f)); T(cuFuncGetParamInfo(f, 0, NULL, NULL)); T(cuFuncGetParamInfo(f, 0, &z, NULL)); T(cuFuncGetParamInfo(NULL, 0, &z, &z)); T(cuModuleGetLoadingMode(&lm)); V("mode %d", (int)lm); N(cuModuleGetLoadingMode(NULL)); CUfunctionLoadingState st; CUfunction em = fn("empty"); T(cuFuncIsLoaded(&st, em)); V("%d", (int)st); T(cuFuncLoad(em)); T(cuFuncIsLoaded(&st, em)); V("%d", (int)st); T(cuFuncIsLoaded(NULL, em)); T(cuFuncLoad(NULL)); T(cuModuleUnload(mod)); T(cuModuleUnload(mod)); T(cuModuleUnload(NULL)); T(cuFuncGetName(&s, em)); T(go(em, 0)); T(cuModuleGetFunction(&g, mod, "empty"));
}
static void globals_init(void) {
  upm();
  CUdeviceptr c, w; size_t z; unsigned long long v = 0; unsigned u = 0; T(cuModuleGetGlobal(&c, &z, mod, "counter")); T(cuModuleGetGlobal(&w, &z, mod, "where")); V("%zu", z); T(cuMemcpyDtoH(&v, w, 8)); B(v == c); CUmodule m2; cuModuleLoadData(&m2, PTX); CUdeviceptr c2; cuModuleGetGlobal(&c2, &z, m2, "counter"); B(c != c2); u = 9; T(cuMemcpyHtoD(c, &u, 4)); T(cuMemcpyDtoH(&u, c2, 4)); V("%u", u); CUdeviceptr b; T(cuMemGetAddressRange(&b, &z, c)); V("%d %zu", b == c, z); T(cuMemFree(c)); int mt = 0; T(cuPointerGetAttribute(&mt, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, c)); V("%d", mt); T(cuModuleUnload(mod)); T(cuMemcpyDtoH(&u, c, 4)); CUtexref t = 0; T(cuModuleGetTexRef(&t, m2, "tex")); T(cuModuleGetTexRef(&t, m2, "counter")); T(cuModuleGetTexRef(&t, m2, "nope")); CUsurfref s; T(cuModuleGetSurfRef(&s, m2, "tex"));
}

// -- launches
static void launch_limits(void) {
  upm();
  CUfunction e = fn("empty"), b = fn("bounded"), q = fn("required"), s = fn("store"), st = fn("statics"); CUdeviceptr p; cuMemAlloc(&p, 64); unsigned val = 3; void *as[] = {&p, &val};
#define L(gx, gy, gz, bx, by, bz, sh) T(cuLaunchKernel(e, gx, gy, gz, bx, by, bz, sh, 0, 0, 0))
  L(0, 1, 1, 1, 1, 1, 0); L(1, 0, 1, 1, 1, 1, 0); L(1, 1, 0, 1, 1, 1, 0); L(1, 1, 1, 0, 1, 1, 0); L(1, 1, 1, 1, 0, 1, 0); L(1, 1, 1, 1, 1, 0, 0); L(1, 1, 1, 1025, 1, 1, 0); L(1, 1, 1, 1, 1025, 1, 0); L(1, 1, 1, 1, 1, 65, 0); L(1, 1, 1, 32, 32, 2, 0); L(0x80000000u, 1, 1, 1, 1, 1, 0); L(1, 65536, 1, 1, 1, 1, 0); L(1, 1, 65536, 1, 1, 1, 0); L(1, 1, 1, 1, 1, 1, 49152); L(1, 1, 1, 1, 1, 1, 49153); L(1, 1, 1, 1, 1, 1, 0xffffffffu); L(1, 1, 1, 1, 1, 64, 0); L(1, 1, 1, 1024, 1, 1, 0);
  T(cuLaunchKernel(b, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0)); T(cuLaunchKernel(b, 1, 1, 1, 65, 1, 1, 0, 0, 0, 0)); T(cuLaunchKernel(b, 1, 1, 1, 1, 64, 1, 0, 0, 0, 0)); T(cuLaunchKernel(q, 1, 1, 1, 32, 2, 1, 0, 0, 0, 0)); T(cuLaunchKernel(q, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0)); T(cuLaunchKernel(st, 1, 1, 1, 1, 1, 1, 48129, 0, (void *[]){&p}, 0)); T(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)); N(cuLaunchKernel((CUfunction)0x1230, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
  N(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, (CUstream)0x1230, as, 0)); T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL)); char buf[16]; size_t z = 12; memcpy(buf, &p, 8); memcpy(buf + 8, &val, 4); void *x[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &z, CU_LAUNCH_PARAM_END}; T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, as, x)); T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x)); z = 8; T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x)); z = 16; T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x)); z = 0; T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x)); void *x1[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_END}; T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x1)); void *x2[] = {CU_LAUNCH_PARAM_END}; T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x2)); void *x3[] = {(void *)77, buf, CU_LAUNCH_PARAM_END}; T(cuLaunchKernel(s, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x3)); T(cuLaunchKernel(e, 1, 1, 1, 1, 1, 1, 0, 0, NULL, x2)); T(cuCtxSynchronize());
  T(cuLaunchCooperativeKernel(e, 1, 1, 1, 1024, 1, 1, 0, 0, 0)); T(cuLaunchCooperativeKernel(e, 100000, 1, 1, 1024, 1, 1, 0, 0, 0)); int n = 0, m = 0; T(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, e, 1024, 0)); V("%d", n); T(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, e, 32, 0)); V("%d", n); T(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, e, 1025, 0)); V("%d", n); T(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, e, 128, 40000)); V("%d", n); T(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, e, 128, 300000)); V("%d", n); T(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, e, 128, 0)); T(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 128, 0)); T(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, e, 128, 0, 1)); T(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, e, 128, 0, 2)); T(cuOccupancyMaxPotentialBlockSize(&n, &m, e, 0, 0, 100)); V("%d", m); T(cuOccupancyMaxPotentialBlockSize(&n, &m, b, 0, 0, 0)); V("%d", m); T(cuOccupancyMaxPotentialBlockSize(NULL, &m, e, 0, 0, 0)); T(cuOccupancyMaxPotentialBlockSize(&n, NULL, e, 0, 0, 0)); size_t dz; T(cuOccupancyAvailableDynamicSMemPerBlock(&dz, e, 1, 128)); T(cuOccupancyAvailableDynamicSMemPerBlock(&dz, e, 0, 128));
  CUlaunchConfig c; memset(&c, 0, sizeof c); T(cuLaunchKernelEx(&c, e, 0, 0)); c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimX = c.blockDimY = c.blockDimZ = 1; CUlaunchAttribute at[2]; memset(at, 0, sizeof at); c.numAttrs = 1; T(cuLaunchKernelEx(&c, e, 0, 0)); c.attrs = at; at[0].id = CU_LAUNCH_ATTRIBUTE_IGNORE; T(cuLaunchKernelEx(&c, e, 0, 0)); at[0].id = (CUlaunchAttributeID)99; T(cuLaunchKernelEx(&c, e, 0, 0)); at[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION; at[0].value.clusterDim.x = 2; at[0].value.clusterDim.y = at[0].value.clusterDim.z = 1; T(cuLaunchKernelEx(&c, e, 0, 0)); c.gridDimX = 4; T(cuLaunchKernelEx(&c, e, 0, 0)); at[0].value.clusterDim.x = 0; T(cuLaunchKernelEx(&c, e, 0, 0)); c.gridDimX = 64; at[0].value.clusterDim.x = 16; T(cuLaunchKernelEx(&c, e, 0, 0)); at[0].value.clusterDim.x = 8; T(cuLaunchKernelEx(&c, e, 0, 0)); at[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY; at[0].value.priority = -1; T(cuLaunchKernelEx(&c, e, 0, 0)); at[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION; at[0].value.programmaticStreamSerializationAllowed = 1; T(cuLaunchKernelEx(&c, e, 0, 0)); T(cuCtxSynchronize());
}
static void legacy_launch(void) {
  upm();
  CUfunction s = fn("store"), e = fn("empty"); CUdeviceptr p; cuMemAlloc(&p, 64); cuMemsetD8(p, 0, 64); unsigned h = 0;
  T(cuLaunch(e)); T(cuFuncSetBlockShape(s, 1, 1, 1)); T(cuFuncSetBlockShape(s, 0, 1, 1)); T(cuFuncSetBlockShape(s, -1, 1, 1)); T(cuFuncSetBlockShape(s, 2000, 1, 1)); T(cuFuncSetBlockShape(NULL, 1, 1, 1)); T(cuFuncSetBlockShape(s, 1, 1, 1)); T(cuFuncSetSharedSize(s, 16)); T(cuFuncSetSharedSize(s, 1 << 20)); T(cuFuncSetSharedSize(s, 0)); T(cuParamSetv(s, 0, &p, 8)); T(cuParamSeti(s, 8, 42)); T(cuParamSetSize(s, 12)); T(cuLaunch(s)); T(cuMemcpyDtoH(&h, p, 4)); V("%u", h); T(cuParamSeti(s, 8, 43)); T(cuLaunchGrid(s, 2, 1)); T(cuMemcpyDtoH(&h, p, 4)); V("%u", h); T(cuLaunchGridAsync(s, 1, 1, 0)); T(cuLaunchGrid(s, 0, 1)); T(cuLaunchGrid(s, -1, 1)); T(cuParamSetf(s, 8, 1.5f)); T(cuLaunch(s)); T(cuMemcpyDtoH(&h, p, 4)); V("%x", h); T(cuParamSetSize(s, 4)); T(cuLaunch(s)); T(cuParamSetSize(s, 100000)); T(cuParamSetv(s, 100000, &p, 8)); T(cuParamSetv(s, 0, NULL, 8)); N(cuParamSetv(s, -4, &p, 8)); T(cuParamSeti(NULL, 0, 1)); T(cuParamSetSize(NULL, 1)); T(cuLaunch(NULL)); T(cuParamSetTexRef(s, 0, 0)); T(cuFuncSetBlockShape(e, 1, 1, 1)); T(cuLaunch(e)); T(cuCtxSynchronize());
}
static CUresult faulty(const char *name, void **args) {
  CUfunction f = fn(name);
  CUresult r = go(f, args);
  if (r) { printf("launch: %s\n", nm(r)); return r; }
  return cuCtxSynchronize();
}
#define FAULT(fname, kernel, ...)                                                                               \
  static void fname(void) {                                                                                     \
    upm();                                                                                                      \
    void *args[] = {__VA_ARGS__};                                                                               \
    CUresult r = faulty(kernel, args);                                                                          \
    V("%s", nm(r));                                                                                             \
    CUdeviceptr p; CUcontext c; CUstream s; int h; size_t z; CUmodule m; CUevent e; CUdevice d; int n;          \
    T(cuMemAlloc(&p, 16)); T(cuCtxSynchronize()); T(cuStreamQuery(0)); T(cuMemGetInfo(&z, &z)); T(cuModuleLoadData(&m, PTX)); T(cuEventCreate(&e, 0)); T(cuCtxGetDevice(&d)); T(cuDeviceGetCount(&n)); T(cuCtxCreate_v2(&c, 0, 0)); T(cuDevicePrimaryCtxRetain(&c, 0)); T(cuCtxDestroy(ctx)); T(cuCtxCreate_v2(&c, 0, 0)); T(cuMemAlloc(&p, 16)); \
  }
static CUdeviceptr null_pointer, odd_pointer = 0x700000000001; static unsigned far_out = 1u << 20, n_small = 3, n_deep = 1000000; static unsigned long long far_local = 1 << 24; static char on_host[64]; static void *host_pointer = on_host;
FAULT(fault_trap, "trapping", 0)
FAULT(fault_breakpoint, "breakpoint", 0)
FAULT(fault_null, "misaligned", &null_pointer)
FAULT(fault_wild, "store", &odd_pointer, &n_small)
FAULT(fault_host_pointer, "store", &host_pointer, &n_small)
FAULT(fault_shared, "shared_out", &far_out)
FAULT(fault_local, "local_out", &far_local)
FAULT(fault_recursion, "recurse", &n_deep)
FAULT(fault_assert, "asserting", 0)
static void fault_misaligned(void) { upm(); CUdeviceptr p; cuMemAlloc(&p, 64); void *a[] = {&p}; V("%s", nm(faulty("misaligned", a))); CUcontext c; T(cuCtxSynchronize()); T(cuCtxDestroy(ctx)); T(cuCtxCreate_v2(&c, 0, 0)); }
static void fault_freed(void) { upm(); CUdeviceptr p; cuMemAlloc(&p, 64 << 20); cuMemFree(p); void *a[] = {&p, &n_small}; V("%s", nm(faulty("store", a))); }
static void small_recursion(void) { upm(); unsigned n = 100; void *a[] = {&n}; T(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 128 * 1024)); V("%s", nm(faulty("recurse", a))); }
static void printing(void) { upm(); T(go(fn("printing"), 0)); T(cuCtxSynchronize()); }
static void fault_other_context(void) { upm(); CUcontext b, c; CUdeviceptr p; T(cuCtxCreate_v2(&b, 0, 0)); T(cuMemAlloc(&p, 64)); T(cuCtxSetCurrent(ctx)); V("%s", nm(faulty("trapping", 0))); T(cuCtxSetCurrent(b)); T(cuMemFree(p)); T(cuMemAlloc(&p, 64)); T(cuCtxSynchronize()); }

// -- memory
static void copies(void) {
  up();
  CUdeviceptr p, q; char h[4096], g[4096]; size_t pitch; memset(h, 7, 4096); cuMemAlloc(&p, 4096); cuMemAlloc(&q, 4096);
  T(cuMemcpy(q, p, 4096)); T(cuMemcpy((CUdeviceptr)h, p, 64)); T(cuMemcpy(p, (CUdeviceptr)h, 64)); T(cuMemcpy((CUdeviceptr)g, (CUdeviceptr)h, 64)); V("%d", g[63]); T(cuMemcpyHtoD((CUdeviceptr)g, h, 16)); T(cuMemcpyDtoH(g, (CUdeviceptr)h, 16)); T(cuMemcpyDtoD(p, (CUdeviceptr)h, 16)); T(cuMemcpyDtoH(g, p + 4090, 16)); T(cuMemcpyDtoH(g, p, 5000)); T(cuMemcpyDtoD(p, p + 1, 100)); T(cuMemcpyDtoD(p, q + 4000, 200)); T(cuMemsetD8(p + 4090, 1, 16)); T(cuMemsetD8(p, 1, 5000)); T(cuMemcpyHtoD(12345, h, 4)); T(cuMemcpyDtoH(g, 12345, 4)); T(cuMemsetD8(12345, 1, 4)); T(cuMemsetD8((CUdeviceptr)g, 1, 4));
  T(cuMemcpyHtoDAsync(p, h, 64, 0)); T(cuMemcpyDtoHAsync(g, p, 64, 0)); T(cuMemcpyDtoDAsync(q, p, 64, 0)); T(cuMemcpyAsync(q, p, 64, 0)); N(cuMemcpyHtoDAsync(p, h, 64, (CUstream)0x1230)); T(cuMemcpyHtoDAsync(p, NULL, 64, 0)); T(cuMemsetD32Async(p, 5, 4, 0)); T(cuMemsetD32Async(p + 1, 5, 4, 0)); T(cuStreamSynchronize(0));
  CUDA_MEMCPY2D c; memset(&c, 0, sizeof c); c.srcMemoryType = CU_MEMORYTYPE_HOST; c.srcHost = h; c.srcPitch = 64; c.dstMemoryType = CU_MEMORYTYPE_DEVICE; c.dstDevice = p; c.dstPitch = 64; c.WidthInBytes = 32; c.Height = 8; T(cuMemcpy2D(&c)); T(cuMemcpy2DUnaligned(&c)); T(cuMemcpy2DAsync(&c, 0)); T(cuMemcpy2D(NULL)); c.srcPitch = 16; T(cuMemcpy2D(&c)); c.srcPitch = 0; T(cuMemcpy2D(&c)); c.srcPitch = 64; c.Height = 0; T(cuMemcpy2D(&c)); c.Height = 8; c.WidthInBytes = 0; T(cuMemcpy2D(&c)); c.WidthInBytes = 32; c.Height = 65; T(cuMemcpy2D(&c)); c.Height = 64; T(cuMemcpy2D(&c)); c.Height = 8; c.dstMemoryType = (CUmemorytype)9; T(cuMemcpy2D(&c)); c.dstMemoryType = CU_MEMORYTYPE_ARRAY; T(cuMemcpy2D(&c)); c.dstMemoryType = CU_MEMORYTYPE_DEVICE; c.dstDevice = 0; T(cuMemcpy2D(&c)); c.dstDevice = p; c.srcHost = NULL; T(cuMemcpy2D(&c)); c.srcMemoryType = CU_MEMORYTYPE_UNIFIED; c.srcDevice = q; T(cuMemcpy2D(&c)); c.srcXInBytes = 40; T(cuMemcpy2D(&c));
  CUDA_MEMCPY3D d; memset(&d, 0, sizeof d); d.srcMemoryType = CU_MEMORYTYPE_HOST; d.srcHost = h; d.srcPitch = 16; d.srcHeight = 4; d.dstMemoryType = CU_MEMORYTYPE_DEVICE; d.dstDevice = p; d.dstPitch = 16; d.dstHeight = 4; d.WidthInBytes = 16; d.Height = 4; d.Depth = 4; T(cuMemcpy3D(&d)); d.srcHeight = 2; T(cuMemcpy3D(&d)); d.srcHeight = 0; T(cuMemcpy3D(&d)); d.srcHeight = 4; d.Depth = 0; T(cuMemcpy3D(&d)); d.Depth = 4; d.srcLOD = 1; T(cuMemcpy3D(&d)); d.srcLOD = 0; d.reserved0 = h; T(cuMemcpy3D(&d)); d.reserved0 = 0; T(cuMemcpy3DAsync(&d, 0)); T(cuMemcpy3D(NULL));
  T(cuMemsetD2D8(p, 64, 1, 64, 64)); T(cuMemsetD2D8(p, 64, 1, 64, 65)); T(cuMemsetD2D8(p, 32, 1, 64, 2)); T(cuMemsetD2D8(p, 64, 1, 0, 2)); T(cuMemsetD2D8(p, 64, 1, 2, 0)); T(cuMemsetD2D16(p, 63, 1, 4, 4)); T(cuMemsetD2D32(p, 64, 1, 16, 64)); T(cuMemAllocPitch(&q, &pitch, 100, 10, 4)); V("%zu", pitch); T(cuMemAllocPitch(&q, &pitch, 513, 10, 16)); V("%zu", pitch); T(cuMemAllocPitch(&q, &pitch, 100, 10, 0)); T(cuMemAllocPitch(&q, &pitch, 100, 10, 8)); T(cuMemAllocPitch(NULL, &pitch, 100, 10, 4)); T(cuMemAllocPitch(&q, NULL, 100, 10, 4));
}
static void pointers(void) {
  up();
  CUdeviceptr p, m, a; void *h; static char page[8192] __attribute__((aligned(4096))); CUcontext c; int v; unsigned u; unsigned long long id, id2; size_t z; void *hp; CUdeviceptr dp; char local[16];
  cuMemAlloc(&p, 100); cuMemAllocHost(&h, 100); T(cuMemAllocManaged(&m, 100, CU_MEM_ATTACH_GLOBAL)); T(cuMemAllocManaged(&a, 100, 0)); T(cuMemAllocManaged(&a, 0, 1)); T(cuMemAllocManaged(NULL, 10, 1)); T(cuMemAllocManaged(&a, 100, 3)); T(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_SINGLE)); T(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_HOST)); cuMemHostRegister(page, 4096, 0);
  struct { const char *n; CUdeviceptr p; } t[] = {{"device", p}, {"device+50", p + 50}, {"device+100", p + 100}, {"device+600", p + 600}, {"host", (CUdeviceptr)h}, {"managed", m}, {"registered", (CUdeviceptr)page}, {"beyond registered", (CUdeviceptr)page + 4096}, {"stack", (CUdeviceptr)local}, {"null", 0}, {"16", 16}};
  for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
#define PA(attr, var, fmt, expr) do { memset(&var, 0, sizeof var); CUresult r_ = cuPointerGetAttribute(&var, attr, t[i].p); printf("%-20s %-50s = %s " fmt "\n", t[i].n, #attr, nm(r_), expr); } while (0)
    PA(CU_POINTER_ATTRIBUTE_CONTEXT, c, "%d", c == ctx); PA(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, v, "%d", v); PA(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, dp, "%d", dp == t[i].p); PA(CU_POINTER_ATTRIBUTE_HOST_POINTER, hp, "%d", hp == (void *)t[i].p); PA(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, v, "%d", v); PA(CU_POINTER_ATTRIBUTE_IS_MANAGED, v, "%d", v); PA(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, v, "%d", v); PA(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, v, "%d", v); PA(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, dp, "%d", dp ? (int)(t[i].p - dp) : -1); PA(CU_POINTER_ATTRIBUTE_RANGE_SIZE, z, "%zu", z); PA(CU_POINTER_ATTRIBUTE_MAPPED, v, "%d", v); PA(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, id, "%llu", id); PA(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, hp, "%d", hp != 0); PA(CU_POINTER_ATTRIBUTE_BUFFER_ID, id, "%d", id != 0);
  }
  // How wide flags are.
  static const CUpointer_attribute flags[] = {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_MAPPED, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE};
  for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) { unsigned char wide[16]; int n = 16; memset(wide, 0xab, 16); cuPointerGetAttribute(wide, flags[i], p); while (n && wide[n - 1] == 0xab) n--; printf("pointer attribute %d: %d bytes\n", flags[i], n); }
  T(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_CONTEXT, p)); T(cuPointerGetAttribute(&v, (CUpointer_attribute)99, p)); T(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p)); v = 1; T(cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p)); T(cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_CONTEXT, p)); T(cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 16)); CUpointer_attribute at[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL}; void *dv[] = {&c, &u, &v}; c = 0; u = 9; v = 9; T(cuPointerGetAttributes(3, at, dv, p)); V("%d %u %d", c == ctx, u, v); c = ctx; u = 9; v = 9; T(cuPointerGetAttributes(3, at, dv, (CUdeviceptr)local)); V("%d %u %d", c == 0, u, v); T(cuPointerGetAttributes(0, at, dv, p)); T(cuPointerGetAttributes(3, NULL, dv, p));
  memset((void *)m, 5, 100); unsigned char b[4]; T(cuMemcpyDtoH(b, m, 4)); V("%d", b[3]); T(cuMemPrefetchAsync(m, 100, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, 0)); T(cuMemAdvise(m, 100, CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0})); T(cuMemAdvise(p, 100, CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0})); int rm = 9; T(cuMemRangeGetAttribute(&rm, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 100)); V("%d", rm); T(cuStreamAttachMemAsync(0, m, 0, CU_MEM_ATTACH_GLOBAL)); T(cuStreamAttachMemAsync(0, p, 0, CU_MEM_ATTACH_GLOBAL)); T(cuMemFree(m)); T(cuMemFreeHost((void *)m)); T(cuMemFree((CUdeviceptr)h)); T(cuMemFreeHost((void *)p)); T(cuMemHostGetFlags(&u, (void *)p)); T(cuMemHostGetFlags(&u, page)); V("%u", u); T(cuMemHostGetFlags(&u, local)); T(cuMemHostGetDevicePointer(&dp, page + 8, 0)); B(dp == (CUdeviceptr)page + 8); T(cuMemHostGetDevicePointer(&dp, local, 0)); T(cuMemHostGetDevicePointer(NULL, h, 0)); T(cuMemHostUnregister(page + 8)); T(cuMemHostUnregister(page)); T(cuMemHostAlloc(&h, 64, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED)); T(cuMemHostGetFlags(&u, h)); V("%u", u); T(cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_READ_ONLY)); T(cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_IOMEMORY)); T(cuMemHostRegister(page + 4096, 4096, 0x100)); T(cuMemHostRegister((void *)p, 64, 0));
}
static void pools(void) {
  up();
  CUdeviceptr p = 0, q; CUmemoryPool mp = 0, d; cuuint64_t v = 9; int iv = 9; CUstream s; cuStreamCreate(&s, 0); T(cuMemAllocAsync(&p, 100, s)); T(cuMemsetD8Async(p, 1, 100, s)); T(cuMemFreeAsync(p, s)); T(cuStreamSynchronize(s)); T(cuMemFreeAsync(p, s)); T(cuMemAllocAsync(&p, 0, s)); T(cuMemAllocAsync(NULL, 10, s)); T(cuMemAllocAsync(&p, (size_t)1 << 50, s)); T(cuMemAllocAsync(&p, 100, s)); T(cuMemFree(p)); T(cuMemAlloc(&q, 64)); T(cuMemFreeAsync(q, s)); cuDeviceGetDefaultMemPool(&d, 0); T(cuMemPoolGetAttribute(d, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v)); V("%llu", (unsigned long long)v); T(cuMemPoolGetAttribute(d, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &iv)); V("%d", iv); v = 1 << 20; T(cuMemPoolSetAttribute(d, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v)); T(cuMemPoolGetAttribute(d, (CUmemPool_attribute)99, &v)); T(cuMemPoolTrimTo(d, 0)); T(cuMemPoolDestroy(d)); CUmemPoolProps pr; memset(&pr, 0, sizeof pr); T(cuMemPoolCreate(&mp, &pr)); pr.allocType = CU_MEM_ALLOCATION_TYPE_PINNED; pr.location.type = CU_MEM_LOCATION_TYPE_DEVICE; T(cuMemPoolCreate(&mp, &pr)); T(cuMemAllocFromPoolAsync(&p, 100, mp, s)); CUmemoryPool gp = 0; T(cuPointerGetAttribute(&gp, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p)); B(gp == mp); T(cuMemFreeAsync(p, s)); T(cuMemPoolDestroy(mp)); T(cuMemPoolDestroy(mp)); T(cuMemPoolDestroy(NULL)); T(cuMemPoolCreate(&mp, NULL));
}
static void virtual_memory(void) {
  up();
  size_t g = 0; CUmemAllocationProp pr; memset(&pr, 0, sizeof pr); T(cuMemGetAllocationGranularity(&g, &pr, CU_MEM_ALLOC_GRANULARITY_MINIMUM)); pr.type = CU_MEM_ALLOCATION_TYPE_PINNED; pr.location.type = CU_MEM_LOCATION_TYPE_DEVICE; T(cuMemGetAllocationGranularity(&g, &pr, CU_MEM_ALLOC_GRANULARITY_MINIMUM)); V("%zu", g); T(cuMemGetAllocationGranularity(&g, &pr, (CUmemAllocationGranularity_flags)9)); CUdeviceptr p = 0; T(cuMemAddressReserve(&p, g * 4, 0, 0, 0)); B(p % g == 0); T(cuMemAddressReserve(&p, 100, 0, 0, 0)); CUdeviceptr r = 0; T(cuMemAddressReserve(&r, g, 0, 0, 0)); CUmemGenericAllocationHandle h, h2; T(cuMemCreate(&h, 100, &pr, 0)); T(cuMemCreate(&h, g, &pr, 0)); T(cuMemMap(p, g, 0, h, 0)); CUmemAccessDesc ad = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}; T(cuMemsetD8(p, 1, 4)); T(cuMemSetAccess(p, g, &ad, 1)); T(cuMemsetD8(p, 1, 4)); unsigned long long fl = 0; T(cuMemGetAccess(&fl, &ad.location, p)); V("%llu", fl); T(cuMemMap(p, g, 0, h, 0)); T(cuMemMap(p + 1, g, 0, h, 0)); T(cuMemRetainAllocationHandle(&h2, (void *)p)); B(h == h2); T(cuMemRelease(h2)); T(cuMemGetAllocationPropertiesFromHandle(&pr, h)); T(cuMemRelease(h)); T(cuMemsetD8(p, 1, 4)); T(cuMemAddressFree(p, g * 4)); T(cuMemUnmap(p, 100)); T(cuMemUnmap(p, g)); T(cuMemUnmap(p, g)); T(cuMemAddressFree(p, g)); T(cuMemAddressFree(p, g * 4)); T(cuMemRelease(h)); T(cuMemRelease(0));
}

// -- streams and events
static void *late_store(void *x) { usleep(20000); *(volatile unsigned *)x = 1; return 0; }
static int order[8], ordered;
static void note(void *u) { order[ordered++ & 7] = (int)(intptr_t)u; }
static void CUDA_CB callback(CUstream s, CUresult r, void *u) { order[ordered++ & 7] = (int)(intptr_t)u; }
static void asynchrony(void) {
  upm();
  CUstream a, b, n; CUevent e, g; unsigned *flag; cuMemHostAlloc((void **)&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP); *flag = 0; CUdeviceptr fp = (CUdeviceptr)flag; void *args[] = {&fp}; cuStreamCreate(&a, 0); cuStreamCreate(&b, 0); cuStreamCreate(&n, CU_STREAM_NON_BLOCKING); cuEventCreate(&e, 0); cuEventCreate(&g, 0); CUfunction w = fn("waits"), em = fn("empty"); cuFuncLoad(em);
  T(cuLaunchKernel(w, 1, 1, 1, 1, 1, 1, 0, a, args, 0)); T(cuStreamQuery(a)); T(cuEventRecord(e, a)); T(cuEventQuery(e)); T(cuLaunchKernel(em, 1, 1, 1, 1, 1, 1, 0, b, 0, 0)); T(cuStreamSynchronize(b)); T(cuStreamWaitEvent(b, e, 0)); T(cuEventRecord(g, b)); T(cuEventQuery(g)); float ms; T(cuEventElapsedTime(&ms, e, g)); T(cuLaunchKernel(em, 1, 1, 1, 1, 1, 1, 0, n, 0, 0)); T(cuStreamSynchronize(n)); T(cuLaunchHostFunc(b, note, (void *)1)); T(cuStreamAddCallback(b, callback, (void *)2, 0)); T(cuLaunchHostFunc(a, note, (void *)0)); T(cuLaunchKernel(em, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)); T(cuStreamQuery(0)); T(cuStreamDestroy(a)); *(volatile unsigned *)flag = 1; T(cuCtxSynchronize()); T(cuEventQuery(g)); T(cuEventElapsedTime(&ms, e, g)); B(ms >= 0); V("%d", ordered); *flag = 0; pthread_t t; pthread_create(&t, 0, late_store, flag); T(cuLaunchKernel(w, 1, 1, 1, 1, 1, 1, 0, 0, args, 0)); T(cuCtxSynchronize()); pthread_join(t, 0); *flag = 0; T(cuStreamWaitValue32(b, fp, 1, CU_STREAM_WAIT_VALUE_GEQ)); T(cuStreamQuery(b)); T(cuStreamWriteValue32(n, fp, 1, 0)); T(cuStreamSynchronize(b)); unsigned v = 0; T(cuStreamWriteValue64(b, fp + 8, 0x100000002ull, 0)); T(cuStreamWaitValue64(b, fp + 8, 0x100000002ull, CU_STREAM_WAIT_VALUE_EQ)); T(cuStreamWriteValue64(b, fp + 4, 1, 0)); T(cuStreamSynchronize(b)); V("%u", flag[3]); CUstreamBatchMemOpParams ops[2]; memset(ops, 0, sizeof ops); ops[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32; ops[0].writeValue.address = fp + 16; ops[0].writeValue.value = 5; ops[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32; ops[1].waitValue.address = fp + 16; ops[1].waitValue.value = 5; ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ; T(cuStreamBatchMemOp(b, 2, ops, 0)); T(cuStreamSynchronize(b)); V("%u", flag[4]); T(cuStreamBatchMemOp(b, 0, ops, 0)); N(cuStreamBatchMemOp(b, 1, NULL, 0)); ops[0].operation = 77; T(cuStreamBatchMemOp(b, 1, ops, 0));
}
static void stream_handles(void) {
  up();
  CUstream s = 0, bad = (CUstream)0x12340; CUevent e = 0, bade = (CUevent)0x12340; unsigned u; int v; CUcontext c; unsigned long long id, id2; cuStreamCreate(&s, 0); cuEventCreate(&e, 0);
  T(cuStreamGetId(s, &id)); T(cuStreamGetId(0, &id2)); B(id != id2); T(cuStreamGetId(s, NULL)); T(cuStreamGetPriority(0, &v)); V("%d", v); T(cuStreamGetPriority(s, NULL)); T(cuStreamGetFlags(s, NULL)); T(cuStreamGetFlags(CU_STREAM_PER_THREAD, &u)); V("%u", u); T(cuStreamGetFlags(CU_STREAM_LEGACY, &u)); V("%u", u); CUdevice d; T(cuStreamGetDevice(s, &d)); T(cuStreamGetCtx(s, NULL)); CUstream t; T(cuStreamCreateWithPriority(&t, 0, 100)); T(cuStreamGetPriority(t, &v)); V("%d", v); T(cuStreamCreateWithPriority(&t, 7, 0)); T(cuStreamCopyAttributes(s, t)); CUstreamAttrValue av; T(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &av)); T(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &av)); T(cuStreamGetAttribute(s, (CUstreamAttrID)99, &av)); CUstreamCaptureStatus cs; T(cuStreamIsCapturing(s, &cs)); V("%d", (int)cs); T(cuStreamIsCapturing(0, &cs)); T(cuStreamIsCapturing(s, NULL)); T(cuEventRecord(e, 0)); T(cuEventRecord(e, CU_STREAM_PER_THREAD)); T(cuStreamWaitEvent(0, e, 0)); T(cuStreamWaitEvent(s, e, 5)); T(cuEventElapsedTime((float[]){0}, e, NULL)); T(cuEventDestroy(NULL)); T(cuEventQuery(NULL)); T(cuEventSynchronize(NULL)); T(cuEventCreate(&e, CU_EVENT_BLOCKING_SYNC)); T(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)); CUcontext c2; cuCtxCreate_v2(&c2, 0, 0); T(cuStreamSynchronize(s)); T(cuStreamQuery(s)); CUevent e2; cuEventCreate(&e2, 0); T(cuEventRecord(e2, s)); CUdeviceptr p; cuMemAlloc(&p, 16); T(cuMemsetD8Async(p, 1, 16, s)); T(cuStreamWaitEvent(s, e2, 0)); cuCtxDestroy(c2); T(cuEventQuery(e2)); T(cuStreamDestroy(s));
}
static void stale_stream(void) { up(); CUstream s; cuStreamCreate(&s, 0); T(cuStreamDestroy(s)); N(cuStreamSynchronize(s)); N(cuStreamQuery(s)); N(cuStreamDestroy(s)); }
static void stale_event(void) { up(); CUevent e; cuEventCreate(&e, 0); T(cuEventDestroy(e)); N(cuEventQuery(e)); N(cuEventDestroy(e)); }
static void foreign_stream(void) { up(); N(cuStreamSynchronize((CUstream)0x12340)); }
static void foreign_event(void) { up(); N(cuEventQuery((CUevent)0x12340)); }
static void stale_function(void) { upm(); CUfunction f = fn("empty"); cuModuleUnload(mod); T(go(f, 0)); }
static void stale_array(void) { up(); CUarray a; CUDA_ARRAY_DESCRIPTOR d = {16, 8, CU_AD_FORMAT_FLOAT, 1}; cuArrayCreate(&a, &d); T(cuArrayDestroy(a)); N(cuArrayGetDescriptor(&d, a)); N(cuArrayDestroy(a)); }
static void libraries(void) {
  up();
  CUlibrary l; CUkernel k, k2; CUfunction f, f2; CUmodule m; const char *s; unsigned n; int v; size_t z, o; CUdeviceptr p; CUkernel ks[8]; void *x; CUlibrary l2;
  T(cuLibraryLoadData(&l, PTX, 0, 0, 0, 0, 0, 0)); T(cuLibraryGetKernel(&k, l, "store")); T(cuLibraryGetModule(&m, l)); T(cuModuleGetFunction(&f, m, "store")); T(cuKernelGetFunction(&f2, k)); B(f == f2); B((void *)k == (void *)f2); T(cuFuncGetName(&s, (CUfunction)k)); T(cuKernelGetName(&s, k)); V("%s", s); T(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (CUfunction)k)); T(cuFuncGetModule(&m, (CUfunction)k)); T(cuKernelGetLibrary(&l2, k)); B(l == l2); T(cuKernelGetParamInfo(k, 1, &o, &z)); V("%zu %zu", o, z); T(cuKernelGetParamInfo(k, 2, &o, &z)); T(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 9)); T(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, k, 0)); T(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, 0)); V("%d", v); T(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f)); V("%d", v); T(cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_L1, 0)); T(cuLibraryEnumerateKernels(ks, 2, l)); T(cuLibraryGetGlobal(&p, &z, l, "nope")); T(cuLibraryGetGlobal(NULL, NULL, l, "counter")); T(cuLibraryGetManaged(&p, &z, l, "counter")); T(cuLibraryGetUnifiedFunction(&x, l, "store")); T(cuLibraryGetKernel(NULL, l, "store")); T(cuLibraryGetKernel(&k2, l, NULL)); T(cuLibraryGetKernelCount(NULL, l)); T(cuLibraryLoadData(&l2, NULL, 0, 0, 0, 0, 0, 0)); CUlibraryOption lo[] = {CU_LIBRARY_BINARY_IS_PRESERVED}; void *lv[] = {(void *)1}; T(cuLibraryLoadData(&l2, PTX, 0, 0, 0, lo, lv, 1)); lo[0] = (CUlibraryOption)99; T(cuLibraryLoadData(&l2, PTX, 0, 0, 0, lo, lv, 1)); T(cuLibraryUnload(l)); T(cuModuleUnload(m));
}
static void library_without_context(void) { cuInit(0); CUlibrary l; CUkernel k; CUfunction f; CUmodule m; CUdeviceptr p; size_t z; T(cuLibraryLoadData(&l, PTX, 0, 0, 0, 0, 0, 0)); T(cuLibraryGetKernel(&k, l, "empty")); T(cuKernelGetFunction(&f, k)); T(cuLibraryGetModule(&m, l)); T(cuLibraryGetGlobal(&p, &z, l, "counter")); T(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)); up(); T(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)); T(cuKernelGetFunction(&f, k)); CUcontext c2; cuCtxCreate_v2(&c2, 0, 0); CUfunction g; T(cuKernelGetFunction(&g, k)); B(f != g); T(cuCtxSynchronize()); }
static void linking(void) {
  up();
  CUlinkState l; void *c; size_t n; char err[1024] = "", info[1024] = ""; CUjit_option o[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE, CU_JIT_WALL_TIME}; void *v[] = {err, (void *)1024, info, (void *)1024, (void *)1, 0}; CUmodule m;
  static const char A[] = ".version 7.0\n.target sm_52\n.address_size 64\n.extern .func nope();\n.visible .entry k() { call nope; ret; }\n", C[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .func f() { ret; }\n.visible .global .u32 g = 1;\n", W[] = ".version 7.0\n.target sm_52\n.address_size 64\n.weak .func f() { ret; }\n.visible .entry w() { call f; ret; }\n", S[] = ".version 7.0\n.target sm_52\n.address_size 64\n.func f() { ret; }\n.visible .entry s() { call f; ret; }\n", G[] = ".version 7.0\n.target sm_52\n.address_size 64\n.extern .global .u64 g;\n.visible .entry g2() { .reg .b64 %d; ld.global.u64 %d,[g]; ret; }\n";
  T(cuLinkCreate(6, o, v, &l)); T(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)A, sizeof A, "a.ptx", 0, 0, 0)); T(cuLinkComplete(l, &c, &n)); V("%s", err); T(cuLinkComplete(l, &c, &n)); T(cuLinkDestroy(l)); T(cuLinkDestroy(NULL)); v[1] = v[3] = (void *)1024; err[0] = 0;
#define ADD(t, name) T(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)t, sizeof t, name, 0, 0, 0))
  T(cuLinkCreate(6, o, v, &l)); ADD(C, "c1"); ADD(C, "c2"); T(cuLinkComplete(l, &c, &n)); V("%s", err); cuLinkDestroy(l); v[1] = v[3] = (void *)1024; T(cuLinkCreate(6, o, v, &l)); ADD(C, "c"); ADD(W, "w"); T(cuLinkComplete(l, &c, &n)); cuLinkDestroy(l); v[1] = v[3] = (void *)1024; T(cuLinkCreate(6, o, v, &l)); ADD(C, "c"); ADD(S, "s"); T(cuLinkComplete(l, &c, &n)); cuLinkDestroy(l); v[1] = v[3] = (void *)1024; T(cuLinkCreate(6, o, v, &l)); ADD(C, "c"); ADD(G, "g"); T(cuLinkComplete(l, &c, &n)); V("%s", err); cuLinkDestroy(l); v[1] = v[3] = (void *)1024; err[0] = 0; T(cuLinkCreate(6, o, v, &l)); T(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)"junk", 5, "j.ptx", 0, 0, 0)); V("%s", err); T(cuLinkComplete(l, &c, &n)); cuLinkDestroy(l); v[1] = v[3] = (void *)1024; T(cuLinkCreate(6, o, v, &l)); ADD(C, "c"); T(cuLinkComplete(l, NULL, &n)); T(cuLinkComplete(l, &c, NULL)); T(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)C, 20, "short", 0, 0, 0)); T(cuLinkAddData(l, CU_JIT_INPUT_CUBIN, (void *)C, sizeof C, "c", 0, 0, 0)); T(cuLinkAddData(l, CU_JIT_INPUT_FATBINARY, (void *)C, sizeof C, "c", 0, 0, 0)); T(cuLinkAddData(l, CU_JIT_INPUT_OBJECT, (void *)C, sizeof C, "c", 0, 0, 0)); T(cuLinkAddData(l, CU_JIT_INPUT_LIBRARY, (void *)C, sizeof C, "c", 0, 0, 0)); T(cuLinkAddData(NULL, CU_JIT_INPUT_PTX, (void *)C, sizeof C, "c", 0, 0, 0)); T(cuLinkAddFile(l, CU_JIT_INPUT_PTX, NULL, 0, 0, 0)); T(cuLinkDestroy(l));
}
static void graphs_capture(void) {
  upm();
  CUstream s; CUgraph g = 0; CUgraphExec x; size_t n = 0; CUstreamCaptureStatus st; CUfunction f = fn("store"); CUdeviceptr p; unsigned v = 5, h = 0; cuMemAlloc(&p, 64); void *a[] = {&p, &v}; cuStreamCreate(&s, CU_STREAM_NON_BLOCKING); T(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL)); T(cuStreamIsCapturing(s, &st)); V("%d", (int)st); T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, a, 0)); T(cuMemsetD32Async(p + 4, 9, 1, s)); T(cuStreamSynchronize(s)); T(cuStreamEndCapture(s, &g)); T(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED)); T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, a, 0)); T(cuMemsetD32Async(p + 4, 9, 1, s)); T(cuStreamEndCapture(s, &g)); T(cuGraphGetNodes(g, NULL, &n)); V("%zu", n); T(cuGraphInstantiate(&x, g, 0)); T(cuGraphLaunch(x, s)); T(cuStreamSynchronize(s)); T(cuMemcpyDtoH(&h, p, 4)); V("%u", h); T(cuGraphExecDestroy(x)); T(cuGraphDestroy(g)); T(cuStreamEndCapture(s, &g)); T(cuStreamBeginCapture(0, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void fork_after_init(void) {
  upm(); int n; CUcontext c; CUdeviceptr p; void *f; fflush(stdout);
  pid_t pid = fork();
  if (!pid) { T(cuDriverGetVersion(&n)); T(cuInit(0)); T(cuDeviceGetCount(&n)); T(cuCtxGetCurrent(&c)); T(cuMemAlloc(&p, 16)); T(cuCtxSynchronize()); T(cuGetErrorName(CUDA_SUCCESS, (const char **)&f)); T(cuGetProcAddress("cuInit", &f, 12000, 0, NULL)); T(cuCtxDestroy(ctx)); fflush(stdout); _exit(0); }
  int st; waitpid(pid, &st, 0); V("child signal %d", WIFSIGNALED(st) ? WTERMSIG(st) : 0); T(cuMemAlloc(&p, 16));
}
static void fork_before_context(void) {
  cuInit(0); fflush(stdout); pid_t pid = fork(); int n; CUcontext c;
  if (!pid) { T(cuDeviceGetCount(&n)); T(cuInit(0)); T(cuCtxCreate_v2(&c, 0, 0)); fflush(stdout); _exit(0); }
  int st; waitpid(pid, &st, 0); V("child signal %d", WIFSIGNALED(st) ? WTERMSIG(st) : 0);
}
static void misc(void) {
  up();
  const void *t = (void *)1; CUuuid u = {{0}}; T(cuGetExportTable(&t, &u)); T(cuGetExportTable(NULL, &u)); T(cuProfilerStart()); T(cuProfilerStop()); const char *s; T(cuGetErrorName((CUresult)12345, &s)); T(cuGetErrorString((CUresult)12345, &s)); N(cuGetErrorName(CUDA_SUCCESS, NULL)); CUipcMemHandle ih; CUdeviceptr p; cuMemAlloc(&p, 64); T(cuIpcGetMemHandle(&ih, p)); T(cuIpcGetMemHandle(&ih, 16)); T(cuIpcOpenMemHandle(&p, ih, 1)); T(cuCtxEnablePeerAccess(ctx, 0)); T(cuCtxDisablePeerAccess(ctx)); T(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER)); CUgreenCtx gc; T(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode[]){CU_STREAM_CAPTURE_MODE_RELAXED})); CUcoredumpSettings cs = CU_COREDUMP_ENABLE_ON_EXCEPTION; unsigned char b[64] = {9}; size_t z = 1; T(cuCoredumpGetAttribute(cs, b, &z)); V("%d", b[0]);
}

#define S(f) {#f, f}
static const struct { const char *n; void (*f)(void); } all[] = {S(old_abi_under_second), S(old_abi_without_context), S(old_abi_contexts), S(attach_detach), S(limits_flags), S(devices), S(jit_options), S(ptx_texts), S(images), S(functions), S(globals_init), S(launch_limits), S(legacy_launch), S(fault_trap), S(fault_breakpoint), S(fault_null), S(fault_wild), S(fault_host_pointer), S(fault_shared), S(fault_local), S(fault_recursion), S(fault_assert), S(fault_misaligned), S(fault_freed), S(small_recursion), S(printing), S(fault_other_context), S(copies), S(pointers), S(pools), S(virtual_memory), S(asynchrony), S(stream_handles), S(stale_stream), S(stale_event), S(foreign_stream), S(foreign_event), S(stale_function), S(stale_array), S(libraries), S(library_without_context), S(linking), S(graphs_capture), S(fork_after_init), S(fork_before_context), S(misc)};
int main(int argc, char **argv) {
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    if (argc > 1 && strcmp(argv[1], all[i].n)) continue;
    printf("== %s\n", all[i].n);
    fflush(stdout);
    pid_t p = fork();
    if (!p) { alarm(60); all[i].f(); fflush(stdout); _exit(0); }
    int st;
    waitpid(p, &st, 0);
    if (WIFSIGNALED(st)) printf("CRASH signal %d\n", WTERMSIG(st));
    fflush(stdout);
  }
  return 0;
}
