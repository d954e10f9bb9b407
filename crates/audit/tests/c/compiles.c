/* Calls the compiler that it is linked with, or those that it is given, by every way there is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#ifdef LINKED
int nvrtcCompileProgram(int), nvrtcVersion(int), other(int);
static int (*const volatile by_address)(int) = nvrtcCompileProgram;
#endif

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef LINKED
  printf("%d %d %d %d\n", nvrtcCompileProgram(1), by_address(2), nvrtcVersion(3), other(4));
#endif
  for (int i = 1; i < count; ++i) {
    void *library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return printf("%s\n", dlerror());
    int (*compile)(int) = (int (*)(int))dlsym(library, "nvrtcCompileProgram");
    int (*version)(int) = (int (*)(int))dlsym(library, "nvrtcVersion");
    Dl_info info;
    printf("%d %d %d\n", compile(5), version(6), dladdr(dlsym(library, "other"), &info) != 0);
    printf("%s\n", info.dli_fname);
    dlclose(library);
  }
  return 0;
}
