// Links whose inputs are refused, or that go on when they are complete, for recording and comparison as in answers.c. links.golden is what NVIDIA's
// driver printed (CUDA 13.0, H200).
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> links.c -o links -lcuda; ./links [SCENARIO]
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

#define HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"
static char BAD[] = HEAD ".visible .entry k() { nonsense; ret; }";
static char GOOD[] = HEAD ".visible .entry k() { ret; }";
static char OTHER[] = HEAD ".visible .entry k2() { ret; }";
static char CALLS[] = HEAD ".extern .func f();\n.visible .entry c() { call f; ret; }";
static char F[] = HEAD ".visible .func f() { ret; }";
static char JUNK[] = "junk";

static CUlinkState l;
static char *image;
static size_t size;

static CUresult add(CUjitInputType type, char *text) {
  return cuLinkAddData(l, type, text, strlen(text) + 1, "input", 0, 0, 0);
}
static CUresult complete(void) { return cuLinkComplete(l, (void **)&image, &size); }
// Whether the image has a kernel.
static CUresult has(const char *name) {
  CUmodule m;
  CUfunction f;
  CUresult r = cuModuleLoadData(&m, image);
  return r == CUDA_SUCCESS ? cuModuleGetFunction(&f, m, name) : r;
}
#define PTX CU_JIT_INPUT_PTX
#define CUBIN CU_JIT_INPUT_CUBIN
#define FATBINARY CU_JIT_INPUT_FATBINARY

static void refused_first(void) {
  T(add(PTX, BAD)); T(add(PTX, GOOD)); T(complete()); T(has("k"));
}
static void refused_between(void) {
  T(add(PTX, GOOD)); T(add(PTX, BAD)); T(add(PTX, OTHER)); T(complete()); T(has("k")); T(has("k2"));
}
static void refused_alone(void) {
  T(add(PTX, BAD)); T(complete()); T(has("k")); T(complete()); T(add(PTX, GOOD));
}
static void text_as_cubin(void) {
  T(add(CUBIN, GOOD)); T(add(PTX, GOOD)); T(complete());
}
static void junk_as_cubin(void) {
  T(add(PTX, GOOD)); T(add(CUBIN, JUNK)); T(add(PTX, OTHER)); T(complete());
}
static void text_as_fat_binary(void) {
  T(add(FATBINARY, GOOD)); T(complete()); T(has("k"));
}
static void junk_as_fat_binary(void) {
  T(add(FATBINARY, JUNK)); T(add(PTX, GOOD)); T(complete());
}
static void bad_text_as_fat_binary(void) {
  T(add(FATBINARY, BAD)); T(add(PTX, GOOD)); T(complete());
}
static void defined_twice(void) {
  T(add(PTX, GOOD)); T(add(PTX, GOOD)); T(add(PTX, OTHER)); T(complete()); T(add(PTX, OTHER)); T(complete());
}
static void undefined(void) {
  T(add(PTX, CALLS)); T(complete()); T(add(PTX, F)); T(complete());
}
static void completed_twice(void) {
  T(add(PTX, GOOD)); T(complete()); T(add(PTX, OTHER)); T(complete()); T(has("k")); T(has("k2"));
}
static void nothing(void) {
  T(complete()); T(has("k")); T(complete());
}
static void no_such_file(void) {
  T(cuLinkAddFile(l, PTX, "/nowhere.ptx", 0, 0, 0)); T(add(PTX, GOOD)); T(complete()); T(has("k"));
}

#define S(f) {#f, f}
static const struct {
  const char *n;
  void (*f)(void);
} all[] = {S(refused_first), S(refused_between), S(refused_alone), S(text_as_cubin), S(junk_as_cubin), S(text_as_fat_binary), S(junk_as_fat_binary),
           S(bad_text_as_fat_binary), S(defined_twice), S(undefined), S(completed_twice), S(nothing), S(no_such_file)};
int main(int argc, char **argv) {
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    if (argc > 1 && strcmp(argv[1], all[i].n)) continue;
    printf("== %s\n", all[i].n);
    fflush(stdout);
    pid_t p = fork();
    if (!p) {
      alarm(60);
      CUcontext context;
      CUdevice device;
      cuInit(0);
      cuDeviceGet(&device, 0);
      cuDevicePrimaryCtxRetain(&context, device);
      cuCtxSetCurrent(context);
      cuLinkCreate(0, 0, 0, &l);
      all[i].f();
      T(cuLinkDestroy(l));
      _exit(0);
    }
    int st;
    waitpid(p, &st, 0);
    if (WIFSIGNALED(st)) printf("CRASH signal %d\n", WTERMSIG(st));
    fflush(stdout);
  }
  return 0;
}
