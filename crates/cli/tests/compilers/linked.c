/* Compiles for a device with the NVRTC that it is linked with, and says what it got: by calls, and by the functions' addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program *program;
int nvrtcCreateProgram(program *, const char *source, const char *name, int count, const char *const *headers, const char *const *names);
int nvrtcCompileProgram(program, int count, const char *const *options);
int nvrtcGetCUBINSize(program, size_t *);
int nvrtcGetCUBIN(program, char *);
int nvrtcDestroyProgram(program *);

static int (*const volatile get)(program, char *) = nvrtcGetCUBIN;

int main(void) {
  const char *options[] = {"-arch=sm_90"};
  program compiled;
  size_t size = 0;
  if (nvrtcCreateProgram(&compiled, "__global__ void kernel() {}", "a.cu", 0, NULL, NULL) != 0) return 1;
  if (nvrtcCompileProgram(compiled, 1, options) != 0 || nvrtcGetCUBINSize(compiled, &size) != 0) return 2;
  char *called = malloc(size), *by_address = malloc(size);
  if (nvrtcGetCUBIN(compiled, called) != 0 || get(compiled, by_address) != 0 || size < 64) return 3;
  printf("%s, %s\n", memcmp(called + 9, "wrpl", 4) == 0 ? "image of warploom" : "machine code",
         memcmp(called, by_address, size) == 0 ? "twice" : "and something else");
  free(called);
  free(by_address);
  return nvrtcDestroyProgram(&compiled);
}
