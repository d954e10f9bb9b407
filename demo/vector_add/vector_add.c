// The vector addition of the CUDA programming guide through the driver API, with every function resolved by
// cuGetProcAddress: no CUDA library is linked. The same source runs on any CUDA driver of version 12.0 or later.
//
//   vector_add PTX [ELEMENTS]
#define _POSIX_C_SOURCE 200809L
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The typedef names the version in which a signature appeared; the lookup asks for just that version.
#define FUNCTIONS(X)            \
  X(cuInit, 2000)               \
  X(cuDriverGetVersion, 2020)   \
  X(cuDeviceGet, 2000)          \
  X(cuDeviceGetName, 2000)      \
  X(cuDeviceGetAttribute, 2000) \
  X(cuCtxCreate, 3020)          \
  X(cuCtxDestroy, 4000)         \
  X(cuCtxSynchronize, 2000)     \
  X(cuModuleLoadDataEx, 2010)   \
  X(cuModuleGetFunction, 2000)  \
  X(cuModuleUnload, 2000)       \
  X(cuMemAlloc, 3020)           \
  X(cuMemFree, 3020)            \
  X(cuMemcpyHtoD, 3020)         \
  X(cuMemcpyDtoH, 3020)         \
  X(cuLaunchKernel, 4000)       \
  X(cuGetErrorName, 6000)       \
  X(cuGetErrorString, 6000)

#define DECLARE(name, version) static PFN_##name##_v##version p_##name;
FUNCTIONS(DECLARE)

static void check(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  const char *name = "unknown error", *text = "";
  if (p_cuGetErrorName) p_cuGetErrorName(result, &name);
  if (p_cuGetErrorString) p_cuGetErrorString(result, &text);
  fprintf(stderr, "vector_add: %s failed: %s (%d) %s\n", what, name, (int)result, text);
  exit(1);
}
#define CHECK(call) check(p_##call, #call)

static int resolved;
static void resolve(PFN_cuGetProcAddress_v12000 lookup, const char *name, int version, void **pfn) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result = lookup(name, pfn, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
  if (result == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS && *pfn) {
    ++resolved;
    return;
  }
  fprintf(stderr, "vector_add: %s: %s\n", name,
          status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT ? "the asked version is older than the function"
          : status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND     ? "the driver is older than the function"
                                                               : "the lookup itself was refused");
  exit(1);
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  long size;
  if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0) {
    perror(path);
    exit(1);
  }
  rewind(file);
  char *text = calloc(1, (size_t)size + 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) {
    perror(path);
    exit(1);
  }
  fclose(file);
  return text;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: vector_add PTX [ELEMENTS]\n");
    return 2;
  }
  int n = argc == 3 ? atoi(argv[2]) : 10 * 1000 * 1000;
  if (n <= 0) {
    fprintf(stderr, "vector_add: '%s' is not a number of elements\n", argv[2]);
    return 2;
  }

  double start = now_ms();
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "vector_add: %s\n", dlerror());
    return 1;
  }
  PFN_cuGetProcAddress_v12000 lookup;
  *(void **)&lookup = dlsym(library, "cuGetProcAddress_v2");
  if (!lookup) {
    fprintf(stderr, "vector_add: the driver has no cuGetProcAddress_v2: CUDA 12.0 or later is needed\n");
    return 1;
  }
#define RESOLVE(name, version) resolve(lookup, #name, version, (void **)&p_##name);
  FUNCTIONS(RESOLVE)

  CUdevice device;
  CUcontext context;
  int version = 0, processors = 0, major = 0, minor = 0;
  char device_name[256];
  CHECK(cuInit(0));
  CHECK(cuDriverGetVersion(&version));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetName(device_name, (int)sizeof device_name, device));
  CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  CHECK(cuCtxCreate(&context, 0, device));

  char *ptx = read_text(argv[1]), log[8192] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)sizeof log};
  CUmodule module;
  CUfunction kernel;
  double load_start = now_ms();
  CUresult loaded = p_cuModuleLoadDataEx(&module, ptx, 2, options, values);
  if (loaded != CUDA_SUCCESS) fprintf(stderr, "%s\n", log);
  check(loaded, "cuModuleLoadDataEx");
  CHECK(cuModuleGetFunction(&kernel, module, "VecAdd"));
  double load_end = now_ms();

  size_t bytes = (size_t)n * sizeof(float);
  float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
  if (!a || !b || !c) {
    fprintf(stderr, "vector_add: out of host memory\n");
    return 1;
  }
  for (int i = 0; i < n; ++i) {
    a[i] = (float)(i % 8191) * 0.5f;
    b[i] = (float)(i % 127) * 0.25f;
    c[i] = -1;
  }
  CUdeviceptr d_a, d_b, d_c;
  CHECK(cuMemAlloc(&d_a, bytes));
  CHECK(cuMemAlloc(&d_b, bytes));
  CHECK(cuMemAlloc(&d_c, bytes));
  CHECK(cuMemcpyHtoD(d_a, a, bytes));
  CHECK(cuMemcpyHtoD(d_b, b, bytes));

  unsigned threads = 256, ctas = ((unsigned)n + threads - 1) / threads;
  void *args[] = {&d_a, &d_b, &d_c, &n};
  double first = 0, best = 1e30;
  for (int run = 0; run < 10; ++run) {
    double launch = now_ms();
    CHECK(cuLaunchKernel(kernel, ctas, 1, 1, threads, 1, 1, 0, 0, args, 0));
    CHECK(cuCtxSynchronize());
    double took = now_ms() - launch;
    if (run == 0) first = took;
    if (took < best) best = took;
  }
  CHECK(cuMemcpyDtoH(c, d_c, bytes));
  for (int i = 0; i < n; ++i) {
    if (c[i] != a[i] + b[i]) {
      fprintf(stderr, "vector_add: element %d is %g, expected %g\n", i, c[i], a[i] + b[i]);
      return 1;
    }
  }
  CHECK(cuMemFree(d_a));
  CHECK(cuMemFree(d_b));
  CHECK(cuMemFree(d_c));
  CHECK(cuModuleUnload(module));
  CHECK(cuCtxDestroy(context));

  printf("driver    CUDA %d.%d, %d entry points resolved with cuGetProcAddress\n", version / 1000, version % 1000 / 10,
         resolved);
  printf("device    %s, compute capability %d.%d, %d multiprocessor%s\n", device_name, major, minor, processors,
         processors == 1 ? "" : "s");
  printf("module    %s, loaded in %.2f ms\n", argv[1], load_end - load_start);
  printf("kernel    VecAdd, %u CTAs of %u threads: first run %.2f ms, best of 10 %.2f ms (%.2f GB/s)\n", ctas, threads,
         first, best, 3.0 * (double)bytes / best / 1e6);
  printf("result    %d of %d elements right, %.0f ms in all\n", n, n, now_ms() - start);
  free(a);
  free(b);
  free(c);
  free(ptx);
  return 0;
}
