/* A process whose host memory ends (ulimit -v): calls answer that, and the process lives. */
#include "behaviour/expect.h"

#include <sys/resource.h>

static void limit(size_t more) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    HOLDS(file != NULL && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    struct rlimit limit = {pages * 4096 + more, RLIM_INFINITY};
    HOLDS(setrlimit(RLIMIT_AS, &limit) == 0);
}

int main(void) {
    CUdeviceptr memory, last = 0;
    CUlinkState linker;
    CUresult result;
    start();
    limit(24 << 20);
    /* What is known of allocations needs host memory too. */
    for (int i = 0; (result = cuMemAlloc(&memory, 512)) == CUDA_SUCCESS && i < 2000000; i++) last = memory;
    HOLDS(result == CUDA_ERROR_OUT_OF_MEMORY && last != 0);
    OK(cuMemsetD8(last, 1, 512));
    OK(cuMemFree(last));
    OK(cuMemAlloc(&memory, 512));
    /* A size that no memory has: it cannot be read. */
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    IS(INVALID_VALUE, cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)WAITS, (size_t)1 << 45, "huge", 0, NULL, NULL));
    puts("done");
    return 0;
}
