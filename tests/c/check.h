/* What the programs share; comes before all other headers: stop at the first unexpected result, and name what a pointer points to. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check(CUresult result, const char *what) {
    const char *name = "?";
    if (result == CUDA_SUCCESS) return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}

#define CHECK(call) check((call), #call)

/* The ELF symbol at an address, or "NULL". */
static inline const char *symbol_at(void *address) {
    Dl_info info;
    if (address == NULL) return "NULL";
    return dladdr(address, &info) != 0 && info.dli_sname != NULL ? info.dli_sname : "no symbol";
}

#endif
