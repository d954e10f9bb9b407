/* Children forked while streams are busy: they are told, and the parent goes on. */
#include "behaviour/expect.h"

#include <sys/wait.h>
#include <unistd.h>

static void child_is_told(int by_exit) {
    int status;
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        CUcontext created;
        CUdeviceptr memory;
        IS(NOT_INITIALIZED, cuInit(0));
        IS(NOT_INITIALIZED, cuCtxCreate(&created, NULL, 0, 0));
        IS(NOT_INITIALIZED, cuMemAlloc(&memory, 4));
        IS(NOT_INITIALIZED, cuCtxSynchronize());
        IS(NOT_INITIALIZED, cuDevicePrimaryCtxRelease(0));
        if (by_exit) exit(0);
        _exit(0);
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    CUstream stream;
    int status;
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        /* A child from before cuInit is a process like any other. */
        start();
        hold(NULL);
        release();
        OK(cuCtxSynchronize());
        exit(0);
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 10; i++) {
        hold(stream);
        child_is_told(i % 2);
        IS(NOT_READY, cuStreamQuery(stream));
        release();
        OK(cuStreamSynchronize(stream));
    }
    puts("done");
    return 0;
}
