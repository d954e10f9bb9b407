// Green contexts, for recording and comparison as in answers.c: parts of a device's multiprocessors, contexts for them, and their streams.
// green.golden is what NVIDIA's driver printed (CUDA 13.0, H200). Numbers that depend on the device are printed as relations.
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> green.c -o green -lcuda; ./green [SCENARIO]
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *nm(CUresult r) {
  const char *s = 0;
  return cuGetErrorName(r, &s) == CUDA_SUCCESS && s ? s : "unknown code";
}
#define T(e)                                    \
  do {                                          \
    CUresult r_ = (e);                          \
    printf("%-78s = %s\n", #e, nm(r_));         \
    fflush(stdout);                             \
  } while (0)
#define V(fmt, ...)                             \
  do {                                          \
    printf("    " fmt "\n", __VA_ARGS__);       \
    fflush(stdout);                             \
  } while (0)
#define B(e) V("%s: %d", #e, (int)!!(e))

// Each CTA marks the multiprocessor on which it runs.
static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry mark(.param .u64 p) { .reg .b64 %d<3>; .reg .b32 %r<5>; .reg .pred %q; ld.param.u64 %d1,[p]; mov.u32 %r1,%smid;"
    " mul.wide.u32 %d2,%r1,4; add.u64 %d2,%d1,%d2; mov.u32 %r3,0;\n"
    "L: add.u32 %r3,%r3,1; setp.lt.u32 %q,%r3,20000; @%q bra L; atom.global.add.u32 %r4,[%d2],%r3; ret; }\n"
    ".visible .entry store(.param .u64 p, .param .u32 v) { .reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1,[p]; ld.param.u32 %r1,[v]; st.global.u32 [%d1],%r1; ret; }\n";
enum { SM = CU_DEV_RESOURCE_TYPE_SM, CONFIG = CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG, QUEUE = CU_DEV_RESOURCE_TYPE_WORKQUEUE };
enum { PLACES = 4096 };

static CUdevice dev;
static CUcontext primary;
static CUmodule mod;
static CUdevResource whole, part[2], rest;
static unsigned least;

static void up(void) {
  cuInit(0);
  cuDeviceGet(&dev, 0);
  cuDevicePrimaryCtxRetain(&primary, dev);
  cuCtxSetCurrent(primary);
  cuModuleLoadData(&mod, PTX);
  cuDeviceGetDevResource(dev, &whole, SM);
  // The smallest part: half of the device at most.
  unsigned groups = 1;
  CUdevResource one;
  cuDevSmResourceSplitByCount(&one, &groups, &whole, 0, 0, 1);
  least = one.sm.smCount;
}
static CUfunction fn(const char *name) {
  CUfunction f = 0;
  cuModuleGetFunction(&f, mod, name);
  return f;
}
// Two contexts with a smallest part each.
static CUgreenCtx green[2];
static CUcontext ctx[2];
static void two(void) {
  up();
  unsigned groups = 2;
  CUdevResourceDesc desc;
  CUresult r = cuDevSmResourceSplitByCount(part, &groups, &whole, &rest, 0, least);
  for (int i = 0; i < 2; i++) {
    r = r ? r : cuDevResourceGenerateDesc(&desc, &part[i], 1);
    r = r ? r : cuGreenCtxCreate(&green[i], desc, dev, CU_GREEN_CTX_DEFAULT_STREAM);
    r = r ? r : cuCtxFromGreenCtx(&ctx[i], green[i]);
  }
  if (r) printf("two failed: %s\n", nm(r));
}

static void resources(void) {
  up();
  CUdevResource r;
  int count = 0;
  cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev);
  memset(&r, 0xff, sizeof r);
  T(cuDeviceGetDevResource(dev, &r, SM));
  B(r.type == SM);
  B((int)r.sm.smCount == count);
  B(r.sm.minSmPartitionSize >= 1 && r.sm.minSmPartitionSize <= r.sm.smCount);
  B(r.sm.smCoscheduledAlignment >= 1);
  V("flags %u", r.sm.flags);
  B(r.nextResource == 0);
  T(cuDeviceGetDevResource(dev, &r, CONFIG));
  T(cuDeviceGetDevResource(dev, &r, QUEUE));
  T(cuDeviceGetDevResource(dev, &r, CU_DEV_RESOURCE_TYPE_INVALID));
  T(cuDeviceGetDevResource(dev, &r, (CUdevResourceType)7));
  T(cuDeviceGetDevResource(dev, 0, SM));
  T(cuDeviceGetDevResource(99, &r, SM));
  T(cuCtxGetDevResource(primary, &r, SM));
  B((int)r.sm.smCount == count);
  T(cuCtxGetDevResource(0, &r, SM));
  T(cuCtxGetDevResource(primary, &r, CONFIG));
  T(cuCtxGetDevResource(primary, &r, QUEUE));
  T(cuGreenCtxGetDevResource(0, &r, SM));
  cuCtxSetCurrent(0);
  T(cuCtxGetDevResource(0, &r, SM));
}
static void splits(void) {
  up();
  CUdevResource r[16];
  unsigned n = 0, all = whole.sm.smCount;
  T(cuDevSmResourceSplitByCount(0, &n, &whole, 0, 0, least));
  B(n >= 1 && n * least <= all);
  n = 2;
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, least));
  V("groups %u", n);
  B(part[0].type == SM && part[1].type == SM);
  B(part[0].sm.smCount == least && part[1].sm.smCount == least);
  B(rest.type == SM || rest.sm.smCount == 0);
  B(rest.sm.smCount == all - 2 * least);
  B(part[0].nextResource == 0);
  n = 1;
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, 0));
  V("groups %u", n);
  B(part[0].sm.smCount == least);
  n = 1;
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, all));
  V("groups %u", n);
  B(part[0].sm.smCount == all);
  B(rest.type == CU_DEV_RESOURCE_TYPE_INVALID);
  n = 5;
  T(cuDevSmResourceSplitByCount(r, &n, &whole, &rest, 0, all));
  V("groups %u", n);
  n = 1;
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, all + 1));
  V("groups %u", n);
  n = 0;
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, least));
  V("groups %u", n);
  n = 1;
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 1, 1));
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 2, 1));
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 3, 1));
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 4, 1));
  T(cuDevSmResourceSplitByCount(part, 0, &whole, &rest, 0, 1));
  T(cuDevSmResourceSplitByCount(part, &n, 0, &rest, 0, 1));
  n = 2;
  cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, least);
  n = 1;
  T(cuDevSmResourceSplitByCount(r, &n, &part[0], 0, 0, 1));
  V("groups %u", n);
  n = 1;
  T(cuDevSmResourceSplitByCount(r, &n, &rest, 0, 0, 0));
  CUdevResource zero = {0};
  n = 1;
  T(cuDevSmResourceSplitByCount(r, &n, &zero, 0, 0, 1));
}
static void descriptions(void) {
  up();
  CUdevResourceDesc desc = 0, other = 0;
  CUdevResource zero = {0}, both[2], again[2];
  unsigned n = 2;
  cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, least);
  n = 2;
  cuDevSmResourceSplitByCount(again, &n, &whole, 0, 0, least);
  T(cuDevResourceGenerateDesc(&desc, &whole, 1));
  B(desc);
  T(cuDevResourceGenerateDesc(&other, &whole, 1));
  B(desc != other);
  T(cuDevResourceGenerateDesc(&desc, part, 1));
  T(cuDevResourceGenerateDesc(&desc, part, 2));
  // NVIDIA's driver crashes in this one.
  if (getenv("ANSWERS_CRASHING")) T(cuDevResourceGenerateDesc(&desc, part, 0));
  T(cuDevResourceGenerateDesc(&desc, 0, 0));
  T(cuDevResourceGenerateDesc(0, part, 1));
  T(cuDevResourceGenerateDesc(&desc, 0, 1));
  T(cuDevResourceGenerateDesc(&desc, &zero, 1));
  both[0] = part[0], both[1] = part[0];
  T(cuDevResourceGenerateDesc(&desc, both, 2));
  both[1] = again[1];
  T(cuDevResourceGenerateDesc(&desc, both, 2));
  both[0] = whole;
  T(cuDevResourceGenerateDesc(&desc, both, 2));
}
static void creation(void) {
  up();
  CUdevResourceDesc desc = 0;
  CUgreenCtx g = 0, h = 0;
  CUcontext c = 0, d = 0;
  CUdevResource r;
  unsigned n = 1, flags;
  int active;
  cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, least);
  cuDevResourceGenerateDesc(&desc, part, 1);
  cuCtxSetCurrent(0);
  cuModuleUnload(mod);
  cuDevicePrimaryCtxRelease(dev);
  T(cuDevicePrimaryCtxGetState(dev, &flags, &active));
  V("active %d", active);
  T(cuGreenCtxCreate(0, desc, dev, 1));
  T(cuGreenCtxCreate(&g, 0, dev, 1));
  T(cuGreenCtxCreate(&g, desc, 99, 1));
  T(cuGreenCtxCreate(&g, desc, dev, 2));
  T(cuGreenCtxCreate(&g, desc, dev, 3));
  T(cuDevicePrimaryCtxGetState(dev, &flags, &active));
  V("active %d", active);
  T(cuGreenCtxCreate(&h, desc, dev, 0));
  // Refused by the driver that was recorded, allowed since.
  if (h) cuGreenCtxDestroy(h);
  T(cuGreenCtxCreate(&g, desc, dev, 1));
  B(g);
  T(cuDevicePrimaryCtxGetState(dev, &flags, &active));
  V("active %d", active);
  T(cuCtxGetCurrent(&c));
  B(c);
  T(cuGreenCtxCreate(&h, desc, dev, 1));
  B(h != g);
  T(cuGreenCtxGetDevResource(g, &r, SM));
  B(r.sm.smCount == least);
  T(cuGreenCtxGetDevResource(g, &r, CONFIG));
  T(cuGreenCtxGetDevResource(g, &r, CU_DEV_RESOURCE_TYPE_INVALID));
  T(cuGreenCtxGetDevResource(g, 0, SM));
  T(cuCtxFromGreenCtx(0, g));
  T(cuCtxFromGreenCtx(&c, 0));
  T(cuCtxFromGreenCtx(&c, g));
  T(cuCtxFromGreenCtx(&d, g));
  B(c == d);
  B((void *)c == (void *)g);
  T(cuCtxGetDevResource(c, &r, SM));
  B(r.sm.smCount == least);
  T(cuGreenCtxDestroy(0));
  T(cuGreenCtxDestroy(h));
  T(cuDevicePrimaryCtxGetState(dev, &flags, &active));
  V("active %d", active);
  T(cuGreenCtxDestroy(g));
  T(cuDevicePrimaryCtxGetState(dev, &flags, &active));
  V("active %d", active);
}
static void current(void) {
  two();
  CUcontext c, p;
  CUdevice d = 77;
  CUgreenCtx g;
  CUdeviceptr a, b;
  CUmodule m;
  CUfunction f;
  unsigned long long id[4] = {0};
  unsigned value = 5, got = 0, flags;
  size_t limit;
  int least_urgent, most_urgent, type;
  CUexecAffinityParam affinity;
  T(cuCtxSetCurrent(ctx[0]));
  T(cuCtxGetCurrent(&c));
  B(c == ctx[0]);
  T(cuCtxGetDevice(&d));
  V("device %d", d);
  T(cuCtxGetId(ctx[0], &id[0]));
  T(cuCtxGetId(primary, &id[1]));
  T(cuGreenCtxGetId(green[0], &id[2]));
  T(cuGreenCtxGetId(0, &id[3]));
  B(id[0] == id[1]);
  B(id[0] == id[2]);
  B(id[2] == id[3]);
  T(cuGreenCtxGetId(green[0], 0));
  T(cuCtxGetFlags(&flags));
  T(cuCtxGetApiVersion(ctx[0], &flags));
  T(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
  T(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  T(cuCtxGetStreamPriorityRange(&least_urgent, &most_urgent));
  T(cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  T(cuCtxGetCacheConfig((CUfunc_cache[]){0}));
  T(cuMemAlloc(&a, 64));
  T(cuPointerGetAttribute(&p, CU_POINTER_ATTRIBUTE_CONTEXT, a));
  B(p == primary);
  B(p == ctx[0]);
  T(cuModuleLoadData(&m, PTX));
  T(cuModuleGetFunction(&f, m, "store"));
  void *args[] = {&a, &value};
  T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
  T(cuCtxSynchronize());
  T(cuMemcpyDtoH(&got, a, 4));
  V("got %u", got);
  value = 6;
  f = fn("store");
  T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
  T(cuMemcpyDtoH(&got, a, 4));
  V("got %u", got);
  T(cuCtxPushCurrent(ctx[1]));
  value = 7;
  T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
  T(cuCtxPopCurrent(&c));
  B(c == ctx[1]);
  T(cuCtxSetCurrent(primary));
  T(cuGreenCtxGetId(0, &id[3]));
  T(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
  V("stack %zu", limit);
  cuCtxSynchronize();
  T(cuMemcpyDtoH(&got, a, 4));
  V("got %u", got);
  T(cuMemFree(a));
  T(cuModuleUnload(m));
  T(cuCtxSynchronize_v2(ctx[0]));
  T(cuCtxGetDevice_v2(&d, ctx[1]));
  T(cuCtxAttach(&c, 0));
  T(cuCtxSetCurrent(ctx[0]));
  T(cuCtxAttach(&c, 0));
  T(cuMemAllocAsync(&b, 64, 0));
  T(cuMemFreeAsync(b, 0));
  T(cuCtxSynchronize());
}
static void streams(void) {
  two();
  CUstream s = 0, t = 0, u = 0;
  CUgreenCtx g;
  CUcontext c;
  CUdevResource r;
  CUdevice d = 77;
  int priority;
  unsigned flags, value = 5, got = 0;
  T(cuGreenCtxStreamCreate(&s, green[0], 0, 0));
  T(cuGreenCtxStreamCreate(&s, green[0], 3, 0));
  T(cuGreenCtxStreamCreate(0, green[0], CU_STREAM_NON_BLOCKING, 0));
  T(cuGreenCtxStreamCreate(&s, 0, CU_STREAM_NON_BLOCKING, 0));
  T(cuGreenCtxStreamCreate(&s, green[0], CU_STREAM_NON_BLOCKING, -100));
  T(cuStreamGetPriority(s, &priority));
  V("priority %d", priority);
  T(cuStreamGetFlags(s, &flags));
  V("flags %u", flags);
  T(cuStreamGetDevice(s, &d));
  V("device %d", d);
  T(cuStreamGetGreenCtx(s, &g));
  B(g == green[0]);
  T(cuStreamGetGreenCtx(s, 0));
  c = 0;
  T((cuStreamGetCtx)(s, &c));
  B(c == primary);
  B(c == ctx[0]);
  c = 0, g = 0;
  T(cuStreamGetCtx_v2(s, &c, &g));
  B(c == primary);
  B(c == ctx[0]);
  B(c == 0);
  B(g == green[0]);
  T(cuStreamCreate(&t, 0));
  T(cuStreamGetGreenCtx(t, &g));
  B(g == 0);
  c = 0, g = (CUgreenCtx)1;
  T(cuStreamGetCtx_v2(t, &c, &g));
  B(c == primary);
  B(g == 0);
  T(cuStreamGetGreenCtx(0, &g));
  B(g == 0);
  T(cuCtxSetCurrent(ctx[1]));
  T(cuStreamCreate(&u, 0));
  if (u) {
    T(cuStreamGetGreenCtx(u, &g));
    B(g == green[1]);
  }
  CUstream v = 0;
  T(cuStreamCreate(&v, CU_STREAM_NON_BLOCKING));
  if (v) {
    T(cuStreamGetGreenCtx(v, &g));
    B(g == green[1]);
    T((cuStreamGetCtx)(v, &c));
    B(c == ctx[1]);
  }
  T(cuStreamGetGreenCtx(0, &g));
  B(g == green[1]);
  T(cuStreamGetGreenCtx(CU_STREAM_PER_THREAD, &g));
  B(g == green[1]);
  T(cuStreamGetGreenCtx(t, &g));
  B(g == 0);
  T((cuStreamGetCtx)(0, &c));
  B(c == ctx[1]);
  CUdeviceptr a;
  cuMemAlloc(&a, 64);
  void *args[] = {&a, &value};
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, s, args, 0));
  T(cuStreamSynchronize(s));
  T(cuMemcpyDtoHAsync(&got, a, 4, s));
  T(cuStreamSynchronize(s));
  V("got %u", got);
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, t, args, 0));
  T(cuStreamQuery(s));
  T(cuStreamSynchronize(t));
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, args, 0));
  T(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  T(cuStreamDestroy(s));
  T(cuStreamDestroy(t));
}
// Which multiprocessors CTAs run on.
static void multiprocessors(void) {
  two();
  static unsigned seen[3][PLACES];
  CUdeviceptr a;
  CUstream s[2];
  unsigned used[3] = {0}, common = 0;
  cuMemAlloc(&a, sizeof seen);
  cuMemsetD8(a, 0, sizeof seen);
  for (int i = 0; i < 2; i++) cuGreenCtxStreamCreate(&s[i], green[i], CU_STREAM_NON_BLOCKING, 0);
  for (int i = 0; i < 2; i++) {
    CUdeviceptr p = a + i * sizeof seen[0];
    void *args[] = {&p};
    T(cuLaunchKernel(fn("mark"), 4000, 1, 1, 64, 1, 1, 0, s[i], args, 0));
  }
  T(cuCtxSetCurrent(ctx[0]));
  CUdeviceptr p = a + 2 * sizeof seen[0];
  void *args[] = {&p};
  T(cuLaunchKernel(fn("mark"), 4000, 1, 1, 64, 1, 1, 0, 0, args, 0));
  T(cuStreamSynchronize(s[0]));
  T(cuStreamSynchronize(s[1]));
  T(cuCtxSynchronize());
  T(cuMemcpyDtoH(seen, a, sizeof seen));
  for (int i = 0; i < PLACES; i++) {
    for (int k = 0; k < 3; k++) used[k] += seen[k][i] != 0;
    common += seen[0][i] != 0 && seen[1][i] != 0;
  }
  B(used[0] >= 1 && used[0] <= least);
  B(used[1] >= 1 && used[1] <= least);
  B(used[2] >= 1 && used[2] <= least);
  V("common %u", common);
}
static void events(void) {
  two();
  CUevent e, f;
  CUstream s, t;
  CUgraph g;
  CUstreamCaptureStatus status;
  cuEventCreate(&e, 0);
  cuGreenCtxStreamCreate(&s, green[0], CU_STREAM_NON_BLOCKING, 0);
  cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
  T(cuGreenCtxRecordEvent(green[0], e));
  T(cuEventSynchronize(e));
  T(cuGreenCtxWaitEvent(green[1], e));
  T(cuGreenCtxRecordEvent(green[0], 0));
  T(cuGreenCtxWaitEvent(green[1], 0));
  T(cuGreenCtxRecordEvent(0, e));
  T(cuGreenCtxWaitEvent(0, e));
  T(cuCtxRecordEvent(ctx[0], e));
  T(cuCtxWaitEvent(ctx[1], e));
  T(cuEventRecord(e, s));
  T(cuStreamWaitEvent(t, e, 0));
  T(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  T(cuGreenCtxRecordEvent(green[0], e));
  T(cuStreamIsCapturing(s, &status));
  V("%d", (int)status);
  T(cuStreamEndCapture(s, &g));
  T(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  T(cuGreenCtxWaitEvent(green[0], e));
  T(cuStreamEndCapture(s, &g));
  T(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  T(cuGreenCtxRecordEvent(green[1], e));
  T(cuGreenCtxWaitEvent(green[1], e));
  T(cuStreamEndCapture(s, &g));
  cuCtxSetCurrent(ctx[1]);
  T(cuEventCreate(&f, 0));
  T(cuEventRecord(f, 0));
  T(cuEventRecord(f, t));
  T(cuGreenCtxRecordEvent(green[0], f));
}
static void graphs(void) {
  two();
  CUstream s, t;
  CUgraph g;
  CUgraphExec x;
  CUgraphNode node;
  size_t n = 1;
  CUDA_KERNEL_NODE_PARAMS params = {0};
  CUdeviceptr a;
  unsigned value = 9, got = 0;
  cuMemAlloc(&a, 64);
  void *args[] = {&a, &value};
  cuGreenCtxStreamCreate(&s, green[0], CU_STREAM_NON_BLOCKING, 0);
  cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
  T(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, s, args, 0));
  T(cuStreamEndCapture(s, &g));
  T(cuGraphGetNodes(g, &node, &n));
  T(cuGraphKernelNodeGetParams(node, &params));
  B(params.ctx == 0);
  B(params.ctx == primary);
  B(params.ctx == ctx[0]);
  T(cuGraphInstantiate(&x, g, 0));
  T(cuGraphLaunch(x, s));
  T(cuStreamSynchronize(s));
  T(cuMemcpyDtoH(&got, a, 4));
  V("got %u", got);
  T(cuGraphLaunch(x, t));
  T(cuStreamSynchronize(t));
  params.ctx = ctx[1];
  T(cuGraphAddKernelNode(&node, g, 0, 0, &params));
  T(cuGraphKernelNodeGetParams(node, &params));
  B(params.ctx == ctx[1]);
  B(params.ctx == ctx[0]);
  B(params.ctx == primary);
}
static void occupancy(void) {
  two();
  int blocks = 0, clusters = 0, count, all;
  CUstream s;
  CUfunction f = fn("mark");
  CUdeviceptr a;
  cuMemAlloc(&a, PLACES * 4);
  cuMemsetD8(a, 0, PLACES * 4);
  void *args[] = {&a};
  cuGreenCtxStreamCreate(&s, green[0], CU_STREAM_NON_BLOCKING, 0);
  cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev);
  T(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
  T(cuLaunchCooperativeKernel(f, blocks * least, 1, 1, 1024, 1, 1, 0, s, args));
  T(cuLaunchCooperativeKernel(f, blocks * least + 1, 1, 1, 1024, 1, 1, 0, s, args));
  T(cuStreamSynchronize(s));
  T(cuCtxSetCurrent(ctx[0]));
  T(cuLaunchCooperativeKernel(f, blocks * least + 1, 1, 1, 1024, 1, 1, 0, 0, args));
  T(cuCtxSynchronize());
  T(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
  B(count == all);
}
static void destruction(void) {
  two();
  CUstream s, t;
  CUevent e;
  CUcontext c;
  CUdeviceptr a;
  unsigned value = 5;
  cuEventCreate(&e, 0);
  cuMemAlloc(&a, 64);
  void *args[] = {&a, &value};
  cuGreenCtxStreamCreate(&s, green[0], CU_STREAM_NON_BLOCKING, 0);
  T(cuCtxSetCurrent(ctx[0]));
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, s, args, 0));
  T(cuGreenCtxDestroy(green[0]));
  T(cuCtxGetCurrent(&c));
  B(c == ctx[0]);
  B(c == 0);
  T(cuCtxSynchronize());
  T(cuMemAlloc(&a, 64));
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, s, args, 0));
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
  T(cuStreamSynchronize(s));
  T(cuStreamQuery(s));
  T(cuEventRecord(e, s));
  T(cuStreamGetFlags(s, &value));
  T(cuCtxSetCurrent(primary));
  T(cuStreamSynchronize(s));
  T(cuMemsetD8Async(a, 0, 4, s));
  T(cuStreamDestroy(s));
  T(cuMemAlloc(&a, 64));
  T(cuLaunchKernel(fn("store"), 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
  T(cuCtxSynchronize());
  T(cuGreenCtxStreamCreate(&t, green[1], CU_STREAM_NON_BLOCKING, 0));
  T(cuDevicePrimaryCtxReset(dev));
  T(cuStreamSynchronize(t));
}
static void stale(void) {
  two();
  CUdevResource r;
  CUcontext c;
  T(cuGreenCtxDestroy(green[0]));
  T(cuCtxFromGreenCtx(&c, green[0]));
  T(cuGreenCtxGetDevResource(green[0], &r, SM));
  T(cuGreenCtxDestroy(green[0]));
}
static void stale_context(void) {
  two();
  T(cuGreenCtxDestroy(green[0]));
  T(cuCtxSetCurrent(ctx[0]));
}
static void resplit(void) {
  up();
  unsigned n = 1;
  CUdevResourceDesc desc;
  CUgreenCtx g;
  CUdevResource r, half[2];
  T(cuDevSmResourceSplitByCount(part, &n, &whole, &rest, 0, whole.sm.smCount / 2));
  B(part[0].sm.smCount >= whole.sm.smCount / 2);
  T(cuDevResourceGenerateDesc(&desc, part, 1));
  T(cuGreenCtxCreate(&g, desc, dev, CU_GREEN_CTX_DEFAULT_STREAM));
  T(cuGreenCtxGetDevResource(g, &r, SM));
  B(r.sm.smCount == part[0].sm.smCount);
  n = 1;
  T(cuDevSmResourceSplitByCount(half, &n, &r, 0, 0, least));
  V("groups %u", n);
  B(half[0].sm.smCount == least);
  T(cuDevResourceGenerateDesc(&desc, half, 1));
  T(cuGreenCtxCreate(&g, desc, dev, CU_GREEN_CTX_DEFAULT_STREAM));
  T(cuDevResourceGenerateDesc(&desc, &rest, 1));
}

#define S(f) {#f, f}
static const struct {
  const char *n;
  void (*f)(void);
} all[] = {S(resources), S(splits), S(descriptions), S(creation), S(current), S(streams), S(multiprocessors), S(events),
           S(graphs), S(occupancy), S(destruction), S(stale), S(stale_context), S(resplit)};
int main(int argc, char **argv) {
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    if (argc > 1 && strcmp(argv[1], all[i].n)) continue;
    printf("== %s\n", all[i].n);
    fflush(stdout);
    pid_t p = fork();
    if (!p) {
      alarm(60);
      all[i].f();
      fflush(stdout);
      _exit(0);
    }
    int st;
    waitpid(p, &st, 0);
    if (WIFSIGNALED(st)) printf("CRASH signal %d\n", WTERMSIG(st));
    fflush(stdout);
  }
  return 0;
}
