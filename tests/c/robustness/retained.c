/* Threads that retain and release the primary context at once: whoever has retained it has a living one until its release, though the last release of others
   ends it again and again. */
#include "behaviour/expect.h"

#include <pthread.h>

static void *use(void *unused) {
    (void)unused;
    for (int i = 0; i < 100000; i++) {
        CUcontext context;
        CUdeviceptr memory;
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        OK(cuMemAlloc(&memory, 300));
        OK(cuMemFree(memory));
        OK(cuDevicePrimaryCtxRelease(0));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    unsigned flags;
    int active;
    OK(cuInit(0));
    for (int k = 0; k < 2; k++) HOLDS(pthread_create(&threads[k], NULL, use, NULL) == 0);
    for (int k = 0; k < 2; k++) HOLDS(pthread_join(threads[k], NULL) == 0);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    HOLDS(!active);
    puts("done");
}
