/* A stand-in for Python: opens each module that it is given, and calls what the module has handed out. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static struct capsule {
  void *function;
  const char *signature;
} capsule;

void *PyCapsule_New(void *function, const char *signature, void (*destructor)(void *)) {
  capsule = (struct capsule){function, destructor ? 0 : signature};
  return &capsule;
}

int PyDict_SetItemString(void *dictionary, const char *name, void *value) {
  struct capsule *handed_out = value;
  printf("%s %s %s: ", (char *)dictionary, name, handed_out->signature);
  return ((int (*)(void))handed_out->function)();
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < count; ++i) {
    void *module = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
    int (*entry)(void) = module ? (int (*)(void))dlsym(module, "entry") : 0;
    if (!entry) return printf("%s\n", dlerror());
    printf("answer %d\n", entry());
  }
  return 0;
}
