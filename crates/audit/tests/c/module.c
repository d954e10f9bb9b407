/* A stand-in for a Python module that Cython made around a runtime library that is linked in: hands functions to other modules in capsules. */
#include <dlfcn.h>
#include <stdio.h>

#include "answer_version.h"

#define HIDDEN __attribute__((noinline, noclone, visibility("hidden")))

void *PyCapsule_New(void *, const char *, void (*)(void *));
int PyDict_SetItemString(void *, const char *, void *);

int __pyx_module_is_main_module = 0;

HIDDEN int embedded_free(void) {
  printf("embedded %d cudaFree\n", VERSION);
  return dlopen("libnowhere.so", RTLD_NOW) ? 1 : 35;
}

int entry(void) {
  int version = 0;
  void *capsule = PyCapsule_New((void *)embedded_free, "cudaError_t (void)", 0);
  answer_version(&version);
  printf("version %d\n", version);
  return PyDict_SetItemString("functions", "_cudaFree", capsule);
}
