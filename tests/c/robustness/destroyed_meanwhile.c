/* Contexts destroyed while other threads allocate in them, streams that several threads want to capture, and threads that end while their own
   stream is captured: nothing is lost with them. */
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

static CUstream contested;
static pthread_barrier_t both;

/* Captures an allocation in a stream that another thread wants to capture too, and takes everything back that came of it. */
static void *capture(void *number) {
    (void)number;
    for (int i = 0; i < 20000; i++) {
        CUdeviceptr memory;
        CUgraph graph = NULL;
        if (i % 100 == 0) pthread_barrier_wait(&both);
        if (cuStreamBeginCapture(contested, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) continue;
        cuMemAllocAsync(&memory, 100, contested);
        if (cuStreamEndCapture(contested, &graph) == CUDA_SUCCESS) OK(cuGraphDestroy(graph));
    }
    return NULL;
}

static void streams(void) {
    const size_t before = free_memory();
    pthread_t threads[2];
    HOLDS(pthread_barrier_init(&both, NULL, 2) == 0);
    OK(cuStreamCreate(&contested, CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < 2; k++) HOLDS(pthread_create(&threads[k], NULL, capture, NULL) == 0);
    for (int k = 0; k < 2; k++) HOLDS(pthread_join(threads[k], NULL) == 0);
    OK(cuStreamDestroy(contested));
    HOLDS(free_memory() == before);
}

static CUcontext shared;

/* Begins a capture in the thread's own stream, allocates there, and leaves the capture behind. */
static void *leave_capture(void *unused) {
    CUdeviceptr memory;
    (void)unused;
    OK(cuCtxSetCurrent(shared));
    OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAllocAsync(&memory, 4096, CU_STREAM_PER_THREAD));
    return NULL;
}

static void *use_own_stream(void *unused) {
    (void)unused;
    OK(cuCtxSetCurrent(shared));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void run(void *(*body)(void *)) {
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, body, NULL) == 0);
    HOLDS(pthread_join(thread, NULL) == 0);
}

static void ended_threads(void) {
    const size_t before = free_memory();
    CUcontext popped;
    OK(cuCtxCreate(&shared, NULL, 0, 0));
    OK(cuCtxPopCurrent(&popped));
    for (int k = 0; k < 10; k++) run(leave_capture);
    run(use_own_stream);
    OK(cuCtxDestroy(shared));
    HOLDS(free_memory() == before);
}

int main(void) {
    size_t before;
    start();
    streams();
    ended_threads();
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
