/* A stand-in for our library in front of compilers: answers for one function with 1000 more than it answers itself. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int (*real[2])(int);
static int calls;

static int first(int value) { return 1000 + real[0](value); }
static int second(int value) { return 1000 + real[1](value); }

void warploom_front(size_t count, const char *const *names, uintptr_t *functions) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(names[i], "nvrtcCompileProgram") != 0 || calls == 2) continue;
    real[calls] = (int (*)(int))functions[i];
    functions[i] = (uintptr_t)(calls++ == 0 ? first : second);
  }
  printf("front of %zu\n", count);
}
