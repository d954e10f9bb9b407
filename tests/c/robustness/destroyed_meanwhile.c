/* Contexts destroyed while other threads allocate in them: nothing is lost with them. */
#include "behaviour/expect.h"

#include <pthread.h>
#include <unistd.h>

static const char TEXT[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 4 .b8 table[4096];\n.visible .entry nothing() { ret; }\n";

static CUcontext victim;

static void *allocate(void *number) {
    if (cuCtxSetCurrent(victim) != CUDA_SUCCESS) return NULL;
    for (;;) {
        CUdeviceptr memory;
        CUmodule module;
        CUresult result = number == NULL ? cuMemAlloc(&memory, 300) : cuModuleLoadData(&module, TEXT);
        if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return NULL;
        if (result != CUDA_ERROR_OUT_OF_MEMORY) OK(result);
    }
}

static size_t free_memory(void) {
    size_t bytes, total;
    OK(cuMemGetInfo(&bytes, &total));
    return bytes;
}

int main(void) {
    size_t before;
    start();
    before = free_memory();
    for (int i = 0; i < 300; i++) {
        pthread_t threads[2];
        CUcontext popped;
        OK(cuCtxCreate(&victim, NULL, 0, 0));
        OK(cuCtxPopCurrent(&popped));
        for (size_t k = 0; k < 2; k++) HOLDS(pthread_create(&threads[k], NULL, allocate, (void *)k) == 0);
        usleep((useconds_t)(i % 20) * 20);
        OK(cuCtxDestroy(victim));
        for (size_t k = 0; k < 2; k++) HOLDS(pthread_join(threads[k], NULL) == 0);
        HOLDS(free_memory() == before);
    }
    puts("done");
    return 0;
}
