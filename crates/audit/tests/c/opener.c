/* Opens each library that it is given, calls the function `entry` of it, and closes it again, unless that is "keep". */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < count; ++i) {
    void *library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
    int (*entry)(void);
    if (!library) {
      printf("%s\n", dlerror());
      continue;
    }
    entry = (int (*)(void))dlsym(library, "entry");
    if (entry) entry();
    entry = (int (*)(void))dlsym(library, "cudaFree");
    if (entry) entry();
    dlclose(library);
  }
  return 0;
}
