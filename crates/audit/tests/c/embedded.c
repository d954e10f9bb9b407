/* A stand-in for NVIDIA's runtime library, as it looks where it is linked in statically: functions in the symbol table, one that is too
   short for a jump, the version as a constant that a function stores through its argument, and a fat binary that a constructor registers. */
#include <dlfcn.h>
#include <stdio.h>

#define HIDDEN __attribute__((noinline, noclone, visibility("hidden")))
#define EMBEDDED(name) HIDDEN int name(void) { printf("embedded %d %s\n", VERSION, #name); return 35; }

EMBEDDED(cudaFree)
EMBEDDED(cudaGetDeviceCount)
EMBEDDED(cudaOnlyHere)
#if VERSION / 1000 == 12 || defined NAMED_LIKE_12
EMBEDDED(cudaGetDeviceProperties_v2)
#endif

#define TEXT(x) #x
#define IN_TEXT(x) TEXT(x)

#ifdef __CET__
#define MARK "  endbr64\n"
#else
#define MARK
#endif

HIDDEN int answer_version(int *version);
HIDDEN int __cudaGetProcAddress(void);
__asm__(".text\n"
        ".type answer_version, @function\n"
        "answer_version:\n"
        MARK
        "  test %rdi, %rdi\n"
        "  je 1f\n"
        "  movl $" IN_TEXT(VERSION) ", (%rdi)\n"
        "1: xor %eax, %eax\n"
        "  ret\n"
        ".size answer_version, . - answer_version\n"
        ".globl __cudaGetProcAddress\n"
        ".hidden __cudaGetProcAddress\n"
        ".type __cudaGetProcAddress, @function\n"
        "__cudaGetProcAddress:\n"
        "  xor %eax, %eax\n"
        "  ret\n"
        ".size __cudaGetProcAddress, . - __cudaGetProcAddress\n"
        ".p2align 4\n");

HIDDEN int cudaRuntimeGetVersion(int *version) {
  int error = answer_version(version);
  if (error) printf("no version\n");
  return error;
}

HIDDEN double cudaArguments(long a, long b, long c, long d, long e, long f, long g, double p, double q, double r, double s, double t,
                            double u, double v, double w, double x) {
  printf("embedded %d %g\n", VERSION, a + b + c + d + e + f + g + p + q + r + s + t + u + v + w + x);
  return 0;
}

HIDDEN void **__cudaRegisterFatBinary(void *binary) {
  printf("embedded %d __cudaRegisterFatBinary\n", VERSION);
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
}
EMBEDDED(__cudaUnregisterFatBinary)

__attribute__((section(".nvFatBinSegment"))) struct {
  int magic, version;
  void *data, *unused;
} fat_binary = {0x466243b1, 1, 0, 0};

__attribute__((constructor)) static void register_all(void) { __cudaRegisterFatBinary(&fat_binary); }
__attribute__((destructor)) static void unregister_all(void) { __cudaUnregisterFatBinary(); }
