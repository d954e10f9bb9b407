// Arrays without memory of their own, samplers that are objects, contexts on some multiprocessors, and what the environment asks of the driver, for recording and comparison as in
// answers.c. arrays.golden is what NVIDIA's driver printed (CUDA 13.0, H200).
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> arrays.c -o arrays -lcuda; ./arrays [SCENARIO]
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
#define T(e)                            \
  do {                                  \
    CUresult r_ = (e);                  \
    printf("%-78s = %s\n", #e, nm(r_)); \
    fflush(stdout);                     \
  } while (0)
#define V(fmt, ...)                     \
  do {                                  \
    printf("    " fmt "\n", __VA_ARGS__); \
    fflush(stdout);                     \
  } while (0)

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry spin(.param .u64 p, .param .u32 n) { .reg .b64 %d; .reg .b32 %r<3>; .reg .pred %q; ld.param.u64 %d,[p]; ld.param.u32 %r1,[n]; mov.u32 %r2,0;\n"
    "L: add.u32 %r2,%r2,1; st.volatile.global.u32 [%d],%r2; setp.lt.u32 %q,%r2,%r1; @%q bra L; ret; }\n"
    ".visible .entry fault() { .reg .b64 %d; .reg .b32 %r; mov.u64 %d,16; mov.u32 %r,1; st.global.u32 [%d],%r; ret; }\n"
    ".visible .entry sample(.param .u64 t, .param .u64 p) { .reg .b64 %d<3>; .reg .f32 %f<4>; .reg .f32 %x; ld.param.u64 %d1,[t]; ld.param.u64 %d2,[p]; mov.f32 %x,0f3f000000;"
    " tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d1,{%x,%x}]; st.global.f32 [%d2],%f0; ret; }\n";

static CUdevice dev;
static CUcontext primary;
static CUmodule mod;
static CUdeviceptr out;

static void up(void) {
  cuInit(0);
  cuDeviceGet(&dev, 0);
  cuDevicePrimaryCtxRetain(&primary, dev);
  cuCtxSetCurrent(primary);
  cuModuleLoadData(&mod, PTX);
  cuMemAlloc(&out, 4096);
  cuMemsetD32(out, 0, 1024);
}
static CUfunction fn(const char *name) {
  CUfunction f = 0;
  cuModuleGetFunction(&f, mod, name);
  return f;
}

// Arrays that get memory later.
static void without_memory(unsigned flag) {
  int sparse = -1, deferred = -1;
  cuDeviceGetAttribute(&sparse, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, dev);
  cuDeviceGetAttribute(&deferred, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, dev);
  V("sparse %d, deferred %d", sparse, deferred);
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flag};
  CUarray array = 0;
  CUmipmappedArray mip = 0;
  CUDA_ARRAY_SPARSE_PROPERTIES s;
  CUDA_ARRAY_MEMORY_REQUIREMENTS m;
  memset(&s, 0, sizeof s);
  memset(&m, 0, sizeof m);
  T(cuArray3DCreate(&array, &d));
  T(cuArrayGetSparseProperties(&s, array));
  V("tile %u %u %u, tail from %u of %llu bytes, flags %u", s.tileExtent.width, s.tileExtent.height, s.tileExtent.depth, s.miptailFirstLevel, s.miptailSize, s.flags);
  T(cuArrayGetMemoryRequirements(&m, array, dev));
  V("%d bytes at multiples of %d", (int)m.size, (int)m.alignment);
  CUarrayMapInfo map;
  memset(&map, 0, sizeof map);
  map.resourceType = CU_RESOURCE_TYPE_ARRAY;
  map.resource.array = array;
  T(cuMemMapArrayAsync(&map, 1, 0));
  T(cuMemMapArrayAsync(&map, 0, 0));
  T(cuMipmappedArrayCreate(&mip, &d, 10));
  d.Height = 0;
  T(cuArray3DCreate(&array, &d));
}
static void sparse_arrays(void) { up(), without_memory(CUDA_ARRAY3D_SPARSE); }
static void deferred_arrays(void) { up(), without_memory(CUDA_ARRAY3D_DEFERRED_MAPPING); }
static void both_flags(void) { up(), without_memory(CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING); }

// Samplers that are objects of their own (PTX ISA 5.3).
static void samplers(int i) {
  static const char *const TEXT[] = {
      ".version 7.0\n.target sm_52\n.address_size 64\n.global .samplerref s;\n.visible .entry k() { ret; }\n",
      ".version 7.0\n.target sm_52, texmode_independent\n.address_size 64\n.global .samplerref s;\n.global .texref t;\n.visible .entry k() { ret; }\n",
      ".version 7.0\n.target sm_52, texmode_independent\n.address_size 64\n.global .samplerref s = {addr_mode_0 = clamp_to_edge, filter_mode = nearest};\n.global .texref t;\n"
      ".visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .f32 %f<4>; .reg .f32 %x; ld.param.u64 %d,[p]; mov.f32 %x,0f3f000000;"
      " tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[t,s,{%x,%x}]; st.global.f32 [%d],%f0; ret; }\n",
      ".version 7.0\n.target sm_52, texmode_independent\n.address_size 64\n"
      ".visible .entry k(.param .u64 t, .param .u64 s, .param .u64 p) { .reg .b64 %d<3>; .reg .f32 %f<4>; .reg .f32 %x; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[s]; ld.param.u64 %d2,[p];"
      " mov.f32 %x,0f3f000000; tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d0,%d1,{%x,%x}]; st.global.f32 [%d2],%f0; ret; }\n",
      ".version 7.0\n.target sm_52\n.address_size 64\n"
      ".visible .entry k(.param .u64 t, .param .u64 s, .param .u64 p) { .reg .b64 %d<3>; .reg .f32 %f<4>; .reg .f32 %x; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[s]; ld.param.u64 %d2,[p];"
      " mov.f32 %x,0f3f000000; tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d0,%d1,{%x,%x}]; st.global.f32 [%d2],%f0; ret; }\n",
  };
  up();
  {
    CUmodule m = 0;
    CUfunction f = 0;
    CUtexref ref = 0;
    T(cuModuleLoadData(&m, TEXT[i]));
    T(cuModuleGetFunction(&f, m, "k"));
    T(cuModuleGetTexRef(&ref, m, "s"));
    T(cuModuleGetTexRef(&ref, m, "t"));
    CUdeviceptr p = 0;
    size_t n = 0;
    T(cuModuleGetGlobal(&p, &n, m, "s"));
    if (i == 0) T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    if (i >= 2 && f) {
      CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
      CUarray array = 0;
      float texels[16] = {2.5f}, got = 0;
      cuArray3DCreate(&array, &d);
      CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = 16, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .WidthInBytes = 16, .Height = 4};
      cuMemcpy2D(&c);
      CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
      CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}};
      CUtexObject texture = 0;
      cuTexObjectCreate(&texture, &what, &how, 0);
      if (i == 2 && ref) T(cuTexRefSetArray(ref, array, CU_TRSA_OVERRIDE_FORMAT));
      void *two[] = {&texture, &texture, &out}, *one[] = {&out};
      T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, i == 2 ? one : two, 0));
      T(cuCtxSynchronize());
      T(cuMemcpyDtoH(&got, out, 4));
      V("%g", got);
    }
  }
}

static void sampler_unified(void) { samplers(0); }
static void sampler_unused(void) { samplers(1); }
static void sampler_of_a_module(void) { samplers(2); }
static void sampler_parameter(void) { samplers(3); }
static void sampler_parameter_unified(void) { samplers(4); }
// What is of a sampler: two textures of different texels, filters, borders and coordinates, each with the other's sampler.
static void sampler_of_another(void) {
  static const char TEXT[] =
      ".version 7.0\n.target sm_52\n.address_size 64\n"
      ".visible .entry k(.param .u64 t, .param .u64 s, .param .u64 p) { .reg .b64 %d<3>; .reg .f32 %f<4>; .reg .f32 %x; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[s]; ld.param.u64 %d2,[p];"
      " mov.f32 %x,0f3f000000; tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d0,%d1,{%x,%x}]; st.global.f32 [%d2],%f0;"
      " mov.f32 %x,0f40266666; tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d0,%d1,{%x,%x}]; st.global.f32 [%d2+4],%f0;"
      " mov.f32 %x,0fc0000000; tex.level.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d0,%d1,{%x,%x}],%x; st.global.f32 [%d2+8],%f0; ret; }\n";
  up();
  CUmodule m = 0;
  CUfunction f = 0;
  CUtexObject texture[3] = {0};
  T(cuModuleLoadData(&m, TEXT));
  T(cuModuleGetFunction(&f, m, "k"));
  for (int i = 0; i < 3; i++) {
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 4, .Height = 4, .Format = i == 2 ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = 0;
    float texels[16];
    unsigned char bytes[16];
    for (int k = 0; k < 16; k++) texels[k] = 100 * i + k, bytes[k] = 10 * k;
    cuArray3DCreate(&array, &d);
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = i == 2 ? (void *)bytes : (void *)texels, .srcPitch = i == 2 ? 4 : 16, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array,
                       .WidthInBytes = i == 2 ? 4 : 16, .Height = 4};
    cuMemcpy2D(&c);
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC nearest = {.addressMode = {1, 1, 1}};
    CUDA_TEXTURE_DESC linear = {.addressMode = {3, 3, 3}, .filterMode = CU_TR_FILTER_MODE_LINEAR, .flags = CU_TRSF_NORMALIZED_COORDINATES, .borderColor = {0.25f, 0.25f, 0.25f, 0.25f}};
    T(cuTexObjectCreate(&texture[i], &what, i == 1 ? &linear : &nearest, 0));
  }
  for (int i = 0; i < 9; i++) {
    float got[3] = {0};
    void *arguments[] = {&texture[i / 3], &texture[i % 3], &out};
    cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0);
    CUresult r = cuCtxSynchronize();
    cuMemcpyDtoH(got, out, 12);
    V("texture %d, sampler of %d: %s %.9g %.9g %.9g", i / 3, i % 3, nm(r), got[0], got[1], got[2]);
  }
}

// Contexts on some multiprocessors: without NVIDIA's multi-process service there are none.
static void affinity(void) {
  cuInit(0);
  cuDeviceGet(&dev, 0);
  int supported = -1;
  T(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, dev));
  V("%d", supported);
  T(cuDeviceGetExecAffinitySupport(&supported, 1, dev));
  T(cuDeviceGetExecAffinitySupport(&supported, 7, dev));
  T(cuDeviceGetExecAffinitySupport(0, 0, dev));
  CUcontext c = 0;
  for (unsigned count = 0; count < 3; count++) {
    CUexecAffinityParam p[2] = {{.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT, .param.smCount.val = count == 2 ? 100000 : count}};
    CUctxCreateParams all = {.execAffinityParams = p, .numExecAffinityParams = 1};
    T(cuCtxCreate_v3(&c, p, 1, 0, dev));
    T(cuCtxCreate_v3(&c, p, 2, 0, dev));
    T(cuCtxCreate_v4(&c, &all, 0, dev));
  }
  T(cuCtxCreate_v3(&c, 0, 0, 0, dev));
  CUexecAffinityParam got = {0};
  T(cuCtxGetExecAffinity(&got, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  int all = 0;
  cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev);
  V("%s", got.param.smCount.val == all ? "all" : "not all");
}

// What the environment asks for; each run has a process, with its variables.
static void launch_blocks(void) {
  up();
  CUstream s;
  cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
  unsigned n = 3000000;
  void *arguments[] = {&out, &n};
  T(cuLaunchKernel(fn("spin"), 1, 1, 1, 1, 1, 1, 0, s, arguments, 0));
  T(cuStreamQuery(s));
  T(cuStreamSynchronize(s));
  T(cuLaunchKernel(fn("fault"), 1, 1, 1, 1, 1, 1, 0, s, 0, 0));
  T(cuStreamSynchronize(s));
  T(cuLaunchKernel(fn("fault"), 1, 1, 1, 1, 1, 1, 0, s, 0, 0));
}
static void core_settings(void) {
  const char *const NAME[] = {"", "on_exception", "trigger_host", "lightweight", "user_trigger", "file", "pipe", "generation_flags"};
  for (int pass = 0; pass < 3; pass++) {
    int global = pass != 1;
    if (pass == 1) up();
    for (int which = 1; which <= 7; which++) {
      char value[1024] = {0};
      size_t size = which == 5 || which == 6 ? sizeof value : which == 7 ? 4 : 1;
      CUresult r = global ? cuCoredumpGetAttributeGlobal(which, value, &size) : cuCoredumpGetAttribute(which, value, &size);
      unsigned flags = 0;
      memcpy(&flags, value, 4);
      // A file's name may have the process's number in it.
      char number[16], *at;
      sprintf(number, "%d", (int)getpid());
      if ((at = strstr(value, number))) sprintf(at, "PID");
      if (which == 5 || which == 6) V("%s %s: %s \"%s\"", global ? "process" : "context", NAME[which], nm(r), value);
      else V("%s %s: %s %u", global ? "process" : "context", NAME[which], nm(r), which == 7 ? flags : (unsigned char)value[0]);
    }
  }
}
static const struct Scenario {
  const char *name;
  void (*run)(void);
  // Variables of the environment, with a space between them.
  const char *variables;
} ALL[] = {
    {"sparse_arrays", sparse_arrays, ""},
    {"deferred_arrays", deferred_arrays, ""},
    {"sparse_and_deferred_arrays", both_flags, ""},
    {"sampler_unified", sampler_unified, ""},
    {"sampler_unused", sampler_unused, ""},
    {"sampler_of_a_module", sampler_of_a_module, ""},
    {"sampler_parameter", sampler_parameter, ""},
    {"sampler_parameter_unified", sampler_parameter_unified, ""},
    {"sampler_of_another", sampler_of_another, ""},
    {"affinity", affinity, ""},
    {"launches_do_not_block", launch_blocks, ""},
    {"launches_block_1", launch_blocks, "CUDA_LAUNCH_BLOCKING=1"},
    {"launches_block_0", launch_blocks, "CUDA_LAUNCH_BLOCKING=0"},
    {"launches_block_2", launch_blocks, "CUDA_LAUNCH_BLOCKING=2"},
    {"launches_block_empty", launch_blocks, "CUDA_LAUNCH_BLOCKING="},
    {"launches_block_word", launch_blocks, "CUDA_LAUNCH_BLOCKING=true"},
    {"core_none", core_settings, ""},
    {"core_exception", core_settings, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1"},
    {"core_exception_0", core_settings, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=0"},
    {"core_exception_word", core_settings, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=yes"},
    {"core_exception_2", core_settings, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=2"},
    {"core_all", core_settings, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION=0 CUDA_ENABLE_LIGHTWEIGHT_COREDUMP=1 CUDA_COREDUMP_FILE=a%%b.core"},
    {"core_user", core_settings, "CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 CUDA_COREDUMP_PIPE=pipe.%p"},
    {"core_light", core_settings, "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP=1"},
    {"core_light_and_exception", core_settings, "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP=1 CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1"},
    {"core_light_and_flags", core_settings, "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP=1 CUDA_COREDUMP_GENERATION_FLAGS=skip_abort"},
    {"core_not_of_the_host", core_settings, "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION=0"},
    {"core_not_of_the_host_and_flags", core_settings, "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION=0 CUDA_COREDUMP_GENERATION_FLAGS=skip_global_memory"},
    {"core_flags", core_settings, "CUDA_COREDUMP_GENERATION_FLAGS=skip_global_memory,skip_abort"},
    {"core_flags_all", core_settings, "CUDA_COREDUMP_GENERATION_FLAGS=skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,skip_abort,skip_constbank_memory"},
    {"core_flags_wrong", core_settings, "CUDA_COREDUMP_GENERATION_FLAGS=skip_abort,nonsense"},
};

// The driver reads the environment when it likes: each scenario is a process that begins with its variables.
int main(int argc, char **argv) {
  for (unsigned i = 0; i < sizeof ALL / sizeof *ALL; i++) {
    const struct Scenario *one = &ALL[i];
    if (argc > 1 && strcmp(argv[argc - 1], one->name)) continue;
    if (argc > 2) {
      one->run();
      return 0;
    }
    printf("== %s\n", one->name);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      char variables[512];
      strcpy(variables, one->variables);
      for (char *variable = strtok(variables, " "); variable; variable = strtok(0, " ")) putenv(variable);
      execl("/proc/self/exe", argv[0], "run", one->name, (char *)0);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) printf("    signal %d\n", WTERMSIG(status));
    fflush(stdout);
  }
  return 0;
}
