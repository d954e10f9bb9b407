/* Sixteen threads allocate, use and free stream-ordered memory of one pool, each in its own stream, in all sizes. */
#include "expect.h"

#include <pthread.h>

enum { THREADS = 16, ROUNDS = 300, LIVE = 8 };

static CUmemoryPool pool;

static void *work(void *number) {
    unsigned seed = (unsigned)(size_t)number * 2654435761u + 1;
    CUdeviceptr live[LIVE] = {0};
    size_t sizes[LIVE] = {0};
    unsigned marks[LIVE] = {0};
    CUstream stream;
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned at = seed >> 29;
        if (live[at] != 0) {
            /* Nobody else has written here, at the start or the end. */
            unsigned first = 0, last = 0;
            OK(cuMemcpyDtoHAsync(&first, live[at], 4, stream));
            OK(cuMemcpyDtoHAsync(&last, live[at] + sizes[at] - 4, 4, stream));
            OK(cuStreamSynchronize(stream));
            HOLDS(first == marks[at] && last == marks[at]);
            OK(cuMemFreeAsync(live[at], stream));
        }
        sizes[at] = 4u << (seed >> 8) % 20;
        marks[at] = seed;
        OK(cuMemAllocFromPoolAsync(&live[at], sizes[at], pool, stream));
        OK(cuMemsetD32Async(live[at], seed, sizes[at] / 4, stream));
    }
    for (unsigned at = 0; at < LIVE; at++) OK(cuMemFreeAsync(live[at], stream));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy(stream));
    return NULL;
}

int main(void) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    pthread_t threads[THREADS];
    cuuint64_t threshold = 64 << 20, used = 1, reserved = 1;
    size_t before, after, all;
    start();
    OK(cuMemGetInfo(&before, &all));
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    for (size_t number = 0; number < THREADS; number++)
        HOLDS(pthread_create(&threads[number], NULL, work, (void *)number) == 0);
    for (int number = 0; number < THREADS; number++) HOLDS(pthread_join(threads[number], NULL) == 0);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    HOLDS(used == 0);
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    HOLDS(reserved == 0);
    OK(cuMemPoolDestroy(pool));
    OK(cuMemGetInfo(&after, &all));
    HOLDS(before == after);
    puts("done");
    return 0;
}
