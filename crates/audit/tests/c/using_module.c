/* A stand-in for a Python module that Cython made, which calls functions of the runtime library that is linked in and hands out none of them. An assembly file
   beside it lays them out as NVIDIA's are. Theirs answer 35. */
#include <dlfcn.h>
#include <stdio.h>

#include "answer_version.h"

#define HIDDEN __attribute__((visibility("hidden")))

void *PyCapsule_New(void *, const char *, void (*)(void *));
int PyDict_SetItemString(void *, const char *, void *);

int __pyx_module_is_main_module = 0;

__attribute__((section(".nvFatBinSegment"))) struct {
  int magic, version;
  void *data, *unused;
} fat_binary = {0x466243b1, 1, 0, 0};

HIDDEN int cudaGetDeviceCount(void);
HIDDEN int cudaFree(void);

static int own(void) { return dlopen("libnowhere.so", RTLD_NOW) ? 1 : 7; }

int entry(void) {
  int version = 0, count = cudaGetDeviceCount(), freed = cudaFree();
  answer_version(&version);
  printf("version %d: %d %d\n", version, count, freed);
  return PyDict_SetItemString("functions", "own", PyCapsule_New((void *)own, "int (void)", 0));
}
