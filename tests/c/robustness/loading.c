/* The library loaded by hand: closed and opened again, under two names, beside a library that exports what ours is made of. */
#include "check.h"

#include <unistd.h>

typedef CUresult (*Init)(unsigned);
typedef CUresult (*Count)(int *);
typedef CUresult (*Create)(CUcontext *, unsigned, CUdevice);
typedef CUresult (*Load)(CUmodule *, const void *);
typedef CUresult (*GetFunction)(CUfunction *, CUmodule, const char *);
typedef CUresult (*Launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
typedef CUresult (*Synchronize)(void);

static const char TEXT[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static int fails(const char *what) {
    const char *reason = dlerror();
    fprintf(stderr, "%s: %s\n", what, reason != NULL ? reason : "");
    exit(1);
}

static void *symbol(void *library, const char *name) {
    void *address = dlsym(library, name);
    if (address == NULL) fails(name);
    return address;
}

/* A context, a module and a launch through one copy of the library. */
static void use(void *library) {
    CUcontext context;
    CUmodule module;
    CUfunction nothing;
    int count = 0;
    if (((Init)symbol(library, "cuInit"))(0) != CUDA_SUCCESS) fails("cuInit");
    if (((Count)symbol(library, "cuDeviceGetCount"))(&count) != CUDA_SUCCESS || count != 1) fails("cuDeviceGetCount");
    if (((Create)symbol(library, "cuCtxCreate_v2"))(&context, 0, 0) != CUDA_SUCCESS) fails("cuCtxCreate");
    if (((Load)symbol(library, "cuModuleLoadData"))(&module, TEXT) != CUDA_SUCCESS) fails("cuModuleLoadData");
    if (((GetFunction)symbol(library, "cuModuleGetFunction"))(&nothing, module, "nothing") != CUDA_SUCCESS) fails("function");
    if (((Launch)symbol(library, "cuLaunchKernel"))(nothing, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS) fails("launch");
    if (((Synchronize)symbol(library, "cuCtxSynchronize"))() != CUDA_SUCCESS) fails("cuCtxSynchronize");
}

int main(int argc, char **argv) {
    void *first, *second, *again;
    if (argc != 3) return 2;
    /* An LLVM, where there is one, that resolves symbols for everybody. */
    if (argv[2][0] != '\0' && dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) == NULL) fails(argv[2]);
    first = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (first == NULL) fails("libcuda.so.1");
    use(first);
    /* Its threads run on: it stays, whatever the program thinks. */
    if (dlclose(first) != 0) fails("dlclose");
    usleep(10000);
    again = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (again == NULL) fails("libcuda.so.1 again");
    use(again);
    /* A copy of the file is another driver, with another state. */
    second = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (second == NULL) fails(argv[1]);
    if (symbol(second, "cuInit") == symbol(again, "cuInit")) fails("the copy is the same library");
    use(second);
    use(again);
    puts("done");
    return 0;
}
