/* Ways for a process to end while the driver is busy: endings MODE. */
#include "behaviour/expect.h"

#include <pthread.h>
#include <unistd.h>

static void CUDA_CB leave(void *unused) {
    (void)unused;
    exit(0);
}

static void *launch_for_ever(void *unused) {
    (void)unused;
    OK(cuCtxSetCurrent(context));
    *flag = 1;
    for (;;) {
        CUdeviceptr address = (CUdeviceptr)flag;
        void *parameters[] = {&address};
        CUresult result = cuLaunchKernel(waits, 4, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL);
        /* What comes after the exit handlers have begun is refused. */
        if (result == CUDA_ERROR_DEINITIALIZED) return NULL;
        OK(result);
    }
}

static void *leave_from_here(void *unused) {
    (void)unused;
    usleep(50000);
    exit(0);
}

/* Runs after the driver's own handler, as it was registered earlier. */
static void call_late(void) {
    CUdeviceptr address;
    IS(DEINITIALIZED, cuMemAlloc(&address, 4));
    IS(DEINITIALIZED, cuCtxSynchronize());
    IS(DEINITIALIZED, cuCtxDestroy(context));
    puts("late");
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    CUstream stream;
    CUdeviceptr memory;
    pthread_t threads[4];
#define MODE(name) (strcmp(mode, name) == 0)
    if (MODE("late")) atexit(call_late);
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&memory, 1 << 20));
    if (MODE("threads") || MODE("thread")) {
        for (int i = 0; i < 4; i++) HOLDS(pthread_create(&threads[i], NULL, launch_for_ever, NULL) == 0);
        usleep(50000);
        if (MODE("threads")) return 0;
        HOLDS(pthread_create(&threads[0], NULL, leave_from_here, NULL) == 0);
        OK(cuCtxSynchronize());
        for (;;) pause();
    }
    hold(stream);
    if (MODE("return") || MODE("late")) return 0;
    if (MODE("exit")) exit(0);
    if (MODE("quick")) quick_exit(0);
    if (MODE("at_once")) _exit(0);
    if (MODE("callback")) {
        release();
        OK(cuLaunchHostFunc(stream, leave, NULL));
        for (;;) pause();
    }
    if (MODE("main_thread")) {
        /* The process ends with its last thread. */
        HOLDS(pthread_create(&threads[0], NULL, leave_from_here, NULL) == 0);
        pthread_exit(NULL);
    }
    if (MODE("destroyed")) {
        release();
        OK(cuCtxSynchronize());
        OK(cuDevicePrimaryCtxRelease(0));
        return 0;
    }
    fprintf(stderr, "no such mode: %s\n", mode);
    return 2;
}
